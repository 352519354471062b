package metrics

import (
	"math"
	"runtime/metrics"
	"time"
)

// OperatorSource is where the figures of an operator are read. Functions may be called from any goroutine; nil ones are
// left out.
type OperatorSource struct {
	RowsIn, RowsOut           func() int64
	Late, Bad, NoTime, Unread func() int64
	WatermarkIn, WatermarkOut func() int64 // ms; the least integer = none yet
}

// ReportOperator reports an operator's figures under their names.
func (g *Group) ReportOperator(s OperatorSource) {
	for _, c := range []struct {
		name  string
		count func() int64
		rated bool
	}{
		{NumRecordsIn, s.RowsIn, true}, {NumRecordsOut, s.RowsOut, true}, {NumLateRecordsDropped, s.Late, false},
		{NumBadRecords, s.Bad, false}, {NumRecordsNoTime, s.NoTime, false}, {NumRecordsUnreadSide, s.Unread, false},
	} {
		switch {
		case c.count == nil:
		case c.rated:
			g.Rated(c.name, c.count)
		default:
			g.CounterFunc(c.name, c.count)
		}
	}
	if f := s.WatermarkIn; f != nil {
		g.GaugeFunc(CurrentInputWatermark, func() float64 { return float64(f()) })
	}
	if f := s.WatermarkOut; f != nil {
		g.GaugeFunc(CurrentOutputWatermark, func() float64 { return float64(f()) })
	}
}

// TaskSource is where the figures of a task are read. Functions may be called from any goroutine; nil ones are left out.
type TaskSource struct {
	RowsIn, RowsOut                func() int64 // of the chain's head and of what leaves the chain
	Times                          func() (busy, idle, backPressured time.Duration)
	BytesInLocal, BytesInRemote    func() int64
	BytesOut, BuffersOut           func() int64
	InputQueue, OutputQueue, Mails func() int64 // present lengths
}

// ReportTask reports a task's figures under their names. The three times are milliseconds a second, over the last minute;
// together they make about 1000. Of a task that never ran they are 0.
func (g *Group) ReportTask(s TaskSource) {
	for _, c := range []struct {
		name  string
		count func() int64
	}{
		{NumRecordsIn, s.RowsIn}, {NumRecordsOut, s.RowsOut}, {NumBytesInLocal, s.BytesInLocal}, {NumBytesInRemote, s.BytesInRemote},
		{NumBytesOut, s.BytesOut}, {NumBuffersOut, s.BuffersOut},
	} {
		if c.count != nil {
			g.Rated(c.name, c.count)
		}
	}
	buffers := g.Group("buffers")
	gauge := func(at interface{ GaugeFunc(string, func() float64) }, name string, f func() int64) {
		if f != nil {
			at.GaugeFunc(name, func() float64 { return float64(f()) })
		}
	}
	gauge(buffers, InputQueueLength, s.InputQueue)
	gauge(buffers, OutputQueueLength, s.OutputQueue)
	gauge(g, MailboxQueueSize, s.Mails)
	if s.Times == nil {
		return
	}
	g.RateFunc(BusyTime, func() int64 { busy, _, _ := s.Times(); return busy.Milliseconds() })
	g.RateFunc(IdleTime, func() int64 { _, idle, _ := s.Times(); return idle.Milliseconds() })
	g.RateFunc(BackPressuredTime, func() int64 { _, _, back := s.Times(); return back.Milliseconds() })
}

// runtimeGauges are Flink's process metrics that mean something true of a Go process, with the runtime's name for them
// and the factor of the unit.
var runtimeGauges = []struct {
	group, name, source string
	factor              float64
}{
	{"Status.JVM.Memory.Heap", "Used", "/memory/classes/heap/objects:bytes", 1},
	{"Status.JVM.Memory.Heap", "Committed", "/memory/classes/total:bytes", 1},
	{"Status.JVM.Memory.Heap", "Max", "/gc/gomemlimit:bytes", 1},
	{"Status.JVM.Threads", "Count", "/sched/threads/total:threads", 1},
	{"Status.JVM.GarbageCollector.All", "Count", "/gc/cycles/total:gc-cycles", 1},
	{"Status.JVM.GarbageCollector.All", "Time", "/cpu/classes/gc/total:cpu-seconds", 1000},
	{"Status.Go", "Goroutines", "/sched/goroutines:goroutines", 1},
}

// ReportRuntime reports the Go runtime's memory, collector and threads in a group of a process. Names have JVM in them so
// that dashboards made for Flink show something. Garbage collection's Time is processor time in ms, not pauses, and a
// Heap.Max that is not set is the greatest integer.
func (g *Group) ReportRuntime() {
	for _, r := range runtimeGauges {
		g.Group(r.group).GaugeFunc(r.name, func() float64 { return readRuntime(r.source) * r.factor })
	}
}

// readRuntime reads one figure of the runtime; NaN if this version of Go does not have it.
func readRuntime(name string) float64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	switch v := sample[0].Value; v.Kind() {
	case metrics.KindUint64:
		return float64(v.Uint64())
	case metrics.KindFloat64:
		return v.Float64()
	}
	return math.NaN()
}
