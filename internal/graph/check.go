package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-stream/weir/config"
)

// Options are the settings of a job that shape its graph. The zero value has the defaults.
type Options struct {
	DefaultParallelism int  // of operators that set none; 0 = 1
	DisableChaining    bool // pipeline.operator-chaining.enabled = false
	SplitKeyedAtOne    bool // keep a keyed edge an exchange even when both sides have parallelism 1
}

func (o Options) defaultParallelism() int {
	if o.DefaultParallelism == 0 {
		return 1
	}
	return o.DefaultParallelism
}

// Parallelism is the number of subtasks that n runs with: its own setting, or the job's default, lowered to what the
// operator can do at most. Only the default is lowered in silence; Check refuses an explicit setting that is too high.
func (o Options) Parallelism(n *Node) int {
	if n.Parallelism != 0 {
		return n.Parallelism
	}
	p := o.defaultParallelism()
	if n.MaxParallelism > 0 {
		p = min(p, n.MaxParallelism)
	}
	if n.Source && n.SourceMaxParallelism > 0 {
		p = min(p, n.SourceMaxParallelism)
	}
	return p
}

// Check finds everything that is wrong with the program, the facade's own findings included, in the order of the user's
// lines. It never stops at the first problem. Problems.Err says whether the job can run.
func Check(g *Graph, opt Options) Problems {
	c := checker{g: g, opt: opt, out: slices.Clone(g.problems), sideTypes: map[sideKey]sideReader{}}
	if p := opt.defaultParallelism(); p < 1 || p > MaxParallelism {
		c.addf("graph.parallelism.default", Position{}, "Write parallelism.default: 4, or --parallelism 4.",
			"the job's default parallelism is %d; it must lie between 1 and %d", p, MaxParallelism)
		c.opt.DefaultParallelism = 1 // so that the same mistake is not reported once an operator
	}
	c.names()
	for _, n := range g.Nodes {
		c.parallelism(n)
		if c.edges(n) {
			c.keyed(n)
		}
	}
	c.cycle()
	c.sinks()
	slices.SortStableFunc(c.out, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Where.File, b.Where.File), cmp.Compare(a.Where.Line, b.Where.Line))
	})
	return c.out
}

type checker struct {
	g         *Graph
	opt       Options
	out       Problems
	sideTypes map[sideKey]sideReader // looked up by key only
}

type sideKey struct {
	node int
	side string
}

// sideReader is who said first what a side output's rows are; node is nil for the operator that declares it.
type sideReader struct {
	node *Node
	typ  string
}

func (c *checker) addf(code string, at Position, fix, what string, args ...any) {
	c.out = append(c.out, Problem{Code: code, Where: at, Fix: fix, What: fmt.Sprintf(what, args...)})
}

// title is the operator as a message names it: its kind and quoted name.
func title(n *Node) string {
	if n.Name == "" {
		return "the " + n.Kind + " operator"
	}
	return fmt.Sprintf("%s %q", n.Kind, n.Name)
}

// names finds state without an identity and identities with two owners.
func (c *checker) names() {
	byName := map[string][]*Node{} // looked up by key only, so its order does not matter
	for _, n := range c.g.Nodes {
		if n.Stateful && n.StateName() == "" {
			c.addf("graph.name.missing", n.Where,
				"Pass a name as the first argument of the call. It must be unique in the job and stay the same in later versions.",
				"%s keeps state but has no name, by which a checkpoint would find that state again", title(n))
		}
		byName[n.Label()] = append(byName[n.Label()], n)
		if n.UID != "" && n.UID != n.Label() {
			byName[n.UID] = append(byName[n.UID], n)
		}
	}
	done := map[string]bool{}
	for _, n := range c.g.Nodes {
		for _, name := range []string{n.Label(), n.UID} {
			if same := byName[name]; name != "" && len(same) > 1 && !done[name] {
				done[name] = true
				c.duplicate(name, same)
			}
		}
	}
}

func (c *checker) duplicate(name string, same []*Node) {
	var list []string
	for _, n := range same {
		list = append(list, fmt.Sprintf("%s at %s", n.Kind, n.Where))
	}
	c.addf("graph.name.duplicate", same[1].Where,
		"Names identify state, metrics and the functions of a plan. Give each operator its own.",
		"%d operators are named %q: %s", len(same), name, strings.Join(list, ", "))
}

