package physical

import "github.com/weir-stream/weir/internal/sql/datatype"

// TimeKind says whether a column is a time attribute.
type TimeKind uint8

// Time attributes.
const (
	NoTime TimeKind = iota
	// Rowtime columns are what watermarks speak of.
	Rowtime
	// Proctime columns hold nothing until they are read (PROCTIME_MATERIALIZE); windows by them go by the clock.
	Proctime
)

// Column is a column of a node's output.
type Column struct {
	Name string
	Type datatype.Type
	Time TimeKind
}

// Changes says which changes a stream carries.
type Changes uint8

// Modes of changelogs.
const (
	// InsertOnly streams have +I only.
	InsertOnly Changes = iota
	// Upsert streams have +I, +U and -D, the latter perhaps with nothing but the key.
	Upsert
	// Retract streams have a -U before each +U, and whole rows in each -D.
	Retract
	// NoDelete streams have +I and +U, by key.
	NoDelete
)

// Distribution says which subtask gets a row.
type Distribution uint8

// Distributions.
const (
	// Forward keeps rows where they are; both sides have one parallelism.
	Forward Distribution = iota
	// Keyed goes by the hash of the columns Keys.
	Keyed
	// Single brings all rows to one subtask; the node has parallelism 1.
	Single
	// Broadcast copies rows to all.
	Broadcast
	// Rebalance deals rows out.
	Rebalance
)

// Input is an edge of the plan.
type Input struct {
	Node Node
	Dist Distribution
	// Keys are the columns of a Keyed distribution. With none, all rows have the same key.
	Keys []int
}

// Base is what every node has.
type Base struct {
	// Name is unique in a plan and derived from what the node does, not from where it stands: state is found by it.
	Name string
	// Out describes the rows emitted.
	Out []Column
	// Changes says which changes are emitted.
	Changes Changes
	// UpsertKeys are the sets of columns that identify an emitted row; the first is the best one.
	UpsertKeys [][]int
	In         []Input
	// TTL is how long state lives that nobody touches, in milliseconds; 0 is for ever.
	TTL []int64
	// Parallelism is 0 unless the node must have another than the job.
	Parallelism int
}

// Node is an operator of the plan.
type Node interface {
	// Plan returns what all nodes have; the node's owner may change it while the plan is being made.
	Plan() *Base
}

// Plan implements Node.
func (b *Base) Plan() *Base { return b }
