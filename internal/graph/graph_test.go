package graph_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/weir-stream/weir/internal/graph"
)

// TestTranscripts runs the files in testdata. Commands: check, explain, json, expand, regions, fingerprint; arguments
// parallelism=N, unchained, split-keyed-at-one, workers=N, slots=N. The input is a program, one operator a line:
//
//	kind name [option...] [< producer[/input] partition...]...
//
// Each operator stands on the line of an imaginary job.go that its line in the input has. A name "-" means none; such an
// operator is referred to by its label.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			g, opt := mustParse(t, d.Input), graph.Options{}
			if d.HasArg("parallelism") {
				d.ScanArgs(t, "parallelism", &opt.DefaultParallelism)
			}
			opt.DisableChaining = d.HasArg("unchained")
			opt.SplitKeyedAtOne = d.HasArg("split-keyed-at-one")
			return run(t, d, g, opt)
		})
	})
}

func run(t *testing.T, d *datadriven.TestData, g *graph.Graph, opt graph.Options) string {
	switch d.Cmd {
	case "check":
		var b strings.Builder
		for _, p := range graph.Check(g, opt) {
			fmt.Fprintln(&b, p)
		}
		if b.Len() == 0 {
			return "ok"
		}
		return b.String()
	case "fingerprint":
		return graph.Fingerprint(g)
	}
	job, err := graph.Chain(g, opt)
	if err != nil {
		return err.Error()
	}
	switch d.Cmd {
	case "explain":
		return graph.Explain(job)
	case "json":
		b, err := graph.PlanJSON(job)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	var cl graph.Cluster
	if d.HasArg("workers") {
		d.ScanArgs(t, "workers", &cl.Workers)
	}
	if d.HasArg("slots") {
		d.ScanArgs(t, "slots", &cl.SlotsPerWorker)
	}
	x, err := graph.Expand(job, cl)
	if err != nil {
		return err.Error()
	}
	switch d.Cmd {
	case "expand":
		return printExpanded(x)
	case "regions":
		var b strings.Builder
		for _, region := range graph.Regions(x) {
			for i, task := range region {
				fmt.Fprintf(&b, "%s%s", [2]string{"", " "}[min(i, 1)], shortTask(x, task))
			}
			b.WriteString("\n")
		}
		return b.String()
	}
	t.Fatalf("unknown command %q", d.Cmd)
	return ""
}

func shortTask(x *graph.ExecutionGraph, task int) string {
	return strings.TrimSuffix(x.Tasks[task].ID.String(), "#0")
}

func printExpanded(x *graph.ExecutionGraph) string {
	var b strings.Builder
	for i, s := range x.Slots {
		fmt.Fprintf(&b, "slot %d %s/%d worker %d:", i, s.Group, s.Index, s.Worker)
		for _, task := range s.Tasks {
			fmt.Fprintf(&b, " %s", shortTask(x, task))
		}
		b.WriteString("\n")
	}
	for c := range x.Channels() {
		fmt.Fprintf(&b, "%s: %s -> %s gate %d channel %d", c.ID, shortTask(x, c.From), shortTask(x, c.To), c.Gate, c.Index)
		if !c.Local {
			b.WriteString(" remote")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func mustParse(t testing.TB, program string) *graph.Graph {
	t.Helper()
	g := graph.New("test")
	ids := map[string]int{}
	for i, line := range strings.Split(program, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		n := graph.Node{Kind: words[0], Where: graph.Position{File: "/src/job.go", Line: i + 1, Func: "build"}}
		n.Source, n.Sink = n.Kind == "source", n.Kind == "sink"
		if words[1] != "-" {
			n.Name = words[1]
		}
		var edge *graph.Edge
		for j := 2; j < len(words); j++ {
			if words[j] == "<" {
				j++
				n.Inputs = append(n.Inputs, mustEdge(t, ids, words[j]))
				edge = &n.Inputs[len(n.Inputs)-1]
				continue
			}
			key, value, _ := strings.Cut(words[j], "=")
			if edge != nil {
				edgeOption(t, edge, key, value)
			} else {
				nodeOption(t, &n, key, value)
			}
		}
		added := g.Add(n)
		ids[added.Label()] = added.ID
	}
	return g
}

func mustEdge(t testing.TB, ids map[string]int, ref string) graph.Edge {
	t.Helper()
	name, input, _ := strings.Cut(ref, "/")
	e := graph.Edge{From: -1}
	if id, ok := ids[name]; ok {
		e.From = id
	} else if n, err := strconv.Atoi(name); err == nil {
		e.From = n // by number, to point forward
	}
	if input != "" {
		e.Input = atoi(t, input)
	}
	return e
}

func edgeOption(t testing.TB, e *graph.Edge, key, value string) {
	t.Helper()
	switch key {
	case "type":
		e.Type = value
	case "side":
		e.Side = value
	case "explicit":
		e.Partition.Explicit = true
	case "blocking":
		e.Blocking = true
	case "keys":
		e.Partition.Keys = true
	default:
		for k := graph.Forward; k <= graph.Custom; k++ {
			if k.String() == key {
				e.Partition.Kind, e.Partition.Type = k, value
				return
			}
		}
		t.Fatalf("unknown edge option %q", key)
	}
}

func nodeOption(t testing.TB, n *graph.Node, key, value string) {
	t.Helper()
	switch key {
	case "p":
		n.Parallelism = atoi(t, value)
	case "max":
		n.MaxParallelism = atoi(t, value)
	case "splits":
		n.SourceMaxParallelism = atoi(t, value)
	case "uid":
		n.UID = value
	case "desc":
		n.Desc = strings.ReplaceAll(value, "_", " ")
	case "state":
		n.Stateful = true
	case "keyed":
		n.Keyed, n.Stateful = true, true
	case "bounded":
		n.Bounded = true
	case "head":
		n.Chaining = graph.ChainHead
	case "never":
		n.Chaining = graph.ChainNever
	case "slot":
		n.SlotGroup = value
	case "sides":
		n.SideOutputs = strings.Split(value, ",")
	default:
		t.Fatalf("unknown operator option %q", key)
	}
}

func atoi(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
