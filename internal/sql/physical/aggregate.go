package physical

import "github.com/weir-stream/weir/internal/sql/expr"

// Phase says which part of a two-phase aggregation a node is.
type Phase uint8

// Phases.
const (
	// Whole aggregates rows to results.
	Whole Phase = iota
	// Local aggregates rows to accumulators, which it emits at each flush: keys first, then the columns of each accumulator.
	Local
	// Global merges accumulators to results.
	Global
)

// GroupAggregate groups an unbounded stream. Output: keys, then aggregates.
type GroupAggregate struct {
	Base
	Keys  []int
	Aggs  []expr.Aggregate
	Phase Phase
	// Retracts says that the input has -U or -D.
	Retracts bool
	// EmitUpdateBefore says that -U is wanted.
	EmitUpdateBefore bool
	// Distinct is set if there are no aggregates: each key is emitted once (SELECT DISTINCT).
	Distinct bool
	// Global aggregates, without keys, are emitted once data have come.
}

// WindowKind is a kind of window.
type WindowKind uint8

// Kinds of windows.
const (
	Tumble WindowKind = iota
	Hop
	Cumulate
	Session
)

// Window describes windows. Sizes are in milliseconds.
type Window struct {
	Kind WindowKind
	// Size is the length, Slide what HOP slides and CUMULATE steps by, Gap that of sessions, Offset what windows are shifted by.
	Size, Slide, Gap, Offset int64
	// Time is the column of the time attribute; -1 if the windows are already columns of the input (Start, End). Proctime goes by the clock.
	Time     int
	Proctime bool
	// Local says that the time is a TIMESTAMP_LTZ, so that windows are cut in Zone.
	Local bool
	Zone  string
	// Start and End are columns with the window's bounds if the input has them, else -1.
	Start, End int
	// Partition are the keys of SESSION's PARTITION BY.
	Partition []int
}

// Property is a column about a window.
type Property uint8

// Properties of windows.
const (
	WindowStart Property = iota
	WindowEnd
	// WindowTime is the last millisecond of the window, a time attribute.
	WindowTime
	// WindowProctime is the processing time.
	WindowProctime
)

// WindowAggregate aggregates by window. Output: keys, aggregates, properties.
type WindowAggregate struct {
	Base
	Window     Window
	Keys       []int
	Aggs       []expr.Aggregate
	Phase      Phase
	Properties []Property
	Retracts   bool
	// Legacy is GROUP BY TUMBLE(...) and its like.
	Legacy bool
}

// WindowTVF adds the columns window_start, window_end and window_time to each row, once for each window it is in.
type WindowTVF struct {
	Base
	Window Window
}
