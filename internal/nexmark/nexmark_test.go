package nexmark_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"testing"
	"time"

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

// The first events are those that the specification shows.
func TestFirstEvents(t *testing.T) {
	f, err := os.Open("../../bench/nexmark/first200.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g, b := nexmark.New(nexmark.Defaults), column.New(nexmark.Schema(), 0)
	g.Fill(b, 0, 1, 200)
	k := 0
	for lines := bufio.NewScanner(f); lines.Scan(); k++ {
		var want map[string]any
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		kind := int(column.Values[int32](b.Vector(0))[k])
		if kind != int(want["event_type"].(float64)) {
			t.Fatalf("event %d is of kind %d", k, kind)
		}
		fields := want[[]string{"person", "auction", "bid"}[kind]].(map[string]any)
		v := b.Vector(1 + kind)
		for c, f := range nexmark.Schema().Fields[1+kind].Children {
			got := ""
			switch child := v.Child(c); {
			case f.Kind == column.String:
				got = string(child.Text(k))
			case f.Name == "dateTime" || f.Name == "expires":
				got = time.UnixMilli(column.Values[int64](child)[k]).UTC().Format("2006-01-02 15:04:05.000")
			default:
				got = fmt.Sprint(column.Values[int64](child)[k])
			}
			text, ok := fields[f.Name].(string)
			if !ok {
				text = fmt.Sprintf("%.0f", fields[f.Name])
			}
			if got != text {
				t.Errorf("event %d: %s is %q, want %q", k, f.Name, got, text)
			}
		}
	}
	if k != 200 {
		t.Errorf("%d events", k)
	}
}
