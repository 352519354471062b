package inspect

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/snapshot"
)

// keys describes the keys of an operator.
func keys(o *snapshot.Operator) string {
	what := "keys of unknown type"
	if o.KeySchema != nil {
		if s, rest, err := codec.ParseSchema(o.KeySchema); err == nil && len(rest) == 0 {
			what = s.String()
		}
	}
	if o.KeyWidth > 0 {
		return fmt.Sprintf("%s, %d bytes", what, o.KeyWidth)
	}
	return what
}

// holds describes what a state holds, and its namespaces.
func holds(s *snapshot.State) (what, space string) {
	if s.NamespaceWidth != 0 {
		space = "namespaces of varying length"
		if s.NamespaceWidth > 0 {
			space = fmt.Sprintf("namespaces of %d bytes", s.NamespaceWidth)
		}
	}
	t, err := codec.ParseTable(s.Schema)
	if err != nil {
		if v, rest, err := codec.ParseSchema(s.Schema); err == nil && len(rest) == 0 {
			return v.String(), space
		}
		switch {
		case s.Kind == snapshot.KindEventTimers || s.Kind == snapshot.KindProcessingTimer:
			return "timers", space
		case len(s.Schema) == 0:
			return "bytes", space
		}
		return fmt.Sprintf("a schema of %d bytes that this program does not know", len(s.Schema)), space
	}
	switch {
	case t.Value != nil && t.Entry != nil:
		what = t.Entry.String() + " -> " + t.Value.String()
	case t.Value != nil:
		what = t.Value.String()
	case t.Entry != nil:
		what = t.Entry.String() + " -> engine's bytes"
	case t.Layout != "":
		what = "engine's bytes"
	default:
		what = "bytes"
	}
	if t.Layout != "" {
		what += " in layout " + t.Layout
	}
	if t.Namespace != "" {
		space = "by " + t.Namespace
	}
	return what, space
}

// watermarks returns the lowest and the highest event time of the subtasks that had not finished, "" if there is none.
func watermarks(o *snapshot.Operator) (lowest, highest string) {
	lo, hi, any := int64(math.MaxInt64), int64(math.MinInt64), false
	for i, w := range o.Watermarks {
		if !slices.Contains(o.Finished, i) {
			lo, hi, any = min(lo, w), max(hi, w), true
		}
	}
	if !any || hi == math.MinInt64 {
		return "", ""
	}
	return instant(lo), instant(hi)
}

// instant is an event time in words.
func instant(ms int64) string {
	switch ms {
	case math.MinInt64:
		return "none yet"
	case math.MaxInt64:
		return "end of time"
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

const readableMost = 240

// readable shows bytes as text if they are some, else in hexadecimal digits.
func readable(b []byte) string {
	cut := ""
	if len(b) > readableMost {
		b, cut = b[:readableMost], "..."
	}
	text := string(b)
	if utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return text + cut
	}
	return fmt.Sprintf("%x%s", b, cut)
}

// size is a number of bytes for people.
func size(n int64) string {
	f, unit := float64(n), 0
	for f >= 1000 && unit < 4 {
		f /= 1000
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %cB", f, "kMGT"[unit-1])
}

// count is a number with its thousands apart.
func count(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// bars draws figures as a line of bars.
func bars(of []int64) string {
	most := slices.Max(of)
	if most == 0 {
		return ""
	}
	var b strings.Builder
	for _, n := range of {
		b.WriteRune([]rune(" ▁▂▃▄▅▆▇█")[(n*8+most-1)/most])
	}
	return b.String()
}
