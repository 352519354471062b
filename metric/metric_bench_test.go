package metric_test

import (
	"testing"

	"github.com/weir-stream/weir/metric"
)

func BenchmarkCounterInc(b *testing.B) {
	var c metric.Counter
	b.ReportAllocs()
	for b.Loop() {
		c.Inc()
	}
}

// BenchmarkLocalInc is a row's share: 512 additions and one publication a batch.
func BenchmarkLocalInc(b *testing.B) {
	var c metric.Counter
	l := c.Local()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		l.Inc()
		if i&511 == 511 {
			l.Publish()
		}
	}
}

func BenchmarkHistogramUpdate(b *testing.B) {
	var h metric.Histogram
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		h.Update(i & 0xffff)
	}
}
