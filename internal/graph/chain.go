package graph

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weir-stream/weir/internal/ids"
)

// Chain checks the program and cuts it into vertices. Its error wraps a *CheckError with every problem; warnings are
// left to Check.
//
// An operator joins its producer's chain when: it has exactly one input edge, that edge is Forward and not Blocking, both
// have the same parallelism and slot sharing group, the consumer's chaining is ChainDefault and the producer's is not
// ChainNever. A Keyed edge between two operators of parallelism 1 counts as Forward unless opt.SplitKeyedAtOne is set.
func Chain(g *Graph, opt Options) (*JobGraph, error) {
	if err := Check(g, opt).Err(); err != nil {
		return nil, err
	}
	c := newChainer(g, opt)
	for _, n := range c.order {
		if !c.chained[n.ID] {
			c.newVertex(n)
		}
	}
	c.connect()
	return c.job, nil
}

type chainer struct {
	g   *Graph
	opt Options
	job *JobGraph

	order     []*Node // topological
	group     []string
	chained   []bool         // by node: joins its only producer's chain
	consumers [][]*Node      // by node: its chained consumers, in the order of their ids
	vertex    []ids.VertexID // by node
	place     []int          // by node: index in its vertex's Operators
}

func newChainer(g *Graph, opt Options) *chainer {
	size := len(g.Nodes)
	c := &chainer{g: g, opt: opt, job: &JobGraph{Name: g.Name, Bounded: true}, order: topological(g), group: make([]string, size),
		chained: make([]bool, size), consumers: make([][]*Node, size), vertex: make([]ids.VertexID, size),
		place: make([]int, size)}
	for _, n := range c.order {
		c.group[n.ID] = c.slotGroup(n)
		if n.Source && !n.Bounded {
			c.job.Bounded = false
		}
	}
	for _, n := range g.Nodes { // by id, so that consumers are too
		if c.chainable(n) {
			c.chained[n.ID] = true
			from := n.Inputs[0].From
			c.consumers[from] = append(c.consumers[from], n)
		}
	}
	return c
}

// topological orders nodes so that producers come before consumers, lower ids first where there is a choice.
func topological(g *Graph) []*Node {
	missing := make([]int, len(g.Nodes))
	next := make([][]int, len(g.Nodes))
	var ready []int // sorted
	for _, n := range g.Nodes {
		missing[n.ID] = len(n.Inputs)
		for _, e := range n.Inputs {
			next[e.From] = append(next[e.From], n.ID)
		}
		if len(n.Inputs) == 0 {
			ready = append(ready, n.ID)
		}
	}
	order := make([]*Node, 0, len(g.Nodes))
	for len(ready) > 0 {
		id := ready[0]
		ready = ready[1:]
		order = append(order, g.Nodes[id])
		for _, to := range next[id] {
			if missing[to]--; missing[to] == 0 {
				at, _ := slices.BinarySearch(ready, to)
				ready = slices.Insert(ready, at, to)
			}
		}
	}
	return order
}

// slotGroup resolves an unset group as Flink does: that of the inputs when they agree, else the default.
func (c *chainer) slotGroup(n *Node) string {
	if n.SlotGroup != "" {
		return n.SlotGroup
	}
	group := ""
	for _, e := range n.Inputs {
		switch from := c.group[e.From]; group {
		case "":
			group = from
		case from:
		default:
			return DefaultSlotGroup
		}
	}
	return cmp.Or(group, DefaultSlotGroup)
}

func (c *chainer) chainable(n *Node) bool {
	if c.opt.DisableChaining || n.Chaining != ChainDefault || len(n.Inputs) != 1 {
		return false
	}
	e := n.Inputs[0]
	from := c.g.Nodes[e.From]
	p := c.opt.Parallelism(n)
	local := e.Partition.Kind == Forward || e.Partition.Kind == Keyed && p == 1 && !c.opt.SplitKeyedAtOne
	return local && !e.Blocking && from.Chaining != ChainNever && p == c.opt.Parallelism(from) && c.group[n.ID] == c.group[from.ID]
}

func (c *chainer) newVertex(head *Node) {
	v := &Vertex{ID: ids.VertexID(len(c.job.Vertices)), Parallelism: c.opt.Parallelism(head), MaxParallelism: MaxParallelism, SlotGroup: c.group[head.ID]}
	c.job.Vertices = append(c.job.Vertices, v)
	c.addOp(v, head)
	v.Name = c.chainName(head)
}

// addOp places n and then everything that is chained to it, depth first.
func (c *chainer) addOp(v *Vertex, n *Node) {
	at := len(v.Operators)
	c.vertex[n.ID], c.place[n.ID] = v.ID, at
	v.Operators = append(v.Operators, ChainedOp{Node: n, ID: ids.OperatorIDOf(cmp.Or(n.StateName(), n.Label()))})
	if n.MaxParallelism > 0 {
		v.MaxParallelism = min(v.MaxParallelism, n.MaxParallelism)
	}
	for _, to := range c.consumers[n.ID] {
		next := ChainEdge{To: len(v.Operators), Edge: to.Inputs[0]}
		c.addOp(v, to)
		v.Operators[at].Next = append(v.Operators[at].Next, next)
	}
}

// chainName is "a -> b -> c", with the branches of a tree in parentheses: "a -> (b -> c, d)".
func (c *chainer) chainName(n *Node) string {
	next := c.consumers[n.ID]
	switch len(next) {
	case 0:
		return n.Label()
	case 1:
		return n.Label() + " -> " + c.chainName(next[0])
	}
	branches := make([]string, len(next))
	for i, to := range next {
		branches[i] = c.chainName(to)
	}
	return n.Label() + " -> (" + strings.Join(branches, ", ") + ")"
}

// connect makes the edges between vertices: sorted by consumer, gate, and the author's order within a gate.
func (c *chainer) connect() {
	for _, v := range c.job.Vertices {
		head := v.Head()
		inputs := slices.Clone(head.Inputs)
		slices.SortStableFunc(inputs, func(a, b Edge) int { return cmp.Compare(a.Input, b.Input) })
		for _, e := range inputs {
			from := c.job.Vertices[c.vertex[e.From]]
			if e.Partition.Kind == Forward && from.Parallelism != v.Parallelism {
				e.Partition.Kind = Rebalance
			}
			je := &JobEdge{ID: len(c.job.Edges), From: from.ID, FromOp: c.place[e.From], To: v.ID, Edge: e}
			c.job.Edges = append(c.job.Edges, je)
			v.Inputs = append(v.Inputs, je.ID)
			from.Outputs = append(from.Outputs, je.ID)
			op := &from.Operators[je.FromOp]
			op.Outputs = append(op.Outputs, je.ID)
		}
	}
}
