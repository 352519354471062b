package exchange_test

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/exchange"
	"github.com/weir-stream/weir/internal/netx"
)

// wideCodec writes the 80 bytes of a row and its time as they lie in memory.
type wideCodec struct{ pool *event.Pool[wide] }

func bytesOf[T any](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), uintptr(len(s))*unsafe.Sizeof(zero))
}

func (c wideCodec) Encode(dst []byte, b event.Batch) ([]byte, error) {
	r := b.(*event.Records[wide])
	r.Compact()
	dst = append(dst, bytesOf(r.Rows)...)
	return append(dst, bytesOf(r.Times)...), nil
}

func (c wideCodec) Decode(src []byte) (event.Batch, error) {
	if len(src)%88 != 0 || len(src)/88 > c.pool.Cap() {
		return nil, fmt.Errorf("%d bytes are no rows", len(src))
	}
	n := len(src) / 88
	r := c.pool.Get()
	r.Rows, r.Times = r.Rows[:n], r.Times[:n]
	copy(bytesOf(r.Rows), src)
	copy(bytesOf(r.Times), src[80*n:])
	return r, nil
}

// BenchmarkTCP moves 80-byte rows from one task to another over a link on loopback. One op is one row.
func BenchmarkTCP(b *testing.B) {
	for _, depth := range []int{4, 8, 16} {
		for mode, name := range []string{"", "plain", "s2"} {
			if mode == 0 || mode == int(exchange.CompressAlways) && depth != 8 {
				continue
			}
			b.Run(fmt.Sprintf("depth=%d/%s", depth, name), func(b *testing.B) { overTCP(b, depth, exchange.Compression(mode)) })
		}
	}
}

func overTCP(b *testing.B, depth int, mode exchange.Compression) {
	b.ReportAllocs()
	dialed, accepted := connect(b, netx.Real{})
	producer, consumer := newLinks(b, dialed, accepted, func(c *exchange.LinkConfig) { c.Compression = mode })
	in := exchange.NewInbox(exchange.Config{Name: "consumer", Channels: 1, RemoteDepth: depth, Now: now, AfterFunc: afterFunc})
	from := newInbox("producer", 0)
	pools := [2]*event.Pool[wide]{event.NewPool[wide](0), event.NewPool[wide](0)}
	if err := consumer.Receive(1, in, 0, wideCodec{pools[1]}); err != nil {
		b.Fatal(err)
	}
	out := exchange.NewOutput("bench", exchange.Forward(), []exchange.Sender{producer.Sender(1, wideCodec{pools[0]}, from)})
	b.ResetTimer()
	go func() {
		for n := 0; n < b.N; n += pools[0].Cap() {
			batch := pools[0].Get()
			fill(batch, int64(n))
			if err := out.Emit(batch); err != nil {
				b.Error(err)
			}
		}
		out.Event(event.End())
	}()
	consume(b, in, 1)
	b.StopTimer()
	go producer.Close()
	if err := consumer.Close(); err != nil {
		b.Error(err)
	}
}
