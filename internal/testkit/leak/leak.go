package leak

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

const (
	// module marks the stacks that count.
	module = "github.com/weir-stream/weir"
	// patience is how long goroutines may take to end.
	patience = 5 * time.Second
)

// Main runs the tests of a package and exits with their status, or with 1 if they pass and leave goroutines behind.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if left := await(nil, patience); len(left) > 0 {
			fmt.Fprintf(os.Stderr, "FAIL: the tests leave %d goroutines behind:\n\n%s\n", len(left), describe(left))
			code = 1
		}
	}
	os.Exit(code)
}

// Check fails t if goroutines that were started from now on are still there when it ends. Do not use it in tests that
// run in parallel with others.
func Check(t testing.TB) {
	t.Helper()
	before := map[string]bool{}
	for _, g := range goroutines() {
		before[g.id] = true
	}
	t.Cleanup(func() {
		if left := await(before, patience); len(left) > 0 {
			t.Errorf("the test leaves %d goroutines behind:\n\n%s", len(left), describe(left))
		}
	})
}

// await waits until no goroutine is left but those in before, and returns what is left when patience is over.
func await(before map[string]bool, patience time.Duration) []goroutine {
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		var left []goroutine
		for _, g := range goroutines() {
			if !before[g.id] && g.counts() {
				left = append(left, g)
			}
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

// goroutine is one stack as the runtime prints it.
type goroutine struct{ id, stack string }

// goroutines lists all but the calling one.
func goroutines() []goroutine {
	buf := make([]byte, 1<<20)
	n := runtime.Stack(buf, true)
	for n == len(buf) {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	var out []goroutine
	for i, text := range strings.Split(strings.TrimSpace(string(buf[:n])), "\n\n") {
		if i == 0 {
			continue // the caller's stack comes first
		}
		head, _, _ := strings.Cut(text, " [")
		out = append(out, goroutine{id: head, stack: text})
	}
	return out
}

// counts says whether a goroutine is one of this module's. A test's own goroutine, which waits for subtests or parallel
// ones, is not.
func (g goroutine) counts() bool {
	if !strings.Contains(g.stack, module) {
		return false
	}
	return !strings.Contains(g.stack, "testing.tRunner(") && !strings.Contains(g.stack, "testing.(*T).Run(") &&
		!strings.Contains(g.stack, "testing.(*M).Run(") && !strings.Contains(g.stack, "created by testing.")
}

// describe prints stacks, and behind them the profile of goroutines that can never go on.
func describe(left []goroutine) string {
	var b strings.Builder
	for _, g := range left {
		fmt.Fprintf(&b, "%s\n\n", g.stack)
	}
	if p := pprof.Lookup("goroutineleak"); p != nil {
		var stuck bytes.Buffer
		if err := p.WriteTo(&stuck, 1); err == nil && strings.Contains(stuck.String(), module) {
			fmt.Fprintf(&b, "Of these can never go on:\n%s", stuck.String())
		}
	}
	return b.String()
}
