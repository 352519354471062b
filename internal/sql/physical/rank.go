package physical

import "github.com/weir-stream/weir/internal/sql/expr"

// RankKind is how rows are numbered.
type RankKind uint8

// Kinds of ranks.
const (
	RowNumber RankKind = iota
	Rank
	DenseRank
)

// TopN keeps the rows of each partition whose number is within bounds. Output: the input, and the number if OutputRank.
type TopN struct {
	Base
	Kind      RankKind
	Partition []int
	Order     []expr.Order
	// From and To bound the number, both included, from 1. ToColumn is the column that bounds it instead, or -1.
	From, To   int64
	ToColumn   int
	OutputRank bool
	// Input is what the input's changes allow: InsertOnly: the state keeps only what can still be in the result. Upsert: rows of one
	// UpsertKey replace each other and only rise. Retract: the state keeps everything.
	Input            Changes
	UpsertKey        []int
	EmitUpdateBefore bool
}

// WindowTopN is TopN of each window, emitted when the window closes.
type WindowTopN struct {
	Base
	Window     Window
	Partition  []int
	Order      []expr.Order
	From, To   int64
	OutputRank bool
	Kind       RankKind
}

// Deduplicate keeps the first or the last row of each key by time.
type Deduplicate struct {
	Base
	Keys []int
	Time int
	// Proctime orders by arrival.
	Proctime, KeepLast bool
	EmitUpdateBefore   bool
	// Window is set for deduplication by window.
	Window *Window
}

// Sort orders rows by time and then by other columns, emitting what the watermark has passed (or at the end of a bounded input if the
// order does not begin with time).
type Sort struct {
	Base
	Order []expr.Order
	// Time says that the first key is a time attribute, Proctime which.
	Time, Proctime bool
}

// Limit is LIMIT and OFFSET, with Order a top-N of all rows. Limit -1 is none.
type Limit struct {
	Base
	Order            []expr.Order
	Offset, Limit    int64
	Retracts         bool
	EmitUpdateBefore bool
}

// Frame is the window of an OVER.
type Frame struct {
	// Rows counts rows, or else ranges of the ordering column.
	Rows bool
	// Unbounded reaches back to the first row; else Preceding rows or milliseconds.
	Unbounded bool
	Preceding int64
}

// Over adds aggregates over the rows before each row. Output: the input, then the aggregates.
type Over struct {
	Base
	Partition []int
	Order     []expr.Order
	// Time and Proctime describe the ordering column; neither is set for an order by another column.
	Time, Proctime   bool
	Frame            Frame
	Aggs             []expr.Aggregate
	Retracts         bool
	EmitUpdateBefore bool
}
