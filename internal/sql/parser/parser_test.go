package parser_test

import (
	"testing"

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
