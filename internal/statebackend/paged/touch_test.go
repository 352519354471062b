package paged

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/statebackend"
)

// Telling a map of keys changes nothing, whether they are there or not, and whatever their size or that of their maps is.
func TestTouchedMaps(t *testing.T) {
	for _, width := range []int{0, 8} {
		be := NewBackend(statebackend.Config{KeyWidth: width}, &Pool{})
		m, err := be.Map(statebackend.Descriptor{Name: "m"})
		if err != nil {
			t.Fatal(err)
		}
		var keys []statebackend.Key
		hashes := []uint64{0, 1, 1 << 63, ^uint64(0)}
		for i := range 200 {
			k := binary.BigEndian.AppendUint64(nil, uint64(i))
			if width == 0 && i%2 == 0 {
				k = k[:7:7]
				k[0] = byte(i)
			}
			keys = append(keys, statebackend.Key{Hash: xxh3.Hash(k), Bytes: k})
			hashes = append(hashes, keys[i].Hash)
		}
		touch := m.(statebackend.Toucher).Touch
		touch(nil)
		touch(hashes)
		for i, k := range keys {
			for e := range i { // 0 to 199 entries: no map, small ones, and ones of several nodes
				m.Put(k, nil, fmt.Appendf(nil, "e%03d", e), fmt.Append(nil, i*e))
			}
			touch(hashes)
		}
		for i, k := range keys {
			touch(hashes[i:])
			if n := m.Count(k, nil); n != i {
				t.Fatalf("map %d has %d entries", i, n)
			}
			for e := range i {
				if v, ok := m.Get(k, nil, fmt.Appendf(nil, "e%03d", e)); !ok || string(v) != fmt.Sprint(i*e) {
					t.Fatalf("map %d, entry %d: %q %v", i, e, v, ok)
				}
			}
			m.Clear(k, nil)
		}
		touch(hashes)
		_ = be.Close()
	}
}
