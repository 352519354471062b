package graph_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/keygroup"
)

func TestMaxParallelismIsTheNumberOfKeyGroups(t *testing.T) {
	if graph.MaxParallelism != keygroup.Count {
		t.Errorf("graph.MaxParallelism = %d, keygroup.Count = %d", graph.MaxParallelism, keygroup.Count)
	}
}

// Law: consumer c reads from producer p exactly when p writes to c; every subtask has at least one channel on each side;
// Rescale spreads them as evenly as whole numbers allow.
func TestConsumersInvertProducers(t *testing.T) {
	for p := 1; p <= 17; p++ {
		for q := 1; q <= 17; q++ {
			for k := graph.Forward; k <= graph.Custom; k++ {
				for from := range p {
					for to := range q {
						lo, hi := graph.Producers(k, p, q, to)
						reads := lo <= from && from < hi
						clo, chi := graph.Consumers(k, p, q, from)
						writes := clo <= to && to < chi
						if reads != writes {
							t.Fatalf("%s %d to %d: %d reads from %d: %t, writes: %t", k, p, q, to, from, reads, writes)
						}
						if n := hi - lo; n < 1 || k == graph.Rescale && n > (p+q-1)/q {
							t.Fatalf("%s %d to %d: consumer %d has %d producers", k, p, q, to, n)
						}
						if n := chi - clo; n < 1 || k == graph.Rescale && n > (q+p-1)/p {
							t.Fatalf("%s %d to %d: producer %d has %d consumers", k, p, q, from, n)
						}
					}
				}
			}
		}
	}
}

// randomProgram draws a valid program: every operator reads from earlier ones, and one sink reads everything unread.
func randomProgram(t *rapid.T) (*graph.Graph, graph.Options) {
	g := graph.New("random")
	size := rapid.IntRange(1, 12).Draw(t, "size")
	read := make([]bool, size)
	for i := range size {
		n := graph.Node{Name: fmt.Sprintf("op%d", i), Kind: "map", Chaining: graph.Chaining(rapid.IntRange(0, 2).Draw(t, "chaining")),
			Parallelism: rapid.IntRange(0, 3).Draw(t, "parallelism"), SlotGroup: rapid.SampledFrom([]string{"", "", "", "a"}).Draw(t, "slot")}
		inputs := 0
		if i > 0 {
			inputs = rapid.IntRange(0, 3).Draw(t, "inputs")
		}
		n.Source = inputs == 0
		for j := range inputs {
			e := graph.Edge{From: rapid.IntRange(0, i-1).Draw(t, "from"), Input: min(j, 1)}
			e.Partition.Kind = graph.PartitionKind(rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7}).Draw(t, "kind"))
			e.Blocking = rapid.IntRange(0, 9).Draw(t, "blocking") == 0
			read[e.From] = true
			n.Inputs = append(n.Inputs, e)
		}
		g.Add(n)
	}
	sink := graph.Node{Name: "sink", Kind: "sink", Sink: true}
	for i := range size {
		if !read[i] {
			sink.Inputs = append(sink.Inputs, graph.Edge{From: i})
		}
	}
	g.Add(sink)
	return g, graph.Options{DefaultParallelism: rapid.IntRange(1, 4).Draw(t, "default"), DisableChaining: rapid.Bool().Draw(t, "unchained"),
		SplitKeyedAtOne: rapid.Bool().Draw(t, "split")}
}

