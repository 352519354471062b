package exchange_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
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
		if err := emitWide(out, pools[0], b.N); err != nil {
			b.Error(err)
		}
	}()
	consume(b, in, 1)
	b.StopTimer()
	go producer.Close()
	if err := consumer.Close(); err != nil {
		b.Error(err)
	}
}

// emitWide emits at least n rows and the end.
func emitWide(out *exchange.Output, pool *event.Pool[wide], n int) error {
	for i := 0; i < n; i += pool.Cap() {
		batch := pool.Get()
		fill(batch, int64(i))
		if err := out.Emit(batch); err != nil {
			return err
		}
	}
	return out.Event(event.End())
}

// producerEnv tells a child process of BenchmarkTCPTwoProcesses where to send how many rows.
const producerEnv = "WEIR_BENCH_PRODUCER"

// TestProducerProcess is the child process of BenchmarkTCPTwoProcesses, and no test otherwise.
func TestProducerProcess(t *testing.T) {
	addr, rows, ok := strings.Cut(os.Getenv(producerEnv), " ")
	if !ok {
		t.Skip("runs as the child of a benchmark only")
	}
	n, err := strconv.Atoi(rows)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := netx.Real{}.Dial(context.Background(), addr)
	if err != nil {
		t.Fatal(err)
	}
	link, err := exchange.NewLink(conn, linkConfig("upstairs", true))
	if err != nil {
		t.Fatal(err)
	}
	pool := event.NewPool[wide](0)
	out := exchange.NewOutput("bench", exchange.Forward(), []exchange.Sender{link.Sender(1, wideCodec{pool}, newInbox("producer", 0))})
	if err := emitWide(out, pool, n); err != nil {
		t.Error(err)
	}
	if err := link.Close(); err != nil {
		t.Error(err)
	}
}

// BenchmarkTCPTwoProcesses is BenchmarkTCP with the producer in a process of its own. The start of that process is not
// timed.
func BenchmarkTCPTwoProcesses(b *testing.B) {
	listener, err := netx.Real{}.Listen(context.Background(), ":0")
	if err != nil {
		b.Fatal(err)
	}
	defer listener.Close()
	child := exec.Command(os.Args[0], "-test.run=^TestProducerProcess$")
	child.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", producerEnv, listener.Addr(), b.N))
	if err := child.Start(); err != nil {
		b.Fatal(err)
	}
	conn, err := listener.Accept()
	if err != nil {
		b.Fatal(err)
	}
	link, err := exchange.NewLink(conn, linkConfig("downstairs", false))
	if err != nil {
		b.Fatal(err)
	}
	in := exchange.NewInbox(exchange.Config{Name: "consumer", Channels: 1, Now: now, AfterFunc: afterFunc})
	pool := event.NewPool[wide](0)
	b.ReportAllocs()
	b.ResetTimer()
	if err := link.Receive(1, in, 0, wideCodec{pool}); err != nil {
		b.Fatal(err)
	}
	if rows, _ := consume(b, in, 1); rows < int64(b.N) {
		b.Errorf("%d rows of %d", rows, b.N)
	}
	b.StopTimer()
	if err := link.Close(); err != nil {
		b.Error(err)
	}
	if err := child.Wait(); err != nil {
		b.Error(err)
	}
}
