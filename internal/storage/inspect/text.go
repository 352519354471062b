package inspect

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

// positionsMost bounds the splits that the text lists one by one.
const positionsMost = 50

// Text writes the description for people.
func (r *Snapshot) Text(w io.Writer) error {
	b := &strings.Builder{}
	name := r.Job
	if name == "" {
		name = r.JobID
	}
	fmt.Fprintf(b, "%s %d of job %s\n", r.Purpose, r.Epoch, name)
	t := table(b)
	t.row("  at", r.Path)
	if r.ObjectsAt != "" {
		t.row("  its objects at", r.ObjectsAt)
	}
	if r.Created != nil {
		t.row("  written", r.Created.Format("2006-01-02 15:04:05.000 UTC"))
	}
	t.row("  job id, term", fmt.Sprintf("%s, %d", r.JobID, r.Term))
	t.row("  plan", r.Plan)
	total := fmt.Sprintf("%s in %d objects (%s before compression), %s entries, manifest %s", size(r.Bytes), r.Objects, size(r.RawBytes), count(r.Entries), size(r.Manifest))
	t.row("  total", total)
	if r.Reused > 0 {
		t.row("  of earlier checkpoints", fmt.Sprintf("%s in %d objects", size(r.ReusedSize), r.Reused))
	}
	t.end()
	for _, p := range r.Problems {
		fmt.Fprintf(b, "\nPROBLEM: %s\n", p)
	}
	for i := range r.Operators {
		b.WriteByte('\n')
		r.Operators[i].text(b, r.Read)
	}
	if !r.Read && r.Problems == nil {
		b.WriteString("\nEntries of each state and the spread over key groups: --full reads everything.\n")
	}
	return write(w, b)
}

var trailing = regexp.MustCompile(` +\n`)

// write writes the lines without the blanks that tables leave at their ends.
func write(w io.Writer, b *strings.Builder) error {
	_, err := io.WriteString(w, trailing.ReplaceAllString(b.String(), "\n"))
	return err
}

func (o *Operator) text(b *strings.Builder, read bool) {
	fmt.Fprintf(b, "operator %q, parallelism %d", o.Name, o.Parallelism)
	if len(o.Finished) > 0 {
		fmt.Fprintf(b, ", finished: %s", numbers(o.Finished))
	}
	b.WriteByte('\n')
	t := table(b)
	if o.Objects > 0 {
		what := fmt.Sprintf("%s in %d objects", size(o.Bytes), o.Objects)
		if o.Deltas > 0 {
			what += fmt.Sprintf(", %d of them changes", o.Deltas)
		}
		t.row("  size", what)
	}
	if o.Watermark != "" {
		what := o.Watermark
		if o.Highest != o.Watermark {
			what += " to " + o.Highest
		}
		t.row("  watermark", what)
	}
	if o.Keys != "" {
		t.row("  keys", o.Keys)
	}
	if o.Rows > 0 {
		t.row("  rows in flight", size(o.Rows))
	}
	for _, bl := range o.Blobs {
		t.row("  blob "+bl.Name, fmt.Sprintf("%d, %s", bl.Count, size(bl.Bytes)))
	}
	t.end()
	o.states(b, read)
	o.subtasks(b)
	o.positions(b)
}

func (o *Operator) states(b *strings.Builder, read bool) {
	if len(o.States) == 0 {
		return
	}
	t := table(b)
	head := []string{"  STATE", "KIND", "HOLDS"}
	if read {
		head = []string{"  STATE", "KIND", "ENTRIES", "BYTES", "HOLDS"}
	}
	t.row(head...)
	for _, s := range o.States {
		what := s.Holds
		if s.Width > 0 {
			what += fmt.Sprintf(", %d bytes", s.Width)
		}
		if s.Namespace != "" {
			what += ", " + s.Namespace
		}
		entries := count(s.Entries)
		if s.Removals > 0 {
			entries += fmt.Sprintf(" (-%s)", count(s.Removals))
		}
		if read {
			t.row("  "+s.Name, s.Kind, entries, size(s.RawBytes), what)
		} else {
			t.row("  "+s.Name, s.Kind, what)
		}
	}
	t.end()
	if o.Spread != nil {
		sum := int64(0)
		for _, n := range o.Spread {
			sum += n
		}
		if sum > 0 {
			most := slices.Max(o.Spread)
			fmt.Fprintf(b, "  spread over key groups  |%s|  the fullest 1/%d holds %.1f %%, %.2f times its share\n", bars(o.Spread), len(o.Spread),
				100*float64(most)/float64(sum), float64(most)*float64(len(o.Spread))/float64(sum))
		}
	}
}

func (o *Operator) subtasks(b *strings.Builder) {
	if len(o.Subtasks) < 2 {
		return
	}
	byEntries := func(x, y Subtask) int { return int(min(max(x.Entries-y.Entries, -1), 1)) }
	least, most := slices.MinFunc(o.Subtasks, byEntries), slices.MaxFunc(o.Subtasks, byEntries)
	fmt.Fprintf(b, "  entries of a subtask  %s (subtask %d) to %s (subtask %d)\n", count(least.Entries), least.Subtask, count(most.Entries), most.Subtask)
}

func (o *Operator) positions(b *strings.Builder) {
	if len(o.Positions) == 0 {
		return
	}
	t := table(b)
	t.row("  SPLIT", "SUBTASK", "POSITION")
	for _, p := range o.Positions[:min(len(o.Positions), positionsMost)] {
		at := p.Data
		if p.Done {
			at = strings.TrimSpace(at + " (read to its end)")
		}
		t.row("  "+p.Split, fmt.Sprint(p.Subtask), at)
	}
	t.end()
	if n := len(o.Positions) - positionsMost; n > 0 {
		fmt.Fprintf(b, "  and %d more; --json lists all\n", n)
	}
}

func numbers(all []int) string {
	out := make([]string, len(all))
	for i, n := range all {
		out[i] = fmt.Sprint(n)
	}
	return strings.Join(out, ", ")
}

// columns writes rows whose columns have one width.
type columns struct{ w *tabwriter.Writer }

func table(b *strings.Builder) columns { return columns{tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)} }

func (c columns) row(cells ...string) { fmt.Fprintln(c.w, strings.Join(cells, "\t")) }

func (c columns) end() { c.w.Flush() }
