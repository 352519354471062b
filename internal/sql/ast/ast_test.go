package ast_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-stream/weir/internal/sql/ast"
)

// ref is a column's name.
func ref(name string) *ast.ColumnRef { return &ast.ColumnRef{Parts: []*ast.Ident{{Name: name}}} }

// TestString has trees that need parentheses, or backticks, that no one wrote.
func TestString(t *testing.T) {
	a, b, c := ref("a"), ref("b"), ref("c")
	for _, x := range []struct {
		node ast.Node
		want string
	}{
		{&ast.Binary{Op: ast.Mul, X: &ast.Binary{Op: ast.Add, X: a, Y: b}, Y: c}, "(a + b) * c"},
		{&ast.Binary{Op: ast.Sub, X: a, Y: &ast.Binary{Op: ast.Sub, X: b, Y: c}}, "a - (b - c)"},
		{&ast.Binary{Op: ast.Sub, X: &ast.Binary{Op: ast.Sub, X: a, Y: b}, Y: c}, "a - b - c"},
		{&ast.Binary{Op: ast.Eq, X: &ast.Binary{Op: ast.Eq, X: a, Y: b}, Y: c}, "(a = b) = c"},
		{&ast.Binary{Op: ast.And, X: &ast.Binary{Op: ast.Or, X: a, Y: b}, Y: &ast.Unary{Op: ast.Not, X: c}}, "(a OR b) AND NOT c"},
		{&ast.Unary{Op: ast.Neg, X: &ast.Unary{Op: ast.Neg, X: a}}, "-(-a)"},
		{&ast.Unary{Op: ast.Neg, X: &ast.Index{X: a, Index: b}}, "-a[b]"},
		{&ast.Index{X: &ast.NumberLit{Text: "-1"}, Index: a}, "(-1)[a]"},
		{&ast.Field{X: a, Name: &ast.Ident{Name: "b"}}, "(a).b"},
		{&ast.Is{X: &ast.Binary{Op: ast.Eq, X: a, Y: b}, Not: true, Test: ast.IsTrue}, "a = b IS NOT TRUE"},
		{&ast.Is{X: &ast.Binary{Op: ast.And, X: a, Y: b}}, "(a AND b) IS NULL"},
		{ref("from"), "`from`"},
		{ref("a`b"), "`a``b`"},
		{ref("ä"), "`ä`"},
		{ref("Mixed_1$"), "Mixed_1$"},
		{&ast.StringLit{Value: "it's\n"}, "'it''s\n'"},
		{&ast.SetOp{Kind: ast.Intersect, Left: table("a"), Right: &ast.SetOp{Left: table("b"), Right: table("c")}},
			"TABLE a INTERSECT (TABLE b UNION TABLE c)"},
		{&ast.SetOp{Kind: ast.Except, Left: &ast.SetOp{All: true, Left: table("a"), Right: table("b")}, Right: table("c")},
			"TABLE a UNION ALL TABLE b EXCEPT TABLE c"},
		{&ast.QueryExpr{Limit: &ast.NumberLit{Text: "1"}, Body: &ast.QueryExpr{Limit: &ast.NumberLit{Text: "2"}, Body: table("a")}},
			"(TABLE a LIMIT 2) LIMIT 1"},
		{&ast.Type{Kind: ast.TypeMap, Length: -1, Scale: -1, Key: &ast.Type{Kind: ast.TypeVarchar, Length: 3, Scale: -1},
			Elem: &ast.Type{Kind: ast.TypeDecimal, Length: 10, Scale: 2, NotNull: true}}, "MAP<VARCHAR(3), DECIMAL(10, 2) NOT NULL>"},
		{&ast.PatternRepeat{Pattern: &ast.PatternConcat{Items: []ast.Pattern{&ast.PatternVar{Name: "a"}, &ast.PatternVar{Name: "b"}}},
			Min: 2, Max: -1, Reluctant: true}, "(a b){2,}?"},
	} {
		if got := ast.String(x.node); got != x.want {
			t.Errorf("%s, expected %s", got, x.want)
		}
	}
}

// table is the query TABLE name.
func table(name string) *ast.ExplicitTable {
	return &ast.ExplicitTable{Name: &ast.ObjectName{Parts: []*ast.Ident{{Name: name}}}}
}

// TestInspect visits the nodes of x + f(y) in the order of the text, without what lies below the call.
func TestInspect(t *testing.T) {
	call := &ast.FuncCall{Name: &ast.ObjectName{Parts: []*ast.Ident{{Name: "f"}}}, Args: []ast.Expr{ref("y")}}
	var seen []string
	ast.Inspect(&ast.Binary{Op: ast.Add, X: ref("x"), Y: call}, func(n ast.Node) bool {
		seen = append(seen, strings.TrimPrefix(fmt.Sprintf("%T", n), "*ast."))
		return n != ast.Node(call)
	})
	if got := strings.Join(seen, " "); got != "Binary ColumnRef Ident FuncCall" {
		t.Errorf("visited %s", got)
	}
}

// TestEqual leaves positions out, and nothing else.
func TestEqual(t *testing.T) {
	at := ref("a")
	at.Line, at.Column = 3, 4
	for _, x := range []struct {
		a, b ast.Node
		want bool
	}{
		{ref("a"), at, true},
		{ref("a"), ref("A"), false},
		{ref("a"), &ast.Star{}, false},
		{&ast.ArrayCtor{Items: []ast.Expr{}}, &ast.ArrayCtor{}, true},
		{&ast.ArrayCtor{Items: []ast.Expr{at}}, &ast.ArrayCtor{}, false},
		{&ast.Case{Else: at}, &ast.Case{}, false},
		{nil, nil, true},
		{nil, at, false},
	} {
		if got := ast.Equal(x.a, x.b); got != x.want {
			t.Errorf("%v and %v: %v", x.a, x.b, got)
		}
	}
}

// TestNearest compares with distances counted by hand.
func TestNearest(t *testing.T) {
	words := []string{"SELECT", "FROM", "WHERE", "HAVING", "GROUP", "ON", "AS", "TABLE", "LIKE"}
	for word, want := range map[string]string{
		"SELEC": "SELECT", "SLECET": "SELECT", "FORM": "FROM", "FRM": "FROM", "WHRE": "WHERE", "WEHRE": "WHERE",
		"HAVNG": "HAVING", "TABEL": "TABLE", "LIK": "LIKE", "X": "", "NOTHING": "", "FARM": "", "SELECT": "",
		strings.Repeat("SELECT", 20): "",
	} {
		if got := ast.Nearest(word, words); got != want {
			t.Errorf("%s is near %q, expected %q", word, got, want)
		}
	}
}
