package parser_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weir-stream/weir/bench/nexmark"
	"github.com/weir-stream/weir/internal/sql/ast"
	"github.com/weir-stream/weir/internal/sql/parser"
)

var rewrite = flag.Bool("rewrite", false, "write what the parser gives into the golden files")

// golden runs f over the blocks of a golden file: a text, a line "=>", and what f must give for it. Blocks end with a
// line "----".
func golden(t *testing.T, path string, atLeast int, f func(t *testing.T, text string) string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	n := 0
	for _, block := range strings.Split(string(data), "\n----\n") {
		text, want, ok := strings.Cut(block, "\n=>\n")
		if !ok {
			continue
		}
		n++
		got := f(t, text)
		if got != want && !*rewrite {
			t.Errorf("%s\n gives %s\n  want %s", text, got, want)
		}
		fmt.Fprintf(&out, "%s\n=>\n%s\n----\n", text, got)
	}
	if n < atLeast {
		t.Errorf("%d blocks, expected %d at least", n, atLeast)
	}
	if *rewrite {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// roundTrip parses a text and returns its canonical text, having checked that this parses to an equal tree and that
// nothing in the tree lies outside of the text.
func roundTrip(t *testing.T, text string) string {
	t.Helper()
	s, err := parser.Parse(text)
	if err != nil {
		return "error: " + err.Error()
	}
	canonical := ast.String(s)
	again, err := parser.Parse(canonical)
	if err != nil {
		t.Errorf("%s\n is printed as %s\n which does not parse: %v", text, canonical, err)
	} else if !ast.Equal(s, again) {
		t.Errorf("%s\n is printed as %s\n which is another tree: %s", text, canonical, ast.String(again))
	}
	ast.Inspect(s, func(n ast.Node) bool {
		if p := n.Position(); p.Line < 1 || p.Column < 1 || int(p.Offset) > len(text) {
			t.Errorf("%s: %T stands at %+v", text, n, p)
		}
		return true
	})
	return canonical
}

// TestAccepted compares canonical texts. Flink 2.3's own parser accepts every text of the file, and reads its canonical
// text as the same tree, but for what package ast says falls together.
func TestAccepted(t *testing.T) { golden(t, "testdata/accepted.txt", 600, roundTrip) }

// TestWider has texts that Flink 2.3's parser refuses and this one takes.
func TestWider(t *testing.T) { golden(t, "testdata/wider.txt", 10, roundTrip) }

// message returns what a user sees of a text that is no statement.
func message(t *testing.T, text string) string {
	t.Helper()
	for _, p := range parser.ParseScript(text) {
		if p.Err != nil {
			return p.Err.Error()
		}
	}
	return "no error"
}

// TestRefused compares messages. Flink 2.3's own parser refuses every text of the file too.
func TestRefused(t *testing.T) { golden(t, "testdata/refused.txt", 400, message) }

// TestMisspelt has mistakes that people make, and what they are told.
func TestMisspelt(t *testing.T) { golden(t, "testdata/misspelt.txt", 30, message) }

// TestNarrower has texts that Flink 2.3's parser takes and this one refuses. Most of them Flink refuses later.
func TestNarrower(t *testing.T) { golden(t, "testdata/narrower.txt", 20, message) }

// TestQueries parses the benchmark's queries, and prints and parses each again.
func TestQueries(t *testing.T) {
	inserts := 0
	for _, p := range parser.ParseScript(nexmark.Script("'connector' = 'source'")) {
		if p.Err != nil {
			t.Error(p.Err)
			continue
		}
		roundTrip(t, p.Text)
		if _, ok := p.Statement.(*ast.Insert); ok {
			inserts++
		}
	}
	if inserts != nexmark.Queries {
		t.Errorf("%d INSERTs, expected one for each of the 24 queries", inserts)
	}
}
