package graph

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Explain prints a job graph for people: its vertices in topological order, each with its chain as a tree, and the edges
// that arrive. For each operator: kind, name, whether it keeps state, description and the user's line.
func Explain(job *JobGraph) string {
	var b strings.Builder
	bounded := "unbounded"
	if job.Bounded {
		bounded = "bounded"
	}
	tasks := 0
	for _, v := range job.Vertices {
		tasks += v.Parallelism
	}
	fmt.Fprintf(&b, "job %q: %s, %s, %s, %s\n", job.Name, bounded, plural(len(job.Vertices), "vertex", "vertices"), plural(tasks, "task", "tasks"), slotsText(job))
	for _, v := range job.Vertices {
		fmt.Fprintf(&b, "\n%s: parallelism %d", v.ID, v.Parallelism)
		if v.MaxParallelism < MaxParallelism {
			fmt.Fprintf(&b, " of at most %d", v.MaxParallelism)
		}
		if v.SlotGroup != DefaultSlotGroup {
			fmt.Fprintf(&b, ", slot group %q", v.SlotGroup)
		}
		b.WriteString("\n")
		for _, id := range v.Inputs {
			explainInput(&b, job, v, job.Edges[id])
		}
		explainOp(&b, v, 0, "  ", "  ")
	}
	return b.String()
}

func slotsText(job *JobGraph) string {
	_, need := slotGroups(job)
	total := 0
	for _, n := range need { // a sum: the order does not matter
		total += n
	}
	return plural(total, "slot", "slots")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func explainInput(b *strings.Builder, job *JobGraph, v *Vertex, e *JobEdge) {
	from := job.Vertices[e.From]
	fmt.Fprintf(b, "  <- %s %s", from.ID, from.Operators[e.FromOp].Node.Label())
	if e.Edge.Side != "" {
		fmt.Fprintf(b, " side %q", e.Edge.Side)
	}
	fmt.Fprintf(b, ": %s", partitionText(e.Edge))
	if v.Gates() > 1 {
		fmt.Fprintf(b, " to input %d", e.Edge.Input)
	}
	if e.Edge.Type != "" {
		fmt.Fprintf(b, ", rows of %s", e.Edge.Type)
	}
	if e.Edge.Blocking {
		b.WriteString(", after it has ended")
	}
	b.WriteString("\n")
}

func partitionText(e Edge) string {
	s := e.Partition.Kind.String()
	if e.Partition.Type != "" {
		s += " by " + e.Partition.Type
	}
	return s
}

// explainOp prints an operator and what is chained to it. A single follower stands below its producer at the same depth;
// branches are indented.
func explainOp(b *strings.Builder, v *Vertex, at int, first, rest string) {
	op := &v.Operators[at]
	n := op.Node
	fmt.Fprintf(b, "%s%s", first, n.Kind)
	if n.Name != "" {
		fmt.Fprintf(b, " %q", n.Name)
	}
	if n.Stateful {
		b.WriteString(" [state]")
	}
	if n.Desc != "" {
		fmt.Fprintf(b, " %s", n.Desc)
	}
	if !n.Where.IsZero() {
		fmt.Fprintf(b, "  (%s)", n.Where)
	}
	b.WriteString("\n")
	for i, next := range op.Next {
		label := ""
		if next.Edge.Side != "" {
			label = fmt.Sprintf("side %q: ", next.Edge.Side)
		}
		if next.Edge.Partition.Kind == Keyed {
			label += partitionText(next.Edge) + ": "
		}
		switch {
		case len(op.Next) == 1:
			explainOp(b, v, next.To, rest+label, rest)
		case i == len(op.Next)-1:
			explainOp(b, v, next.To, rest+"`- "+label, rest+"   ")
		default:
			explainOp(b, v, next.To, rest+"|- "+label, rest+"|  ")
		}
	}
}

// planNode and planInput have the fields, in the order, that Flink's plan visualiser reads.
type planNode struct {
	ID           int         `json:"id"`
	Type         string      `json:"type"`
	Pact         string      `json:"pact"`
	Contents     string      `json:"contents"`
	Parallelism  int         `json:"parallelism"`
	Predecessors []planInput `json:"predecessors,omitempty"`
}

type planInput struct {
	ID           int    `json:"id"`
	ShipStrategy string `json:"ship_strategy"`
	Side         string `json:"side"`
}

// PlanJSON is the plan in the form of Flink's StreamExecutionEnvironment.getExecutionPlan, one node an operator, ids from
// 1: paste it into Flink's plan visualiser. Two inputs are called "first" and "second", as Flink calls them; further
// ones, and the streams of a union, "second" as well.
func PlanJSON(job *JobGraph) ([]byte, error) {
	byNode := map[int]int{} // node id -> parallelism; looked up only
	var nodes []*Node
	kinds := map[[2]int]PartitionKind{} // (consumer, index of input) -> resolved kind; looked up only
	for _, v := range job.Vertices {
		for _, op := range v.Operators {
			byNode[op.Node.ID] = v.Parallelism
			nodes = append(nodes, op.Node)
			for _, next := range op.Next {
				kinds[[2]int{v.Operators[next.To].Node.ID, 0}] = Forward
			}
		}
	}
	slices.SortFunc(nodes, func(a, b *Node) int { return a.ID - b.ID })
	doc := struct {
		Nodes []planNode `json:"nodes"`
	}{Nodes: []planNode{}}
	for _, n := range nodes {
		pn := planNode{ID: n.ID + 1, Type: planType(n), Pact: "Operator", Contents: planContents(n), Parallelism: byNode[n.ID]}
		if n.Source {
			pn.Pact = "Data Source"
		} else if n.Sink {
			pn.Pact = "Data Sink"
		}
		for i, e := range n.Inputs {
			kind := e.Partition.Kind
			if k, chained := kinds[[2]int{n.ID, i}]; chained {
				kind = k
			} else if kind == Forward && byNode[e.From] != byNode[n.ID] {
				kind = Rebalance
			}
			side := "second"
			if i == 0 && len(n.Inputs) > 1 {
				side = "first"
			}
			pn.Predecessors = append(pn.Predecessors, planInput{ID: e.From + 1, ShipStrategy: kind.ShipStrategy(), Side: side})
		}
		doc.Nodes = append(doc.Nodes, pn)
	}
	return json.MarshalIndent(doc, "", "  ")
}

// planType is the operator as Flink titles it: "Source: flights", "Sink: out", else its label.
func planType(n *Node) string {
	switch {
	case n.Source:
		return "Source: " + n.Label()
	case n.Sink:
		return "Sink: " + n.Label()
	}
	return n.Label()
}

func planContents(n *Node) string {
	if n.Desc == "" {
		return planType(n)
	}
	return planType(n) + "\n" + n.Desc
}
