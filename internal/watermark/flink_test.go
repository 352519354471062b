package watermark

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
)

// The merger sends what Flink's valve sends, step by step, as long as no input ends. (Of an ended input beside idle ones
// Flink forwards the final watermark; testdata/merger/end has what is right here.)
func TestMergerAsFlink(t *testing.T) {
	f, err := os.Open("testdata/flink_2.3.0_valve.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var m *Merger
	steps := 0
	lines := bufio.NewScanner(f)
	for number := 1; lines.Scan(); number++ {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var n int
		if _, err := fmt.Sscanf(lines.Text(), "new %d", &n); err == nil {
			m = NewMerger(n, None)
			continue
		}
		step, want, _ := strings.Cut(lines.Text(), " ->")
		var in int
		var at int64
		var c Change
		if _, err := fmt.Sscanf(step, "watermark %d %d", &in, &at); err == nil {
			c = m.Watermark(in, at)
		} else if _, err := fmt.Sscanf(step, "idle %d", &in); err == nil {
			c = m.Idle(in)
		} else if _, err := fmt.Sscanf(step, "active %d", &in); err == nil {
			c = m.Active(in)
		} else {
			t.Fatalf("line %d: %s", number, lines.Text())
		}
		got := ""
		if c != (Change{}) {
			got = " " + strings.ReplaceAll(c.text(), ",", "")
		}
		if got != want {
			t.Fatalf("line %d: %s gives%s, Flink%s", number, step, got, want)
		}
		steps++
	}
	if steps != 2400 {
		t.Errorf("%d steps, want 2400", steps)
	}
}
