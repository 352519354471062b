package graph

import "github.com/weir-stream/weir/internal/ids"

// JobGraph is a checked program cut into vertices. Vertices are in topological order and Vertices[i].ID == i; Edges are
// sorted by consumer, gate and producer, and Edges[i].ID == i.
type JobGraph struct {
	Name     string
	Vertices []*Vertex
	Edges    []*JobEdge
	Bounded  bool // every source ends by itself
}

// Vertex is a chain of operators that runs in one task per subtask. A chain is a tree: several consumers may follow one
// producer, but each operator except the head has exactly one input, and it comes from within the chain.
type Vertex struct {
	ID             ids.VertexID
	Name           string // "flights -> filter -> map"
	Parallelism    int
	MaxParallelism int // the smallest of its operators
	SlotGroup      string
	Operators      []ChainedOp // head first, each operator after its producer, depth first
	Inputs         []int       // ids of the edges that arrive at the head, sorted by gate, then producer
	Outputs        []int       // ids of the edges that leave any operator of the chain
}

// Head is the first operator of the chain, the only one with inputs from other vertices.
func (v *Vertex) Head() *Node { return v.Operators[0].Node }

// Gates is the number of gates of the head: 0 for a source, 1 for most, 2 for a connected stream.
func (v *Vertex) Gates() int {
	gates := 0
	for _, e := range v.Head().Inputs {
		gates = max(gates, e.Input+1)
	}
	return gates
}

// ChainedOp is an operator at its place in a chain.
type ChainedOp struct {
	Node    *Node
	ID      ids.OperatorID // from StateName, or from Label for an operator that has neither name nor uid
	Next    []ChainEdge    // consumers within the chain, in the order of their node ids
	Outputs []int          // ids of the job edges that leave this operator
}

// ChainEdge is a hand-over inside a chain: a call, no queue.
type ChainEdge struct {
	To   int  // index in Vertex.Operators, greater than the producer's
	Edge Edge // as the author wrote it. Keyed here means that both sides have parallelism 1: the rows stay, but the hashes of their keys must still be computed
}

// JobEdge is an edge between two vertices. It always ends at the head of its consumer.
type JobEdge struct {
	ID     int
	From   ids.VertexID
	FromOp int // index in the producer's Operators
	To     ids.VertexID
	Edge   Edge // Partition.Kind is resolved: an implicit Forward between different parallelisms is Rebalance here
}
