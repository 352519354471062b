package graph

import (
	"fmt"
	"path/filepath"
	"strings"
)

// MaxParallelism is the highest parallelism of any operator: the number of key groups.
const MaxParallelism = 32768

// DefaultSlotGroup is the slot sharing group of operators that name none and inherit none.
const DefaultSlotGroup = "default"

// Graph is a program as its author wrote it. Build it with New, Add and AddProblem.
type Graph struct {
	Name  string  // the job's name
	Nodes []*Node // Nodes[i].ID == i

	problems []Problem
}

// New returns an empty graph for a job of that name.
func New(name string) *Graph { return &Graph{Name: name} }

// Add appends a node, sets its ID and returns it. The caller may go on changing the node until Check.
func (g *Graph) Add(n Node) *Node {
	n.ID = len(g.Nodes)
	p := &n
	g.Nodes = append(g.Nodes, p)
	return p
}

// AddProblem records something that the facade found wrong while the program was built (a key of an unstable type, a nil
// function). Check reports it among its own findings, so that an author sees everything at once.
func (g *Graph) AddProblem(p Problem) { g.problems = append(g.problems, p) }

// Node returns the node of that id, or nil.
func (g *Graph) Node(id int) *Node {
	if id < 0 || id >= len(g.Nodes) {
		return nil
	}
	return g.Nodes[id]
}

// Node is one operator. Its zero values are the defaults.
type Node struct {
	ID   int    // set by Graph.Add
	Name string // unique among named nodes; required when Stateful; "" lets Label derive one from the kind
	UID  string // overrides Name as the identity of the operator's state, for an operator that was renamed
	Kind string // "source", "map", "filter", "window", "sink"...: for people, and part of the fingerprint
	Desc string // one line more for EXPLAIN ("tumbling 1 h, lateness 1 min"); "" = none

	Parallelism          int // 0 = the job's default
	MaxParallelism       int // 0 = MaxParallelism; an operator that cannot run in parallel says 1
	SourceMaxParallelism int // sources: into how many splits the input can be cut at most; 0 = any number

	Source   bool // has no inputs and reads the outside world
	Sink     bool // writes the outside world; nobody consumes its output
	Stateful bool // keeps state that a snapshot holds: must have a Name or UID
	Keyed    bool // needs each of its inputs keyed or broadcast, at least one keyed
	Bounded  bool // sources: the input ends by itself
	Local    bool // sources and sinks: works only in the process that runs the program

	Chaining  Chaining
	SlotGroup string // "" = the group of the inputs if they agree, else DefaultSlotGroup

	Inputs      []Edge   // in the order of gates; several edges of one gate are a union
	SideOutputs []string // names of the side outputs that the operator declares
	SideTypes   []string // the row type of each of SideOutputs; "" and what is missing = unknown
	OpenSides   bool     // a function decides at run time what side outputs there are: any may be read

	Where   Position // the user's line that made the node
	Factory any      // opaque descriptor of the operator, matched to code by the composition root
}

// Label is what people see: the name, or "kind-3" (with the node's id) for an operator without one.
func (n *Node) Label() string {
	if n.Name != "" {
		return n.Name
	}
	return fmt.Sprintf("%s-%d", n.Kind, n.ID)
}

// StateName is the identity of the operator's state: the UID, or else the name.
func (n *Node) StateName() string {
	if n.UID != "" {
		return n.UID
	}
	return n.Name
}

// KeySchema is the codec's schema of the keys of the operator's state, nil without keys.
func (n *Node) KeySchema() []byte {
	for i := range n.Inputs {
		if s := n.Inputs[i].Partition.KeySchema; s != nil {
			return s
		}
	}
	return nil
}

// Edge is one input of a node. It is stored at its consumer.
type Edge struct {
	From      int       // id of the producing node
	Input     int       // which gate of the consumer; the first is 0, and gates have no holes
	Side      string    // side output of the producer; "" = its main output
	Partition Partition // how rows are spread over the consumer's subtasks
	Type      string    // name of the row's type, for EXPLAIN and the fingerprint
	Codec     any       // opaque codec of the row's type, for edges that leave the process
	Blocking  bool      // the consumer starts when the producer has ended (batch execution); separates regions
}

// Partition says how the rows of an edge are spread over the subtasks of its consumer.
type Partition struct {
	Kind     PartitionKind
	Explicit bool   // the author asked for it; an implicit Forward between different parallelisms becomes Rebalance
	Keys     bool   // Forward only: the author vouches that rows are already where Keyed would send them
	Type     string // Keyed: name of the key's type
	Fn       any    // opaque: key selector with its hash (Keyed), or partitioner (Custom)

	KeySchema []byte // Keyed, and Forward with Keys: the codec's schema of the key, which snapshots hold
}

// PartitionKind is one of the ways of Partition.
type PartitionKind uint8

// The kinds of partitioning.
const (
	Forward   PartitionKind = iota // subtask i to subtask i; needs equal parallelism
	Keyed                          // by the key group of the row's key
	Rebalance                      // round robin over all subtasks
	Rescale                        // round robin over a near group of subtasks
	Shuffle                        // at random
	Broadcast                      // each row to every subtask
	Global                         // all to subtask 0
	Custom                         // the user's function chooses
)

var partitionNames = [...]string{"forward", "keyed", "rebalance", "rescale", "shuffle", "broadcast", "global", "custom"}

// String is the lower-case name, as the API's methods are called.
func (k PartitionKind) String() string {
	if int(k) < len(partitionNames) {
		return partitionNames[k]
	}
	return fmt.Sprintf("partition(%d)", uint8(k))
}

// ShipStrategy is Flink's word for the kind in its JSON plans.
func (k PartitionKind) ShipStrategy() string {
	if k == Keyed {
		return "HASH"
	}
	return strings.ToUpper(k.String())
}

// Chaining says whether an operator may share a task with its neighbours.
type Chaining uint8

// The chaining strategies.
const (
	ChainDefault Chaining = iota // chain whenever the rules allow it
	ChainHead                    // never to the producer, but consumers may follow (StartNewChain)
	ChainNever                   // alone in its task (DisableChaining)
)

// String is the word EXPLAIN prints.
func (c Chaining) String() string { return [...]string{"default", "head", "never"}[c] }

// Position is a place in the user's program.
type Position struct {
	File string
	Line int
	Func string
}

// IsZero reports whether the place is unknown.
func (p Position) IsZero() bool { return p.File == "" }

// String prints "main.go:42" (base name, so that plans do not depend on where a program was built), or "?" when the
// place is unknown.
func (p Position) String() string {
	if p.IsZero() {
		return "?"
	}
	return fmt.Sprintf("%s:%d", filepath.Base(p.File), p.Line)
}
