package restore

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// String is the plan as a table: a line for each state with operator, state, verdict, size and reasons.
func (p *Plan) String() string {
	rows := [][]string{{"OPERATOR", "STATE", "VERDICT", "ENTRIES", "SIZE", "REASON"}}
	for i := range p.Lines {
		l := &p.Lines[i]
		state := l.State
		if l.Kind != "" {
			state += " (" + string(l.Kind) + ")"
		}
		row := []string{l.Operator, state, string(l.Verdict), "", "", ""}
		if l.Entries > 0 {
			row[3] = fmt.Sprint(l.Entries)
		}
		if l.Bytes > 0 {
			row[4] = size(l.Bytes)
		}
		if len(l.Reasons) > 0 {
			row[5] = l.Reasons[0]
		}
		rows = append(rows, row)
		for _, more := range l.Reasons[min(1, len(l.Reasons)):] {
			rows = append(rows, []string{"", "", "", "", "", more})
		}
	}
	var b strings.Builder
	program := "the same program"
	if p.Changed {
		program = "a changed program"
	}
	fmt.Fprintf(&b, "%s %d, restored by %s:\n", p.Purpose, p.Epoch, program)
	align(&b, rows)
	b.WriteString(p.sum())
	return b.String()
}

// align writes rows with columns of one width, the last one as long as it is.
func align(b *strings.Builder, rows [][]string) {
	var widths [5]int
	for _, r := range rows {
		for i := range widths {
			widths[i] = max(widths[i], utf8.RuneCountInString(r[i]))
		}
	}
	for _, r := range rows {
		var line strings.Builder
		for i, w := range widths {
			pad := strings.Repeat(" ", w-utf8.RuneCountInString(r[i]))
			if i == 3 || i == 4 { // numbers stand on the right
				line.WriteString(pad + r[i] + "  ")
			} else {
				line.WriteString(r[i] + pad + "  ")
			}
		}
		line.WriteString(r[len(widths)])
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
}

// sum says how often each verdict was given.
func (p *Plan) sum() string {
	var parts []string
	for _, v := range []Verdict{Reuse, Migrate, Keep, New, Drop, Refuse} {
		n := 0
		for i := range p.Lines {
			if p.Lines[i].Verdict == v {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	if parts == nil {
		return "no state\n"
	}
	return strings.Join(parts, ", ") + "\n"
}

func size(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f := float64(n)
	for i, u := range units {
		if f < 1024 || i == len(units)-1 {
			if i == 0 {
				return fmt.Sprintf("%d B", n)
			}
			return fmt.Sprintf("%.1f %s", f, u)
		}
		f /= 1024
	}
	return ""
}
