package transfer_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/paged"
	"github.com/weir-stream/weir/internal/statebackend/transfer"
)

const benchKeys = 2_000_000

func benchBackend(b *testing.B) statebackend.Keyed {
	k := paged.NewBackend(statebackend.Config{KeyWidth: 8}, nil)
	v, err := k.Value(statebackend.Descriptor{Name: "v", Width: 64})
	must(b, err)
	val := make([]byte, 64)
	for i := range uint64(benchKeys) {
		key := binary.BigEndian.AppendUint64(nil, i)
		binary.LittleEndian.PutUint64(val, i*2654435761)
		binary.LittleEndian.PutUint64(val[32:], i)
		v.Put(statebackend.Key{Hash: xxh3.Hash(key), Bytes: key}, nil, val)
	}
	return k
}

// BenchmarkSaveUnordered writes parts that have to be sorted.
func BenchmarkSaveUnordered(b *testing.B) {
	k := benchBackend(b)
	defer k.Close()
	parts := copied(b, k)
	b.ReportAllocs()
	b.SetBytes(benchKeys * (8 + 64))
	for b.Loop() {
		_, err := transfer.SaveParts(io.Discard, parts, keygroup.All(), transfer.Options{})
		must(b, err)
	}
}

func BenchmarkSaveParts(b *testing.B) {
	k := benchBackend(b)
	defer k.Close()
	b.ReportAllocs()
	b.SetBytes(benchKeys * (8 + 64))
	for b.Loop() {
		parts, err := statebackend.CutOf(k)
		must(b, err)
		parts[0].State.ID = 1
		_, err = transfer.SaveParts(io.Discard, parts, keygroup.All(), transfer.Options{Drain: true})
		must(b, err)
		parts[0].Data.Release()
	}
}

func BenchmarkLoad(b *testing.B) {
	k := benchBackend(b)
	var buf bytes.Buffer
	parts := copied(b, k)
	sum, err := transfer.SaveParts(&buf, parts, keygroup.All(), transfer.Options{})
	must(b, err)
	k.Close()
	b.ReportAllocs()
	b.SetBytes(benchKeys * (8 + 64))
	b.ReportMetric(float64(sum.RawBytes)/float64(sum.Size), "ratio")
	for b.Loop() {
		into := paged.NewBackend(statebackend.Config{KeyWidth: 8}, nil)
		states := make([]snapshot.State, len(parts))
		for i := range parts {
			states[i] = parts[i].State
		}
		sinks, err := transfer.Sinks(into, states)
		must(b, err)
		r, err := snapshot.NewReader(bytes.NewReader(buf.Bytes()), sum.Size)
		must(b, err)
		must(b, transfer.Load(r, keygroup.All(), 8, sinks))
		into.Close()
	}
}
