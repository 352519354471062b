package metric_test

import (
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir/metric"
)

func TestCounterAndLocal(t *testing.T) {
	var c metric.Counter
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			l := c.Local()
			for range 1000 {
				l.Inc()
				l.Add(2)
			}
			l.Publish()
			l.Publish() // nothing is counted twice
		})
	}
	wg.Wait()
	c.Inc()
	if got := c.Count(); got != 12001 {
		t.Errorf("count %d, want 12001", got)
	}
}

func TestGauge(t *testing.T) {
	var g metric.Gauge
	if g.Value() != 0 {
		t.Error("the zero gauge is not 0")
	}
	g.Set(math.MinInt64) // the watermark before the first one
	if int64(g.Value()) != math.MinInt64 {
		t.Errorf("%v", g.Value())
	}
}

func TestMeter(t *testing.T) {
	var m metric.Meter
	start := time.Unix(1000, 0)
	m.Tick(start)
	if m.PerSecond() != 0 {
		t.Error("a rate out of one sample")
	}
	m.Mark(50)
	m.Tick(start.Add(100 * time.Millisecond)) // too near to the last one
	m.Tick(start.Add(5 * time.Second))
	if got := m.PerSecond(); got != 10 {
		t.Errorf("50 in 5 s: %v", got)
	}
	// 20 a second from now on: after a minute of it nothing of the old rate is left.
	for i := 2; i <= 14; i++ {
		m.Mark(100)
		m.Tick(start.Add(time.Duration(i) * 5 * time.Second))
	}
	if got := m.PerSecond(); got != 20 || m.Count() != 1350 {
		t.Errorf("rate %v, count %d", got, m.Count())
	}
}

// Law: a quantile is within one part in 32 of the value that stands at that rank of the sorted updates; count, sum, minimum
// and maximum are exact.
func TestHistogramAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, 40), rapid.Int64Range(0, 1_000_000), rapid.Int64Range(0, 1<<61)), 1, 200).Draw(t, "values")
		var h metric.Histogram
		sum := int64(0)
		for _, v := range values {
			h.Update(v)
			sum += v
		}
		slices.Sort(values)
		s := h.Statistics()
		if s.Count != int64(len(values)) || s.Sum != sum || s.Recent != s.Count || s.Min != values[0] || s.Max != values[len(values)-1] {
			t.Fatalf("count %d sum %d recent %d min %d max %d of %v", s.Count, s.Sum, s.Recent, s.Min, s.Max, values)
		}
		for _, q := range []float64{0, 0.25, 0.5, 0.95, 0.999, 1} {
			want := values[min(int(q*float64(len(values))), len(values)-1)]
			if got := s.Quantile(q); math.Abs(float64(got-want)) > float64(want)/32+0.5 {
				t.Fatalf("quantile %v is %d, want about %d", q, got, want)
			}
		}
	})
}

func TestHistogramForgets(t *testing.T) {
	var h metric.Histogram
	start := time.Unix(1000, 0)
	h.Tick(start)
	h.Update(-5) // counts as 0
	h.Update(7)
	h.Tick(start.Add(time.Minute))
	h.Update(9)
	if s := h.Statistics(); s.Recent != 3 || s.Min != 0 || s.Max != 9 || s.Mean != 16.0/3 {
		t.Errorf("within the window: %+v", []any{s.Recent, s.Min, s.Max, s.Mean})
	}
	h.Tick(start.Add(2 * time.Minute))
	if s := h.Statistics(); s.Recent != 1 || s.Min != 9 || s.Max != 9 || s.Count != 3 || s.Sum != 16 {
		t.Errorf("a minute later: %+v", []any{s.Recent, s.Min, s.Max, s.Count, s.Sum})
	}
	h.Tick(start.Add(3 * time.Minute))
	if s := h.Statistics(); s.Recent != 0 || s.Quantile(0.5) != 0 || s.Count != 3 {
		t.Errorf("two minutes later: %+v", []any{s.Recent, s.Quantile(0.5), s.Count})
	}
}

func TestDiscard(t *testing.T) {
	g := metric.Discard().Group("a").Label("k", "v")
	g.GaugeFunc("f", func() float64 { panic("called") })
	g.Counter("c").Inc()
	g.Gauge("g").Set(1)
	g.Meter("m").Mark(1)
	g.Histogram("h").Update(1)
}
