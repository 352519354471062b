package cli

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/weir-stream/weir/internal/app"
)

// terminal shows a table of the operators at the end of a terminal. Those of a chain that follow its head are indented.
type terminal struct {
	screen *screen
	size   func() (columns, rows int) // 0 if unknown
	past   []app.Snapshot             // of the last recent, oldest first
}

// recent is the time over which rates and bars are taken: shorter, they jump; longer, they are history.
const recent = 3 * time.Second

func (t *terminal) show(s app.Snapshot) {
	width, height := t.size()
	if width <= 0 {
		width = 100
	}
	var first app.Snapshot // at the end: the whole job
	if len(t.past) > 0 && s.Phase == "running" {
		first = t.past[0]
	}
	lines := []string{fit(fmt.Sprintf("%s  %s  %s%s", s.Job, s.Phase, clockText(s.Duration), saved(s)), width-1)}
	lines = append(lines, table(s, first, width-1)...)
	if more := len(lines) - (height - 2); height > 4 && more > 0 {
		lines = append(lines[:len(lines)-more], fmt.Sprintf("... and %d more", more))
	}
	t.screen.draw(lines)
	t.past = append(t.past, s)
	for len(t.past) > 1 && s.Duration-t.past[1].Duration >= recent {
		t.past = t.past[1:]
	}
}

func (t *terminal) done() { t.screen.keep() }

// Columns of the table in the order in which they are left out of one that is too wide for the terminal.
const (
	colBar = iota
	colIn
	colWatermark
	colRate
	colOut
	columns
)

// table renders the operators. first is the snapshot since which rates and bars are shown; its figures are missing if it is
// none.
func table(s, first app.Snapshot, width int) []string {
	head := [columns]string{colIn: "rows in", colOut: "rows out", colRate: "rows/s", colWatermark: "watermark", colBar: "busy#  backpressured!"}
	cells := make([][columns]string, len(s.Operators))
	var wide [columns]int
	note := func(row *[columns]string) {
		for c, text := range row {
			wide[c] = max(wide[c], len(text))
		}
	}
	note(&head)
	names := make([]string, len(s.Operators))
	longest := len("operator")
	seconds := (s.Duration - first.Duration).Seconds()
	for i := range s.Operators {
		f, before := &s.Operators[i], app.Figures{}
		if len(first.Operators) == len(s.Operators) {
			before = first.Operators[i]
		}
		rate := 0.0
		if seconds > 0 {
			rate = float64(max(0, moved(f)-moved(&before))) / seconds // counts begin anew with a restart
		}
		cells[i] = [columns]string{colIn: group(f.RowsIn), colOut: group(f.RowsOut), colRate: short(rate), colWatermark: watermark(f.Watermark), colBar: bar(f, &before)}
		note(&cells[i])
		if names[i] = plainText(f.Name); !f.Head {
			names[i] = "  " + names[i]
		}
		longest = max(longest, cellsOf(names[i]))
	}
	// The name gives way first, then columns go.
	var drop [columns]bool
	left := func() int {
		w := width
		for c := range wide {
			if !drop[c] {
				w -= wide[c] + 2
			}
		}
		return w
	}
	for c := 0; c < columns && left() < min(longest, 20); c++ {
		drop[c] = true
	}
	name := max(1, min(longest, left(), 48))
	row := func(label string, r [columns]string) string {
		var b strings.Builder
		b.WriteString(fit(label, name) + strings.Repeat(" ", max(0, name-cellsOf(label))))
		for _, c := range []int{colIn, colOut, colRate, colWatermark, colBar} {
			switch {
			case drop[c]:
			case c == colWatermark || c == colBar:
				fmt.Fprintf(&b, "  %-*s", wide[c], r[c])
			default:
				fmt.Fprintf(&b, "  %*s", wide[c], r[c])
			}
		}
		return strings.TrimRight(fit(b.String(), width), " ")
	}
	lines := []string{row("operator", head)}
	for i, r := range cells {
		lines = append(lines, row(names[i], r))
	}
	return lines
}

// bar draws the share of time at work and backpressured of a task's head, since the figures before.
func bar(f, before *app.Figures) string {
	busy, back := f.Busy-before.Busy, f.Backpressured-before.Backpressured
	total := busy + back + f.Idle - before.Idle
	if !f.Head || total <= 0 {
		return ""
	}
	const width = 20
	b := int((busy*width + total/2) / total)
	p := min(int((back*width+total/2)/total), width-b)
	return "[" + strings.Repeat("#", b) + strings.Repeat("!", p) + strings.Repeat(".", width-b-p) + "]"
}

// plainText replaces what would move the cursor.
func plainText(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// cellsOf is how many columns of a terminal a text takes.
func cellsOf(s string) (n int) {
	for _, r := range s {
		n += cellsOfRune(r)
	}
	return n
}

// wideRunes are the blocks whose characters take two columns, roughly: Hangul, CJK, full-width forms, pictures.
var wideRunes = [...][2]rune{{0x1100, 0x115F}, {0x2E80, 0xA4CF}, {0xAC00, 0xD7A3}, {0xF900, 0xFAFF}, {0xFE30, 0xFE6F}, {0xFF00, 0xFF60},
	{0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}}

func cellsOfRune(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	for _, w := range wideRunes {
		if r >= w[0] && r <= w[1] {
			return 2
		}
	}
	return 1
}

// fit cuts a text to a number of columns.
func fit(s string, n int) string {
	if cellsOf(s) <= n {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if n -= cellsOfRune(r); n < 1 {
			break
		}
		b.WriteRune(r)
	}
	return b.String() + "~"
}
