package exchange_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/exchange"
)

// wide is an 80-byte row.
type wide struct {
	Key int64
	F   [9]int64
}

// mix is a cheap hash, so that the benchmark shows the exchange and not the hash.
func mix(x uint64) uint64 {
	x *= 0x9E3779B97F4A7C15
	x ^= x >> 32
	x *= 0xD6E8FEB86659FD93
	return x ^ x>>32
}

// fill makes a full batch of hashed rows.
func fill(b *event.Records[wide], seed int64) {
	n := cap(b.Rows)
	b.Rows, b.Times, b.Hash = b.Rows[:n], b.Times[:n], b.Hash[:n]
	for i := range b.Rows {
		r := &b.Rows[i]
		r.Key = seed + int64(i)
		r.F[0] = int64(i)
		b.Times[i] = r.Key
		b.Hash[i] = mix(uint64(r.Key))
	}
}

// BenchmarkKeyedShuffle moves 80-byte rows from two producing to two consuming tasks. One op is one row.
func BenchmarkKeyedShuffle(b *testing.B) {
	for _, depth := range []int{2, 3, 4, 8} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) { keyedShuffle(b, 2, depth) })
	}
}

func keyedShuffle(b *testing.B, p, depth int) {
	b.ReportAllocs()
	pool := event.NewPool[wide](0)
	var ins []*exchange.Inbox
	for range p {
		ins = append(ins, exchange.NewInbox(exchange.Config{Channels: p, Depth: depth, Now: now, AfterFunc: afterFunc}))
	}
	var wg sync.WaitGroup
	for i := range p {
		from := newInbox("producer", 0)
		var to []exchange.Sender
		for _, in := range ins {
			to = append(to, in.Sender(i, from))
		}
		out := exchange.NewOutput("bench", exchange.Keyed(), to)
		wg.Go(func() {
			for n := 0; n < b.N/p; n += pool.Cap() {
				batch := pool.Get()
				fill(batch, int64(n))
				if err := out.Emit(batch); err != nil {
					b.Error(err)
				}
			}
			out.Event(event.End())
		})
	}
	for _, in := range ins {
		wg.Go(func() { consume(b, in, p) })
	}
	wg.Wait()
}

// consume reads one field of each row until every channel has ended.
func consume(b *testing.B, in *exchange.Inbox, channels int) (rows, sum int64) {
	for channels > 0 {
		it, ok, err := in.Poll()
		if err != nil {
			b.Error(err)
			return
		}
		if !ok {
			if err := in.Wait(exchange.Never); err != nil {
				b.Error(err)
				return
			}
			continue
		}
		switch it.Event.Kind {
		case event.KindBatch:
			batch := it.Event.Batch.(*event.Records[wide])
			for i := range batch.Rows {
				sum += batch.Rows[i].F[0]
			}
			rows += int64(len(batch.Rows))
			batch.Release()
		case event.KindEnd:
			channels--
		}
	}
	return rows, sum
}

// BenchmarkBareLoop does the work of the shuffle without an engine, on one core: it fills rows, hashes them, copies each
// into the batch of its target and reads a field there.
func BenchmarkBareLoop(b *testing.B) {
	b.ReportAllocs()
	pool := event.NewPool[wide](0)
	src := pool.Get()
	var dst [2]*event.Records[wide]
	dst[0], dst[1] = pool.Get(), pool.Get()
	var sum int64
	for n := 0; n < b.N; n += pool.Cap() {
		src.Rows, src.Times, src.Hash = src.Rows[:0], src.Times[:0], src.Hash[:0]
		fill(src, int64(n))
		for i, h := range src.Hash {
			d := dst[h>>63]
			d.Rows = append(d.Rows, src.Rows[i])
			d.Times = append(d.Times, src.Times[i])
			d.Hash = append(d.Hash, h)
			if len(d.Rows) == cap(d.Rows) {
				for j := range d.Rows {
					sum += d.Rows[j].F[0]
				}
				d.Rows, d.Times, d.Hash = d.Rows[:0], d.Times[:0], d.Hash[:0]
			}
		}
	}
	if sum == 1 {
		b.Log(sum)
	}
}
