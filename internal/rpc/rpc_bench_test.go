package rpc_test

import (
	"testing"

	"github.com/weir-stream/weir/internal/netx"
	"github.com/weir-stream/weir/internal/rpc"
	"github.com/weir-stream/weir/internal/rpc/rpctest"
)

// BenchmarkMetrics codes the figures of 100 operators: what a busy worker sends every second.
func BenchmarkMetrics(b *testing.B) {
	m := &rpc.Metrics{}
	for _, s := range rpctest.Samples() {
		if x, ok := s.Body.(*rpc.Metrics); ok {
			for range 100 {
				m.Operators = append(m.Operators, x.Operators...)
			}
		}
	}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = rpc.AppendMessage(buf[:0], rpc.Message{Body: m})
		if _, err := rpc.ParseMessage(buf); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(buf)), "bytes")
}

// BenchmarkRoundTrip sends a small message there and back.
func BenchmarkRoundTrip(b *testing.B) {
	run := func(b *testing.B, master, worker rpc.Conn) {
		defer master.Close()
		defer worker.Close()
		go func() {
			for {
				m, err := worker.Recv()
				if err != nil || worker.Send(m) != nil {
					return
				}
			}
		}()
		b.ReportAllocs()
		for b.Loop() {
			if err := master.Send(rpc.Message{Body: &rpc.AlignTo{Max: 1}}); err != nil {
				b.Fatal(err)
			}
			if _, err := master.Recv(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("memory", func(b *testing.B) {
		m, w := rpc.Pair()
		run(b, m, w)
	})
	b.Run("grpc", func(b *testing.B) {
		c := newCluster(b, netx.Real{})
		defer c.listener.Close()
		m, w := c.pair(b)
		run(b, m, w)
	})
}
