package parser_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/sql/ast"
	"github.com/weir-stream/weir/internal/sql/parser"
)

// TestScript parses three statements of which one is wrong: the others are what they would be alone, and the error says
// where in the script it is.
func TestScript(t *testing.T) {
	got := parser.ParseScript("SELECT a FROM t; -- first\n\nSELECT a FRM t;;\n  INSERT INTO x SELECT 'a;b'")
	if len(got) != 3 {
		t.Fatalf("%d statements, not 3", len(got))
	}
	if got[0].Err != nil || ast.String(got[0].Statement) != "SELECT a FROM t" || got[0].Text != "SELECT a FROM t" {
		t.Errorf("the first is %+v", got[0])
	}
	err := got[1].Err
	if err == nil || got[1].Statement != nil || err.Line != 3 || err.Column != 14 || err.Suggestion != "FROM" {
		t.Errorf("the second is %+v", got[1])
	}
	if got[2].Err != nil || ast.String(got[2].Statement) != "INSERT INTO x SELECT 'a;b'" || got[2].Line != 4 || got[2].Column != 3 {
		t.Errorf("the third is %+v", got[2])
	}
}

// TestLimits: what nests too deep or is too long is refused, whatever it is made of, and what is within bounds is not.
func TestLimits(t *testing.T) {
	nested := func(open, in, end string, n int) string {
		return strings.Repeat(open, n) + in + strings.Repeat(end, n)
	}
	for name, text := range map[string]string{
		"parentheses": "SELECT " + nested("(", "a", ")", 10_000),
		"minus":       "SELECT " + nested("- ", "a", "", 10_000),
		"not":         "SELECT " + nested("NOT ", "a", "", 10_000),
		"calls":       "SELECT " + nested("f(", "a", ")", 10_000),
		"arrays":      "SELECT " + nested("ARRAY[", "a", "]", 10_000),
		"cases":       "SELECT " + nested("CASE WHEN a THEN ", "a", " END", 10_000),
		"like":        "SELECT " + nested("a LIKE ", "a", "", 10_000),
		"queries":     nested("(", "SELECT 1", ")", 10_000),
		"tables":      "SELECT * FROM " + nested("(", "a JOIN b", ")", 10_000),
		"subqueries":  nested("SELECT * FROM (", "SELECT 1", ")", 10_000),
		"types":       "SELECT CAST(a AS " + nested("ARRAY<", "INT", ">", 10_000) + ")",
		"patterns":    "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (" + nested("(", "a", ")", 10_000) + ") DEFINE a AS TRUE)",
		"sets":        "SELECT a FROM t GROUP BY " + nested("ROLLUP (", "a", ")", 10_000),
		"explains":    nested("EXECUTE ", "SELECT 1", "", 10_000),
		"sum":         "SELECT a" + strings.Repeat(" + a", 100_001),
		"unions":      "SELECT 1" + strings.Repeat(" UNION SELECT 1", 100_001),
		"joins":       "SELECT * FROM a" + strings.Repeat(" JOIN b", 100_001),
		"indexes":     "SELECT a" + strings.Repeat("[1]", 100_001),
	} {
		if _, err := parser.Parse(text); err == nil {
			t.Errorf("%s are taken", name)
		} else if errs.ClassOf(err) != errs.ClassUser || errs.CodeOf(err) != parser.CodeSyntax || len(err.Error()) > 1000 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"parentheses": "SELECT " + nested("(", "a", ")", 100),
		"sum":         "SELECT a" + strings.Repeat(" + a", 50_000),
		"list":        "SELECT a IN (1" + strings.Repeat(", 1", 200_000) + ")",
	} {
		s, err := parser.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if again, err := parser.Parse(ast.String(s)); err != nil || !ast.Equal(s, again) {
			t.Errorf("%s are not what they were printed as: %v", name, err)
		}
	}
}

// TestComplete: what a shell may run, and what needs more lines.
func TestComplete(t *testing.T) {
	for text, want := range map[string]bool{
		"":               true,
		" -- nothing\n":  true,
		"SELECT 1":       false,
		"SELECT 1;":      true,
		"SELECT 1; -- x": true,
		"SELECT ';":      false,
		"SELECT ';'":     false,
		"SELECT ';';":    true,
		"SELECT 1; SEL":  false,
		"SELECT `;":      false,
		"SELECT 1 /* ;":  false,
		"EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1;":      false,
		"EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; END":  false,
		"EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; END;": true,
		"BEGIN STATEMENT SET;": true,
	} {
		if got := parser.Complete(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestPositions finds nodes where they stand in the text: by line and column, of which each character counts once.
func TestPositions(t *testing.T) {
	text := "SELECT 'ä😀', f(b) +\n\tc.d\nFROM t AS x JOIN u ON ? = ?"
	s, err := parser.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"'ä😀'": "1:8", "f(b)": "1:14", "b": "1:16", "c.d": "2:2", "t AS x": "3:6", "u": "3:18", "? = ?": "3:23",
		"f(b) + c.d": "1:14",
	}
	params := 0
	ast.Inspect(s, func(n ast.Node) bool {
		p := n.Position()
		text := ast.String(n)
		if place, ok := want[text]; ok && place != fmt.Sprintf("%d:%d", p.Line, p.Column) {
			t.Errorf("%s stands at %v, expected %s", text, p, place)
		}
		if q, ok := n.(*ast.Param); ok {
			if q.Index != params {
				t.Errorf("parameter %d is counted as %d", params, q.Index)
			}
			params++
		}
		return true
	})
	if params != 2 {
		t.Errorf("%d parameters", params)
	}
}

// TestParts parses the smaller parts, and refuses more than one of them.
func TestParts(t *testing.T) {
	if x, err := parser.ParseExpr(" a + 1 -- x"); err != nil || ast.String(x) != "a + 1" {
		t.Error(x, err)
	}
	if x, err := parser.ParseType("ROW<a INT NOT NULL> NOT NULL"); err != nil || ast.String(x) != "ROW<a INT NOT NULL> NOT NULL" {
		t.Error(x, err)
	}
	if x, err := parser.ParseQuery("TABLE a UNION SELECT 1;"); err != nil || ast.String(x) != "TABLE a UNION SELECT 1" {
		t.Error(x, err)
	}
	for _, text := range []string{"", ";", "SELECT 1; SELECT 2", "SELECT 1 2", "-- x"} {
		if s, err := parser.Parse(text); err == nil {
			t.Errorf("%q is %s", text, ast.String(s))
		}
	}
	for _, text := range []string{"", "a b", "a; b", "SELECT 1"} {
		if x, err := parser.ParseExpr(text); err == nil {
			t.Errorf("%q is %s", text, ast.String(x))
		}
	}
}

// TestWords: what the parser asks for as a keyword is one, else it would never be found.
func TestWords(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	asked := regexp.MustCompile(`(?:accept|acceptAll|need|needAll|is)\("([A-Z][A-Z_ ]*)"\)|kw [!=]= "([A-Z_]+)"`)
	n := 0
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range asked.FindAllStringSubmatch(string(src), -1) {
			for _, w := range strings.Fields(m[1] + " " + m[2]) {
				n++
				if !parser.Keyword(w) {
					t.Errorf("%s: %s is no keyword", f, w)
				}
			}
		}
	}
	if n < 300 {
		t.Errorf("found only %d words", n)
	}
}