// Laws of chaining: every operator stands in exactly one vertex; every edge of the program is exactly one call inside a
// chain or one edge between vertices; vertices and chains are in topological order; both sides of a call agree in
// parallelism; and a second run gives the same.
func TestChainKeepsEveryOperatorAndEdge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, opt := randomProgram(t)
		job, err := graph.Chain(g, opt)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := graph.Chain(g, opt)
		if !reflect.DeepEqual(job, again) {
			t.Fatal("two runs differ")
		}
		seen := map[int]int{}
		var want, got []string
		for _, n := range g.Nodes {
			for _, e := range n.Inputs {
				want = append(want, fmt.Sprint(e.From, n.ID, e.Input))
			}
		}
		for i, v := range job.Vertices {
			if int(v.ID) != i {
				t.Fatalf("vertex %d has id %d", i, v.ID)
			}
			for at, op := range v.Operators {
				seen[op.Node.ID]++
				for _, next := range op.Next {
					to := v.Operators[next.To].Node
					if next.To <= at || opt.Parallelism(to) != opt.Parallelism(op.Node) || len(to.Inputs) != 1 {
						t.Fatalf("%s is wrongly chained to %s", to.Name, op.Node.Name)
					}
					got = append(got, fmt.Sprint(op.Node.ID, to.ID, next.Edge.Input))
				}
			}
		}
		for i, e := range job.Edges {
			if e.ID != i || e.From >= e.To {
				t.Fatalf("edge %d: %+v", i, e)
			}
			got = append(got, fmt.Sprint(job.Vertices[e.From].Operators[e.FromOp].Node.ID, job.Vertices[e.To].Head().ID, e.Edge.Input))
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			t.Fatalf("edges: want %v, got %v", want, got)
		}
		for _, n := range g.Nodes {
			if seen[n.ID] != 1 {
				t.Fatalf("%s stands in %d vertices", n.Name, seen[n.ID])
			}
		}
	})
}

// Laws of expansion: the channels seen from the producers are those seen from the consumers, in every field; gates are in
// order; a slot holds at most one subtask of a vertex; workers differ by at most one slot in all; a region is closed under
// its pipelined channels.
func TestExpandAgreesWithItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, opt := randomProgram(t)
		job, err := graph.Chain(g, opt)
		if err != nil {
			t.Fatal(err)
		}
		x, err := graph.Expand(job, graph.Cluster{Workers: rapid.IntRange(1, 4).Draw(t, "workers")})
		if err != nil {
			t.Fatal(err)
		}
		byID := map[graph.ChannelID]graph.Channel{}
		for task := range x.Tasks {
			gate := 0
			for i, c := range x.Inputs(task) {
				if c.Index != i || c.To != task || c.Gate < gate {
					t.Fatalf("input %d of task %d: %+v", i, task, c)
				}
				gate = c.Gate
				byID[c.ID] = c
			}
		}
		outputs := 0
		for task := range x.Tasks {
			for _, o := range x.Outputs(task) {
				for _, c := range o.Channels {
					outputs++
					if c.From != task || byID[c.ID] != c {
						t.Fatalf("output of task %d: %+v, its consumer says %+v", task, c, byID[c.ID])
					}
				}
			}
		}
		if outputs != len(byID) {
			t.Fatalf("%d channels leave, %d arrive", outputs, len(byID))
		}
		checkSlots(t, x)
		checkRegions(t, x)
	})
}

func checkSlots(t *rapid.T, x *graph.ExecutionGraph) {
	load := map[int]int{}
	tasks := 0
	for i, s := range x.Slots {
		load[s.Worker]++
		vertices := map[any]bool{}
		for _, task := range s.Tasks {
			tasks++
			v := x.Vertex(task)
			if vertices[v.ID] || v.SlotGroup != s.Group || x.Tasks[task].Slot != i || x.Tasks[task].Worker != s.Worker {
				t.Fatalf("slot %d: %+v", i, s)
			}
			vertices[v.ID] = true
		}
		if len(s.Tasks) == 0 {
			t.Fatalf("slot %d is empty", i)
		}
	}
	if tasks != len(x.Tasks) {
		t.Fatalf("%d of %d tasks are placed", tasks, len(x.Tasks))
	}
	least, most := len(x.Slots), 0
	for _, n := range load {
		least, most = min(least, n), max(most, n)
	}
	if most-least > 1 {
		t.Fatalf("load %v", load)
	}
}

// checkRegions compares with the slow way: spread the lowest task number along channels until nothing changes.
func checkRegions(t *rapid.T, x *graph.ExecutionGraph) {
	label := make([]int, len(x.Tasks))
	for i := range label {
		label[i] = i
	}
	for changed := true; changed; {
		changed = false
		for c := range x.Channels() {
			if l := min(label[c.From], label[c.To]); !x.Job.Edges[c.ID.Edge].Edge.Blocking && (label[c.From] != l || label[c.To] != l) {
				label[c.From], label[c.To], changed = l, l, true
			}
		}
	}
	count := 0
	for _, region := range graph.Regions(x) {
		for _, task := range region {
			count++
			if label[task] != region[0] {
				t.Fatalf("task %d is in the region of %d, must be in that of %d", task, region[0], label[task])
			}
		}
	}
	if count != len(x.Tasks) {
		t.Fatalf("regions hold %d of %d tasks", count, len(x.Tasks))
	}
}

