package nexmark_test

import (
	"hash/fnv"
	"testing"

	"github.com/weir-stream/weir/column"
	"github.com/weir-stream/weir/internal/nexmark"
)

// The digests are those of the specification (bench/nexmark/SPEC.md, section 10): chain over all bytes, and the sum over the events.
func TestDigests(t *testing.T) {
	for _, c := range []struct {
		seed, perSecond uint64
		jitter          int64
		events          int
		bytes           int
		chain, sum      uint64
	}{
		{1, 10000, 0, 1, 235, 0x32f02c3c102914c4, 0x32f02c3c102914c4},
		{1, 10000, 0, 10, 3073, 0x64016b997f7bc65f, 0x0663b5cc0f2c915a},
		{1, 10000, 0, 1000, 205476, 0xa84102a486b8e955, 0x04a7c24c56829794},
		{1, 10000, 0, 100000, 20566141, 0xafdd95592eeae19a, 0x6794fd6ac4f5bc65},
		{2, 10000, 0, 1000, 206017, 0x44d87501231b9d62, 0xb5cc6162522fd3b7},
		{1, 100, 3000, 1000, 205476, 0x42c107bf2ccd6424, 0xb4594ec5b3572c39},
	} {
		p := nexmark.Defaults
		p.Seed, p.PerSecond, p.Jitter = c.seed, c.perSecond, c.jitter
		g := nexmark.New(p)
		b := column.New(nexmark.Schema(), 0)
		chain, sum, size := fnv.New64a(), uint64(0), 0
		var buf []byte
		for at := 0; at < c.events; {
			n := min(b.Cap(), c.events-at)
			g.Fill(b, uint64(at), 1, n)
			for k := range n {
				buf = nexmark.AppendEncoded(buf[:0], b, k)
				chain.Write(buf)
				one := fnv.New64a()
				one.Write(buf)
				sum += one.Sum64()
				size += len(buf)
			}
			at += n
		}
		if size != c.bytes || chain.Sum64() != c.chain || sum != c.sum {
			t.Errorf("seed %d, %d events: %d bytes, chain %016x, sum %016x; want %d, %016x, %016x", c.seed, c.events, size, chain.Sum64(), sum, c.bytes, c.chain, c.sum)
		}
	}
}

// Several readers make the same events as one.
func TestSteps(t *testing.T) {
	g := nexmark.New(nexmark.Defaults)
	all, part := column.New(nexmark.Schema(), 0), column.New(nexmark.Schema(), 0)
	g.Fill(all, 0, 1, 900)
	for s := range 3 {
		g.Fill(part, uint64(s), 3, 300)
		for k := range 300 {
			if a, b := nexmark.AppendEncoded(nil, all, 3*k+s), nexmark.AppendEncoded(nil, part, k); string(a) != string(b) {
				t.Fatalf("event %d of reader %d differs", k, s)
			}
		}
	}
}

func BenchmarkFill(b *testing.B) {
	g := nexmark.New(nexmark.Defaults)
	batch := column.New(nexmark.Schema(), 0)
	b.ReportAllocs()
	for i := 0; i < b.N; i += batch.Cap() {
		g.Fill(batch, uint64(i), 1, batch.Cap())
	}
}
