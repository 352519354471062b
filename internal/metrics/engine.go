package metrics

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// OperatorSource is where the figures of an operator are read. Functions may be called from any goroutine; nil ones are
// left out.
type OperatorSource struct {
	RowsIn, RowsOut           func() int64
	Late, Bad, NoTime, Unread func() int64
	// WatermarkIn and WatermarkOut are in ms; the least integer is none yet, the greatest one the end.
	WatermarkIn, WatermarkOut func() int64
	// Low is the lowest watermark of an operator's subtasks.
	Low func() int64
}

// ReportOperator reports an operator's figures under their names.
func (g *Group) ReportOperator(s OperatorSource) {
	g.rated(NumRecordsIn, s.RowsIn)
	g.rated(NumRecordsOut, s.RowsOut)
	g.counter(NumLateRecordsDropped, s.Late)
	g.counter(NumRecordsInErrors, s.Bad)
	g.counter(NumRecordsNoTime, s.NoTime)
	g.counter(NumRecordsUnreadSide, s.Unread)
	g.gauge(CurrentInputWatermark, s.WatermarkIn)
	g.gauge(CurrentOutputWatermark, s.WatermarkOut)
	g.gauge(LowWatermark, s.Low)
}

// TaskSource is where the figures of a task are read. Functions may be called from any goroutine; nil ones are left out.
type TaskSource struct {
	RowsIn, RowsOut                       func() int64 // into the chain's head, and what leaves the chain
	Times                                 func() (busy, idle, backPressured time.Duration)
	BackPressured                         func() bool // now
	BytesInRemote, BytesOut               func() int64
	BuffersInLocal, BuffersInRemote, Sent func() int64 // batches
	InputQueue, Mails                     func() int64 // present lengths
	AlignmentTime, StartDelay             func() int64 // of the last epoch, in ns
	SyncDuration                          func() int64 // the same
}

// ReportTask reports a task's figures under their names.
func (g *Group) ReportTask(s TaskSource) {
	g.rated(NumRecordsIn, s.RowsIn)
	g.rated(NumRecordsOut, s.RowsOut)
	g.rated(NumBytesInRemote, s.BytesInRemote)
	g.rated(NumBytesOut, s.BytesOut)
	g.rated(NumBuffersInLocal, s.BuffersInLocal)
	g.rated(NumBuffersInRemote, s.BuffersInRemote)
	g.rated(NumBuffersOut, s.Sent)
	g.sub("buffers", []string{"buffers"}, []string{"buffers"}).gauge(InputQueueLength, s.InputQueue)
	g.gauge(MailboxQueueSize, s.Mails)
	g.gauge(AlignmentTime, s.AlignmentTime)
	g.gauge(StartDelay, s.StartDelay)
	g.gauge(SyncDuration, s.SyncDuration)
	if f := s.BackPressured; f != nil {
		g.GaugeFunc(IsBackPressured, func() float64 {
			if f() {
				return 1
			}
			return 0
		})
	}
	g.ReportTimes(s.Times)
}

// ReportTimes reports the three times of a task, or of the tasks of a vertex added up: in all, and ms a second over the last
// minute, of which a task's make about 1000 together. Of a task that never ran they are 0.
func (g *Group) ReportTimes(times func() (busy, idle, backPressured time.Duration)) {
	if times == nil {
		return
	}
	for _, t := range []struct {
		sum, rate string
		of        func(busy, idle, back time.Duration) time.Duration
	}{
		{AccumulatedBusy, BusyTime, func(busy, _, _ time.Duration) time.Duration { return busy }},
		{AccumulatedIdle, IdleTime, func(_, idle, _ time.Duration) time.Duration { return idle }},
		{AccumulatedBackPressured, BackPressuredTime, func(_, _, back time.Duration) time.Duration { return back }},
	} {
		ms := func() int64 { return t.of(times()).Milliseconds() }
		g.gauge(t.sum, ms)
		g.RateFunc(t.rate, ms)
	}
}

func (g *Group) rated(name string, f func() int64) {
	if f != nil {
		g.Rated(name, f)
	}
}

func (g *Group) counter(name string, f func() int64) {
	if f != nil {
		g.CounterFunc(name, f)
	}
}

func (g *Group) gauge(name string, f func() int64) {
	if f != nil {
		g.GaugeFunc(name, func() float64 { return float64(f()) })
	}
}

// runtimeGauges are the figures of a process, from the Go runtime.
var runtimeGauges = []struct {
	group, name string
	read        func() float64
}{
	{"Status.JVM.Memory.Heap", "Used", func() float64 { return readRuntime(heapObjects) }},
	{"Status.JVM.Memory.Heap", "Committed", func() float64 {
		return readRuntime(heapObjects) + readRuntime("/memory/classes/heap/unused:bytes") + readRuntime("/memory/classes/heap/free:bytes")
	}},
	{"Status.JVM.Memory.Heap", "Max", func() float64 {
		if limit := readRuntime("/gc/gomemlimit:bytes"); limit < math.MaxInt64 {
			return limit
		}
		return -1
	}},
	{"Status.JVM.Threads", "Count", func() float64 { return readRuntime("/sched/threads/total:threads") }},
	{"Status.JVM.GarbageCollector.All", "Count", func() float64 { return readRuntime("/gc/cycles/total:gc-cycles") }},
	{"Status.Go", "Goroutines", func() float64 { return readRuntime("/sched/goroutines:goroutines") }},
	{"Status.Go", "TotalMemory", func() float64 {
		return readRuntime("/memory/classes/total:bytes") - readRuntime("/memory/classes/heap/released:bytes")
	}},
	{"Status.Go", "AllocatedBytes", func() float64 { return readRuntime("/gc/heap/allocs:bytes") }},
	{"Status.Go", "CollectorCPUTimeMs", func() float64 { return readRuntime("/cpu/classes/gc/total:cpu-seconds") * 1000 }},
	{"Status.Go", "CollectorPauseTimeMs", func() float64 {
		var s debug.GCStats
		debug.ReadGCStats(&s)
		return float64(s.PauseTotal) / 1e6
	}},
}

const heapObjects = "/memory/classes/heap/objects:bytes"

// ReportRuntime reports the Go runtime's memory, collector and threads in a group of a process. Names have JVM in them where
// the same is meant, so that dashboards made for Flink show something; what only Go has is below Status.Go.
func (g *Group) ReportRuntime() {
	for _, r := range runtimeGauges {
		g.Group(r.group).GaugeFunc(r.name, r.read)
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