// Law: the fingerprint changes with each field of a plan, except functions and source lines.
func TestFingerprint(t *testing.T) {
	base := func() *graph.Graph {
		return mustParse(t, "source in\nprocess p keyed sides=a < in keyed=string type=Row\nsink out < p")
	}
	want := graph.Fingerprint(base())
	if want != graph.Fingerprint(base()) || len(want) != 32 {
		t.Fatalf("not stable: %s", want)
	}
	same := map[string]bool{"Where": true, "Factory": true, "Codec": true, "Fn": true, "ID": true, "Inputs": true, "Partition": true,
		"SideTypes": true, "OpenSides": true, "Local": true} // these serve checks alone
	change := func(what string, field reflect.Value, g *graph.Graph) {
		if same[what] {
			return
		}
		switch field.Kind() {
		case reflect.String:
			field.SetString(field.String() + "x")
		case reflect.Bool:
			field.SetBool(!field.Bool())
		case reflect.Int:
			field.SetInt(field.Int() + 1)
		case reflect.Uint8:
			field.SetUint(field.Uint() + 1)
		case reflect.Slice:
			if field.Type().Elem().Kind() == reflect.Uint8 {
				field.SetBytes([]byte("other"))
			} else {
				field.Set(reflect.ValueOf([]string{"other"}))
			}
		default:
			t.Fatalf("field %s: kind %s is new here: is it part of the fingerprint?", what, field.Kind())
		}
		if graph.Fingerprint(g) == want {
			t.Errorf("the fingerprint does not depend on %s", what)
		}
	}
	pick := []func(g *graph.Graph) reflect.Value{
		func(g *graph.Graph) reflect.Value { return reflect.ValueOf(g.Nodes[1]).Elem() },
		func(g *graph.Graph) reflect.Value { return reflect.ValueOf(&g.Nodes[1].Inputs[0]).Elem() },
		func(g *graph.Graph) reflect.Value { return reflect.ValueOf(&g.Nodes[1].Inputs[0].Partition).Elem() },
	}
	for _, of := range pick {
		for i := range of(base()).NumField() {
			g := base()
			v := of(g)
			change(v.Type().Field(i).Name, v.Field(i), g)
		}
	}
	g := base()
	g.Nodes[0].Where, g.Nodes[0].Factory, g.Nodes[1].Inputs[0].Codec = graph.Position{File: "other.go", Line: 9}, 7, "codec"
	if graph.Fingerprint(g) != want {
		t.Error("the fingerprint depends on source lines or functions")
	}
}

func TestProblemsOfTheFacade(t *testing.T) {
	g := mustParse(t, "source in\nsink out < in")
	g.AddProblem(graph.Problem{Code: "graph.key.type", Where: graph.Position{File: "/x/job.go", Line: 1}, What: "KeyBy: *int is no key", Fix: "Use the int itself."})
	_, err := graph.Chain(g, graph.Options{})
	const want = "plan.invalid: the job cannot run: 1 problem\ngraph.key.type: job.go:1: KeyBy: *int is no key.\n  Use the int itself."
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if errs.ClassOf(err) != errs.ClassUser || errs.CodeOf(err) != errs.CodePlanInvalid {
		t.Errorf("class %s, code %s", errs.ClassOf(err), errs.CodeOf(err))
	}
}

// A large job stays cheap: nothing of Chain, Expand or Regions may cost more than a few steps a task, and no edge of two
// vertices is written out as p times q channels.
func TestLargeJob(t *testing.T) {
	var b strings.Builder
	b.WriteString("source op0\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "window op%d keyed < op%d keyed=int\n", i, i-1)
	}
	b.WriteString("sink out < op9\n")
	job, err := graph.Chain(mustParse(t, b.String()), graph.Options{DefaultParallelism: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	x, err := graph.Expand(job, graph.Cluster{Workers: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Tasks) != 100_000 || len(x.Slots) != 10_000 || len(graph.Regions(x)) != 1 || len(x.Inputs(99_999)) != 10_000 {
		t.Errorf("%d tasks, %d slots, %d regions", len(x.Tasks), len(x.Slots), len(graph.Regions(x)))
	}
}
