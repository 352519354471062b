package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// contextLines is how much is shown before the first line that differs.
const contextLines = 3

// Check fails t if got is not what testdata/name holds. It shows the first line that differs.
func Check(t testing.TB, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", filepath.FromSlash(name))
	if os.Getenv("WEIR_GOLDEN") == "write" {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v\nWEIR_GOLDEN=write go test writes it; read it before you commit it", err)
	}
	if d := Diff(string(want), got); d != "" {
		t.Errorf("%s differs (WEIR_GOLDEN=write go test writes it anew):\n%s", file, d)
	}
}

// Diff describes the first difference of two texts, with some lines before it; "" if there is none.
func Diff(want, got string) string {
	if want == got {
		return ""
	}
	w, g := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	at := 0
	for at < len(w) && at < len(g) && w[at] == g[at] {
		at++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "line %d:\n", at+1)
	for i := max(0, at-contextLines); i < at; i++ {
		fmt.Fprintf(&b, "  %q\n", w[i])
	}
	line := func(mark string, lines []string) {
		if at < len(lines) {
			fmt.Fprintf(&b, "%s %q\n", mark, lines[at])
		} else {
			fmt.Fprintf(&b, "%s (the text ends)\n", mark)
		}
	}
	line("-", w)
	line("+", g)
	return b.String()
}
