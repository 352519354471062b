package transfer_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/paged"
	"github.com/weir-stream/weir/internal/statebackend/transfer"
)

// One key or entry in a hundred changes, at random: the delta must not be above a twentieth of the whole.
func TestDeltaIsSmall(t *testing.T) {
	const keys, entries = 60_000, 30
	r := rand.New(rand.NewPCG(1, 2))
	b := paged.NewBackend(statebackend.Config{KeyWidth: 8}, nil)
	defer b.Close()
	v, err := b.Value(statebackend.Descriptor{Name: "v", Width: 16})
	must(t, err)
	m, err := b.Map(statebackend.Descriptor{Name: "m", Width: 8})
	must(t, err)
	key := func(i int) statebackend.Key {
		k := binary.BigEndian.AppendUint64(nil, uint64(i))
		return statebackend.Key{Hash: xxh3.Hash(k), Bytes: k}
	}
	put := func(i int) {
		v.Put(key(i), nil, binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, r.Uint64()), 1))
	}
	putEntry := func(i int) {
		m.Put(key(i/entries), nil, binary.BigEndian.AppendUint32(nil, uint32(i%entries)), binary.LittleEndian.AppendUint64(nil, r.Uint64()))
	}
	for i := range keys {
		put(i)
		putEntry(i)
	}
	full, err := b.Cut()
	must(t, err)
	since := map[string]uint64{}
	for i := range full {
		full[i].State.ID = uint32(i + 1)
		since[full[i].State.Name] = full[i].Data.(statebackend.Changing).Mark()
	}
	whole, err := transfer.SaveParts(io.Discard, full, keygroup.All(), transfer.Options{})
	must(t, err)
	for range keys / 100 {
		put(r.IntN(keys))
		putEntry(r.IntN(keys))
	}
	v.Clear(key(7), nil)
	m.Remove(key(3), nil, binary.BigEndian.AppendUint32(nil, 5))
	parts, err := b.Cut()
	must(t, err)
	var out bytes.Buffer
	for i := range parts {
		parts[i].State.ID = uint32(i + 1)
	}
	delta, err := transfer.SaveChanges(&out, parts, since, keygroup.All(), transfer.Options{})
	must(t, err)
	t.Logf("whole: %d entries, %d bytes; delta: %d entries, %d bytes (%.1f %%)", whole.Entries, whole.Size, delta.Entries, delta.Size,
		100*float64(delta.Size)/float64(whole.Size))
	if whole.Entries != 2*keys || delta.Size*20 > whole.Size {
		t.Fatalf("whole has %d entries, delta %d of %d bytes", whole.Entries, delta.Size, whole.Size)
	}
	removed := 0
	from, err := snapshot.NewReader(bytes.NewReader(out.Bytes()), delta.Size)
	must(t, err)
	must(t, from.Each(keygroup.All(), func(e *snapshot.Entry) error {
		if e.Removed {
			removed++
		}
		return nil
	}))
	if removed != 2 {
		t.Fatalf("%d removals in the delta, want 2", removed)
	}
	for _, p := range append(full, parts...) {
		p.Data.Release()
	}
}
