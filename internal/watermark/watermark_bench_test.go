package watermark

import "testing"

func BenchmarkBoundedObserve(b *testing.B) {
	b.ReportAllocs()
	times := make([]int64, 512)
	for i := range times {
		times[i] = int64(i * 37 % 512)
	}
	g := &Bounded{Bound: 5}
	for i := 0; i < b.N; i++ {
		g.Observe(times)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/512, "ns/row")
}

// Every input in turn raises its watermark: the step in which the lowest one moves is the dear one.
func BenchmarkMerger64(b *testing.B) {
	b.ReportAllocs()
	m := NewMerger(64, None)
	for i := 0; i < b.N; i++ {
		m.Watermark(i%64, int64(i))
	}
}
