package parser_test

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weir-stream/weir/bench/nexmark"
	"github.com/weir-stream/weir/internal/sql/ast"
	"github.com/weir-stream/weir/internal/sql/parser"
)

// seeds adds the texts of the golden files and of the queries to a fuzzer's corpus.
func seeds(f *testing.F) {
	f.Helper()
	for _, path := range []string{"accepted", "wider", "refused", "narrower"} {
		data, err := os.ReadFile("testdata/" + path + ".txt")
		if err != nil {
			f.Fatal(err)
		}
		for _, block := range strings.Split(string(data), "\n----\n") {
			text, _, _ := strings.Cut(block, "\n=>\n")
			f.Add(text)
		}
	}
	for _, p := range parser.ParseScript(nexmark.Script("'connector' = 'source'")) {
		f.Add(p.Text)
	}
}

// FuzzParse: any text gives statements or errors that can be shown, and what parses is printed as what it is.
func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for _, p := range parser.ParseScript(text) {
			if int(p.Offset) < end || !strings.HasPrefix(text[p.Offset:], p.Text) {
				t.Fatalf("a statement at %+v is not %q", p.Pos, p.Text)
			}
			end = int(p.Offset) + len(p.Text)
			if p.Err != nil {
				if p.Statement != nil || !utf8.ValidString(p.Err.Error()) || p.Err.Line < 1 || int(p.Err.Offset) > len(text) {
					t.Fatalf("the error %+v", p.Err)
				}
				continue
			}
			canonical := ast.String(p.Statement)
			again, err := parser.Parse(canonical)
			if err != nil {
				t.Fatalf("%q is printed as %q: %v", p.Text, canonical, err)
			}
			if !ast.Equal(p.Statement, again) {
				t.Fatalf("%q is printed as %q, which is another tree: %q", p.Text, canonical, ast.String(again))
			}
		}
		parser.Complete(text)
	})
}

// FuzzParts: the texts of the smaller parts give what they hold or an error.
func FuzzParts(f *testing.F) {
	for _, s := range []string{"a + 1", "ROW<a INT NOT NULL 'x'> NOT NULL", "SELECT 1", "a; b", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if x, err := parser.ParseExpr(text); err == nil {
			if y, err := parser.ParseExpr(ast.String(x)); err != nil || !ast.Equal(x, y) {
				t.Errorf("the expression %q is printed as %q: %v", text, ast.String(x), err)
			}
		}
		if x, err := parser.ParseType(text); err == nil {
			if y, err := parser.ParseType(ast.String(x)); err != nil || !ast.Equal(x, y) {
				t.Errorf("the type %q is printed as %q: %v", text, ast.String(x), err)
			}
		}
		if x, err := parser.ParseQuery(text); err == nil {
			if y, err := parser.ParseQuery(ast.String(x)); err != nil || !ast.Equal(x, y) {
				t.Errorf("the query %q is printed as %q: %v", text, ast.String(x), err)
			}
		}
	})
}
