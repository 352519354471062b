package golden_test

import (
	"os"
	"testing"

	"github.com/weir-stream/weir/internal/testkit/golden"
)

func TestDiff(t *testing.T) {
	for _, c := range []struct{ name, want, got, diff string }{
		{"equal", "a\nb\n", "a\nb\n", ""},
		{"a line", "a\nb\nc\n", "a\nx\nc\n", "line 2:\n  \"a\\n\"\n- \"b\\n\"\n+ \"x\\n\"\n"},
		{"only the last newline", "a\n", "a", "line 1:\n- \"a\\n\"\n+ \"a\"\n"},
		{"the end missing", "a\nb\nc\nd\ne", "a\nb\nc\nd\n", "line 5:\n  \"b\\n\"\n  \"c\\n\"\n  \"d\\n\"\n- \"e\"\n+ \"\"\n"},
	} {
		if got := golden.Diff(c.want, c.got); got != c.diff {
			t.Errorf("%s: got %q, want %q", c.name, got, c.diff)
		}
	}
}

func TestCheckWritesAndReads(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("WEIR_GOLDEN", "write")
	golden.Check(t, "plans/a", "text\n")
	if b, err := os.ReadFile("testdata/plans/a"); err != nil || string(b) != "text\n" {
		t.Fatalf("%q, %v", b, err)
	}
	t.Setenv("WEIR_GOLDEN", "")
	golden.Check(t, "plans/a", "text\n")
}
