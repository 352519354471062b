package parser_test

import (
	"github.com/weir-stream/weir/internal/sql/ast"
)

// args draws the arguments of a function.
func (g *grower) args(depth int) []ast.Expr {
	var args []ast.Expr
	for range g.n(3) {
		args = append(args, g.arg(depth))
	}
	return args
}

// arg draws one argument.
func (g *grower) arg(depth int) ast.Expr {
	switch g.n(8) {
	case 0:
		return &ast.NamedArg{Name: grow[*ast.Ident](g, depth), Value: g.argValue(depth)}
	case 1:
		return &ast.Star{Qualifier: grow[[]*ast.Ident](g, depth)}
	}
	return g.argValue(depth)
}

// argValue draws the value of an argument.
func (g *grower) argValue(depth int) ast.Expr {
	switch g.n(8) {
	case 0:
		return &ast.DefaultArg{}
	case 1:
		return grow[*ast.TableArg](g, depth)
	case 2:
		return grow[*ast.ModelArg](g, depth)
	}
	return grow[ast.Expr](g, depth)
}

// mendExpr mends expressions.
func (g *grower) mendExpr(n ast.Expr, depth int) {
	switch n := n.(type) {
	case *ast.NumberLit:
		n.Text = one(g, "0", "12", "1.", ".5", "1.50", "2e3", "1.5E-7", "-3", "-.5", "123456789012345678901234567890")
	case *ast.StringLit:
		n.Charset = one(g, "", "", "", "utf8", "ISO-8859-1")
	case *ast.BinaryLit:
		n.Hex = one(g, "", "00", "0AFF")
	case *ast.IntervalExpr:
		n.Range.To, n.Range.Fraction = ast.UnitNone, -1
	case *ast.Unary:
		if _, number := n.X.(*ast.NumberLit); number {
			n.X = grow[*ast.ColumnRef](g, depth)
		}
	case *ast.In:
		n.List, n.Query = g.listOrQuery(n.List, n.Query)
	case *ast.Quantified:
		n.List, n.Query = g.listOrQuery(n.List, n.Query)
		n.Op = one(g, ast.Eq, ast.NotEq, ast.Less, ast.LessEq, ast.Greater, ast.GreaterEq)
	case *ast.Case:
		if n.Operand == nil {
			for _, w := range n.Whens {
				w.Conds = w.Conds[:1]
			}
		}
	case *ast.Cast:
		n.Type.NotNull = false
	case *ast.TableArg:
		if g.yes() && len(n.PartitionBy) > 0 {
			n.Name, n.Query = nil, grow[ast.Query](g, depth)
		} else {
			n.Query = nil
		}
	case *ast.RowCtor:
		if !n.Explicit {
			n.Items = append(n.Items, grow[ast.Expr](g, 0))
		}
	case *ast.Param:
		n.Index = 0
	case *ast.GroupingSets:
		n.Items = g.groupItems(depth)
	case *ast.FuncCall:
		g.mendCall(n, depth)
	default:
		g.mendCollection(n, depth)
	}
}

// listOrQuery leaves one of the two; a list of one query is a query.
func (g *grower) listOrQuery(list []ast.Expr, q ast.Query) ([]ast.Expr, ast.Query) {
	if q != nil {
		return nil, q
	}
	if _, sub := list[0].(*ast.Subquery); sub && len(list) == 1 {
		list = append(list, &ast.NullLit{})
	}
	return list, nil
}

// mendCollection mends constructors and the JSON functions.
func (g *grower) mendCollection(n ast.Expr, depth int) {
	switch n := n.(type) {
	case *ast.ArrayCtor:
		if n.Query != nil {
			n.Items = nil
		}
	case *ast.MapCtor:
		if n.Query != nil {
			n.Items = nil
		}
	case *ast.MultisetCtor:
		if n.Query != nil {
			n.Items = nil
		}
	case *ast.JSONExists:
		if n.OnError != nil {
			n.OnError.Behavior = one(g, ast.JSONError, ast.JSONTrue, ast.JSONFalse, ast.JSONUnknown)
		}
	case *ast.JSONValue:
		if n.Returning != nil {
			n.Returning.NotNull = false
		}
		if n.OnEmpty != nil && g.yes() {
			n.OnEmpty.Behavior, n.OnEmpty.Default = ast.JSONDefault, grow[ast.Expr](g, depth)
		}
	case *ast.JSONQuery:
		if n.Returning != nil {
			n.Returning.NotNull = false
		}
		if n.OnError != nil && g.yes() {
			n.OnError.Behavior = one(g, ast.JSONEmptyArray, ast.JSONEmptyObject)
		}
	case *ast.JSONArray:
		if len(n.Items) == 0 {
			n.Nulls = ast.JSONNullsUnspecified
		}
	}
}

// mendCall makes a call of one of the kinds that there are.
func (g *grower) mendCall(n *ast.FuncCall, depth int) {
	name := func(s string) *ast.ObjectName { return &ast.ObjectName{Parts: []*ast.Ident{{Name: s}}} }
	x := func() ast.Expr { return grow[ast.Expr](g, depth) }
	unit := ast.TimeUnit(g.n(19) + 1)
	u := &ast.UnitArg{Unit: unit, Name: unit.String()}
	special := map[string][]ast.Expr{
		"EXTRACT": {u, x()}, "FLOOR": {x(), u}, "CEIL": {x()}, "TIMESTAMPADD": {u, x(), x()},
		"TIMESTAMPDIFF": {u, x(), x()}, "POSITION": {x(), x(), x()}, "OVERLAY": {x(), x(), x()}, "SUBSTRING": {x(), x()},
	}
	switch kind := g.n(4); kind {
	case 0:
		word := one(g, "EXTRACT", "FLOOR", "CEIL", "TIMESTAMPADD", "TIMESTAMPDIFF", "POSITION", "OVERLAY", "SUBSTRING")
		*n = ast.FuncCall{Name: name(word), Args: special[word]}
		return
	case 1:
		word := one(g, "CURRENT_DATE", "CURRENT_TIMESTAMP", "LOCALTIME", "CURRENT_USER")
		*n = ast.FuncCall{Name: name(word), NoParens: true}
		return
	}
	n.NoParens = false
	n.Args = g.args(depth)
	if len(n.Args) == 0 {
		n.Distinct = false
		if g.yes() {
			n.Args = []ast.Expr{&ast.Star{}}
		}
	}
	if len(n.OrderBy) > 0 {
		n.Name = name("ARRAY_AGG")
		if len(n.Args) == 0 || len(n.Args) == 1 && isStar(n.Args[0]) {
			n.Args = []ast.Expr{x()}
		}
		// Behind a table as the last argument an ORDER BY is the table's.
		n.Args = append(n.Args, &ast.NullLit{})
	}
}

// isStar reports whether an argument is * alone.
func isStar(e ast.Expr) bool {
	s, ok := e.(*ast.Star)
	return ok && len(s.Qualifier) == 0
}