func (c *checker) parallelism(n *Node) {
	p := c.opt.Parallelism(n)
	limit := MaxParallelism
	if n.MaxParallelism > 0 {
		limit = min(limit, n.MaxParallelism)
	}
	switch {
	case n.MaxParallelism < 0 || n.MaxParallelism > MaxParallelism:
		c.addf("graph.parallelism.max", n.Where, "Leave it out to have no limit of your own.",
			"%s has maximum parallelism %d; it must lie between 1 and %d", title(n), n.MaxParallelism, MaxParallelism)
	case p < 1 || p > MaxParallelism:
		c.addf("graph.parallelism.range", n.Where, "Write Parallelism(1) or more, or leave it out for the job's default.",
			"%s has parallelism %d; it must lie between 1 and %d", title(n), p, MaxParallelism)
	case p > limit:
		c.addf("graph.parallelism.max", n.Where, fmt.Sprintf("Write Parallelism(%d) or less, or raise MaxParallelism.", limit),
			"%s has parallelism %d, but can run with at most %d", title(n), p, limit)
	case n.Source && n.SourceMaxParallelism > 0 && p > n.SourceMaxParallelism:
		c.addf("graph.parallelism.source", n.Where,
			fmt.Sprintf("Write Parallelism(%d) or less here; operators after it may have a higher one.", n.SourceMaxParallelism),
			"%s has parallelism %d, but its input can be split into %d at most: the other subtasks would never read a row",
			title(n), p, n.SourceMaxParallelism)
	}
}

// edges checks each input by itself, and reports whether they are sound enough for further questions.
func (c *checker) edges(n *Node) bool {
	if n.Source != (len(n.Inputs) == 0) {
		what := "%s has no input and is not a source"
		if n.Source {
			what = "%s is a source and has an input"
		}
		c.addf("graph.input", n.Where, "Connect it with a stream that comes from a source.", what, title(n))
		return false
	}
	gates, sound := map[int]bool{}, true
	for i := range n.Inputs {
		e := &n.Inputs[i]
		from := c.g.Node(e.From)
		if from == nil {
			c.addf("graph.input.unknown", n.Where, "Use only streams of the same Env.",
				"%s reads from an operator that is not part of this job", title(n))
			sound = false
			continue
		}
		gates[e.Input] = true
		c.side(n, from, e)
		c.forward(n, from, e)
	}
	for i := range len(gates) {
		if !gates[i] {
			c.addf("graph.input.gate", n.Where, "", "%s has no stream at input %d", title(n), i)
			return false
		}
	}
	return sound
}

func (c *checker) side(n, from *Node, e *Edge) {
	if e.Side == "" {
		return
	}
	if i := slices.Index(from.SideOutputs, e.Side); i >= 0 || from.OpenSides {
		c.sideType(n, from, e, i)
		return
	}
	fix := "Only functions with a context emit to side outputs; windows and joins emit late rows to the one that SideLate, LateLeft or LateRight names."
	if near := config.Nearest(e.Side, from.SideOutputs); near != "" {
		fix = fmt.Sprintf("Did you mean %q?", near)
	} else if len(from.SideOutputs) > 0 {
		fix = fmt.Sprintf("It has %s.", quoteList(from.SideOutputs))
	}
	c.addf("graph.side.unknown", n.Where, fix, "%s reads side output %q, which %s (%s) does not have", title(n), e.Side, title(from), from.Where)
}

// sideType finds readers of a side output that take its rows for ones of another type, which would fail at the first row.
func (c *checker) sideType(n, from *Node, e *Edge, declared int) {
	key := sideKey{from.ID, e.Side}
	first, seen := c.sideTypes[key]
	if !seen && declared >= 0 && declared < len(from.SideTypes) {
		first = sideReader{typ: from.SideTypes[declared]}
	}
	if first.typ == "" {
		first = sideReader{n, e.Type}
	}
	c.sideTypes[key] = first
	switch {
	case first.typ == e.Type:
	case first.node == nil:
		c.addf("graph.side.type", n.Where, fmt.Sprintf("Read it with the tag that it was declared with: NewTag[%s](%q).", first.typ, e.Side),
			"%s reads side output %q of %s as rows of %s, but they are %s", title(n), e.Side, title(from), e.Type, first.typ)
	default:
		c.addf("graph.side.type", n.Where, "Make one tag and use it everywhere, or give the two side outputs different names.",
			"%s reads side output %q of %s as rows of %s, and %s (%s) as rows of %s", title(n), e.Side, title(from), e.Type,
			title(first.node), first.node.Where, first.typ)
	}
}

