package snapshot_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/snapshot"
)

// BenchmarkCompression writes and reads entries of several kinds of state in each form. MB/s are of records; ratio is how often
// the object fits into them.
func BenchmarkCompression(b *testing.B) {
	for _, kind := range []string{"counters", "half noise", "noise", "text"} {
		entries := stateOf(kind)
		for _, f := range forms {
			name := fmt.Sprint(kind, "/", []string{"none", "s2", "zstd"}[f.Compression])
			data, sum := object(b, entries, f)
			b.Run(name+"/write", func(b *testing.B) {
				b.SetBytes(sum.RawBytes)
				b.ReportAllocs()
				w := snapshot.NewWriter(&discard{}, f)
				for b.Loop() {
					w.Reset(&discard{})
					for i := range entries {
						if err := w.Add(&entries[i]); err != nil {
							b.Fatal(err)
						}
					}
					if _, err := w.Close(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(sum.RawBytes)/float64(sum.Size), "ratio")
			})
			b.Run(name+"/read", func(b *testing.B) {
				b.SetBytes(sum.RawBytes)
				b.ReportAllocs()
				for b.Loop() {
					r, err := snapshot.NewReader(bytes.NewReader(data), int64(len(data)))
					if err == nil {
						err = r.Each(keygroup.All(), func(*snapshot.Entry) error { return nil })
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

type discard struct{}

func (*discard) Write(p []byte) (int, error) { return len(p), nil }

// stateOf returns about 16 MB of entries.
func stateOf(kind string) []snapshot.Entry {
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"search", "checkout", "product", "home", "basket", "login", "help", "account", "orders", "return"}
	var out []snapshot.Entry
	le := binary.LittleEndian
	for size := 0; size < 16<<20; {
		var v []byte
		switch kind {
		case "counters":
			v = le.AppendUint64(le.AppendUint64(nil, r.Uint64N(1000)), r.Uint64N(100_000))
		case "half noise", "noise":
			for i := range uint64(15) {
				if kind == "noise" || i%2 == 0 {
					i = r.Uint64()
				}
				v = le.AppendUint64(v, i)
			}
		case "text":
			v = fmt.Appendf(le.AppendUint64(nil, r.Uint64N(1e9)), `https://shop.example/%s/%s?item=%d&session=%08x{"user":"user-%d","last":%d}`,
				words[r.IntN(10)], words[r.IntN(10)], r.IntN(100_000), r.Uint32(), r.IntN(1e7), 1_700_000_000_000+r.Int64N(1e9))
		}
		key := le.AppendUint64(nil, r.Uint64N(10_000_000))
		out = append(out, snapshot.Entry{State: 1, Hash: xxh3.Hash(key), Key: key, Value: v})
		size += 16 + len(v)
	}
	slices.SortFunc(out, func(a, b snapshot.Entry) int { return int(a.Group()) - int(b.Group()) })
	for i := range out { // one behind the other in memory too
		out[i].Key, out[i].Value = bytes.Clone(out[i].Key), bytes.Clone(out[i].Value)
	}
	return out
}
