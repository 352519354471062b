package window

import (
	"testing"
	"time"
)

// benchTimes are 512 times in slight disorder, one every 10 ms.
func benchTimes() []int64 {
	times := make([]int64, 512)
	for i := range times {
		times[i] = 1_383_458_400_000 + int64(i)*10 - int64(i%7)*3
	}
	return times
}

func BenchmarkPane(b *testing.B) {
	newYork := mustZone(b, "America/New_York")
	times := benchTimes()
	for _, c := range []struct {
		name string
		spec Spec
	}{
		{"hour", Tumbling(time.Hour)},
		{"sliding", Sliding(time.Hour, time.Minute)},
		{"day-in-zone", Days(1).In(newYork)},
		{"hour-in-zone", Tumbling(time.Hour).In(newYork)},
		{"month-in-zone", Months(1).In(newYork)},
	} {
		g := mustGrid(b, c.spec)
		b.Run(c.name+"/grid", func(b *testing.B) {
			b.ReportAllocs()
			sum := int64(0)
			for i := 0; i < b.N; i++ {
				sum += g.PaneOf(times[i%len(times)]).Start
			}
			_ = sum
		})
		b.Run(c.name+"/cursor", func(b *testing.B) {
			b.ReportAllocs()
			cursor := NewCursor(g)
			sum := int64(0)
			for i := 0; i < b.N; i++ {
				sum += cursor.Pane(times[i%len(times)]).Start
			}
			_ = sum
		})
	}
}

func BenchmarkSessionsAdd(b *testing.B) {
	b.ReportAllocs()
	var s Sessions
	var m Merge
	for i := 0; i < b.N; i++ {
		// Rows of 8 sessions by turns; after 1000 rows they are retired.
		at := int64(i%8)*1000 + int64(i/8%100)
		s.Add(Window{at, at + 30}, &m)
		if i%1000 == 999 {
			s.Live = s.Live[:0]
		}
	}
}

func BenchmarkWindowsOfRow(b *testing.B) {
	b.ReportAllocs()
	g := mustGrid(b, Sliding(time.Hour, time.Minute))
	times := benchTimes()
	var dst []Window
	for i := 0; i < b.N; i++ {
		dst = g.AppendWindows(dst[:0], times[i%len(times)])
	}
	b.ReportMetric(float64(len(dst)), "windows/row")
}