func (c *checker) forward(n, from *Node, e *Edge) {
	p, q := c.opt.Parallelism(from), c.opt.Parallelism(n)
	if e.Partition.Kind != Forward || p == q {
		return
	}
	switch {
	case e.Partition.Keys:
		c.addf("graph.forward.keys", n.Where, "Give both the same parallelism, or use KeyBy.",
			"the rows of %s (parallelism %d) are said to lie where %s (parallelism %d) needs them, which is only possible with equal parallelism",
			title(from), p, title(n), q)
	case e.Partition.Explicit:
		c.addf("graph.forward.parallelism", n.Where, "Give both the same parallelism, or write Rebalance() or Rescale() instead of Forward().",
			"Forward() sends subtask i to subtask i, but %s has parallelism %d and %s has %d", title(from), p, title(n), q)
	}
}

// keyed checks an operator that keeps state by key: each gate must deliver every row of a key to one subtask.
func (c *checker) keyed(n *Node) {
	if !n.Keyed {
		return
	}
	any := false
	for _, e := range n.Inputs {
		switch {
		case e.Partition.Kind == Keyed, e.Partition.Kind == Forward && e.Partition.Keys:
			any = true
		case e.Partition.Kind == Broadcast:
		default:
			c.addf("graph.keyed.input", n.Where, "Call KeyBy directly before it. Operators between KeyBy and here lose the key.",
				"%s works by key, but its input from %s arrives by %s", title(n), title(c.g.Node(e.From)), e.Partition.Kind)
			return
		}
	}
	if !any {
		c.addf("graph.keyed.input", n.Where, "Connect the broadcast stream with a keyed one.",
			"%s works by key, but all of its inputs are broadcast", title(n))
	}
}

// cycle reports one cycle, as the path of its operators. The facade cannot make one; a plan that was read from outside can.
func (c *checker) cycle() {
	const (
		unseen = iota
		open
		closed
	)
	phase := make([]int, len(c.g.Nodes))
	var path []*Node
	var visit func(n *Node) bool
	visit = func(n *Node) bool {
		phase[n.ID] = open
		path = append(path, n)
		for _, e := range n.Inputs {
			from := c.g.Node(e.From)
			if from == nil || phase[from.ID] == closed {
				continue
			}
			if phase[from.ID] == open {
				c.reportCycle(path[slices.Index(path, from):])
				return true
			}
			if visit(from) {
				return true
			}
		}
		phase[n.ID] = closed
		path = path[:len(path)-1]
		return false
	}
	for _, n := range c.g.Nodes {
		if phase[n.ID] == unseen && visit(n) {
			return
		}
	}
}

func (c *checker) reportCycle(path []*Node) {
	var names []string
	for _, n := range slices.Backward(path) { // the path runs against the rows
		names = append(names, fmt.Sprintf("%s (%s)", n.Label(), n.Where))
	}
	names = append(names, names[0])
	c.addf("graph.cycle", path[len(path)-1].Where, "A job has no loops. Write the rows to a topic or a table and read them again.",
		"rows would go round: %s", strings.Join(names, " -> "))
}

// sinks finds output that nobody wants. Side outputs that nobody reads are no problem: their rows are counted.
func (c *checker) sinks() {
	if len(c.g.Nodes) == 0 {
		c.addf("graph.empty", Position{}, "Begin with a source: weir.From(env, \"name\", source).", "the job has no operators")
		return
	}
	consumed := make([]bool, len(c.g.Nodes))
	sinks := 0
	for _, n := range c.g.Nodes {
		if n.Sink {
			sinks++
		}
		for _, e := range n.Inputs {
			if from := c.g.Node(e.From); from != nil {
				consumed[from.ID] = true
			}
		}
	}
	var ends []*Node
	for _, n := range c.g.Nodes {
		if !n.Sink && !consumed[n.ID] {
			ends = append(ends, n)
		}
	}
	if sinks == 0 {
		at, names := Position{}, []string(nil)
		for _, n := range ends {
			at = n.Where
			names = append(names, fmt.Sprintf("%s (%s)", title(n), n.Where))
		}
		where := ""
		if len(names) > 0 {
			where = ": nothing reads the rows of " + strings.Join(names, " and ")
		}
		c.addf("graph.sink.none", at, "End at least one stream in a sink: .To(\"out\", print.Sink[Row]()).", "the job has no sink%s", where)
		return
	}
	for _, n := range ends {
		c.out = append(c.out, Problem{Code: "graph.output.unused", Severity: Warning, Where: n.Where,
			What: title(n) + " has an output that nobody reads",
			Fix:  "Its rows are thrown away. Send them to a sink, or remove the operator."})
	}
}

func quoteList(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(quoted, ", ")
}
