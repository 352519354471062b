package logical

import (
	"strconv"
	"strings"

	"github.com/weir-stream/weir/internal/sql/ast"
	"github.com/weir-stream/weir/internal/sql/datatype"
	"github.com/weir-stream/weir/internal/sql/expr"
	"github.com/weir-stream/weir/internal/sql/functions"
)

// binder binds the expressions of one place.
type exprBinder struct {
	b     *Binder
	scope *scope
	// special, if not nil, is asked first for each node: it returns nil for those that are bound as usual.
	special func(n ast.Expr) (expr.Expr, error)
}

// expr binds an expression of one value.
func (x *exprBinder) expr(n ast.Expr) (expr.Expr, error) {
	if x.special != nil {
		if e, err := x.special(n); e != nil || err != nil {
			return e, err
		}
	}
	switch n := n.(type) {
	case *ast.ColumnRef:
		return x.column(n)
	case *ast.NullLit:
		return literal(nil, datatype.Of(datatype.Null)), nil
	case *ast.BoolLit:
		return literal(n.Value, datatype.Of(datatype.Boolean)), nil
	case *ast.UnknownLit:
		return literal(nil, datatype.Of(datatype.Boolean)), nil
	case *ast.NumberLit:
		return number(n)
	case *ast.StringLit:
		return text(n), nil
	case *ast.BinaryLit:
		return binary(n)
	case *ast.DateTimeLit:
		return dateTime(n)
	case *ast.IntervalLit:
		return interval(n)
	case *ast.Unary:
		return x.unary(n)
	case *ast.Binary:
		return x.binary(n)
	case *ast.Is:
		return x.is(n)
	case *ast.Between:
		return x.between(n)
	case *ast.In:
		return x.in(n)
	case *ast.Case:
		return x.caseOf(n)
	case *ast.Cast:
		return x.cast(n)
	case *ast.FuncCall:
		return x.function(n)
	}
	return x.more(n)
}

// column looks a name up. CURRENT_DATE and its like are names for the parser only where they have no parentheses.
func (x *exprBinder) column(n *ast.ColumnRef) (expr.Expr, error) { return x.scope.find(n) }

// apply calls a function of the registry.
func (x *exprBinder) apply(at ast.Node, name string, options map[string]string, args ...expr.Expr) (expr.Expr, error) {
	f := functions.Scalars.Find(name)
	if f == nil {
		return nil, unknown(at, "function", name, functions.Scalars.Names())
	}
	e, err := f.Apply(args, options)
	return e, located(at, err)
}

func (x *exprBinder) all(nodes []ast.Expr) ([]expr.Expr, error) {
	out := make([]expr.Expr, len(nodes))
	for i, n := range nodes {
		var err error
		if out[i], err = x.expr(n); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (x *exprBinder) two(a, b ast.Expr) (expr.Expr, expr.Expr, error) {
	ea, err := x.expr(a)
	if err != nil {
		return nil, nil, err
	}
	eb, err := x.expr(b)
	return ea, eb, err
}

func (x *exprBinder) unary(n *ast.Unary) (expr.Expr, error) {
	e, err := x.expr(n.X)
	if err != nil {
		return nil, err
	}
	switch n.Op {
	case ast.Not:
		return x.apply(n, "NOT", nil, e)
	case ast.Neg:
		return x.apply(n, "NEGATE", nil, e)
	case ast.Plus:
		return e, nil
	}
	return nil, wrong(n, "FINAL and RUNNING belong into MATCH_RECOGNIZE")
}

func (x *exprBinder) binary(n *ast.Binary) (expr.Expr, error) {
	a, b, err := x.two(n.X, n.Y)
	if err != nil {
		return nil, err
	}
	if n.Op == ast.And || n.Op == ast.Or { // one call of many arguments
		var args []expr.Expr
		if c, ok := a.(*expr.Call); ok && c.Fn.Name == n.Op.String() {
			args = append(append([]expr.Expr(nil), c.Args...), b)
		} else {
			args = []expr.Expr{a, b}
		}
		return x.apply(n, n.Op.String(), nil, args...)
	}
	return x.apply(n, n.Op.String(), nil, a, b)
}

func (x *exprBinder) is(n *ast.Is) (expr.Expr, error) {
	e, err := x.expr(n.X)
	if err != nil {
		return nil, err
	}
	word := map[ast.IsTest]string{ast.IsNull: "NULL", ast.IsTrue: "TRUE", ast.IsFalse: "FALSE", ast.IsUnknown: "UNKNOWN", ast.IsJSONValue: "JSON VALUE",
		ast.IsJSONObject: "JSON OBJECT", ast.IsJSONArray: "JSON ARRAY", ast.IsJSONScalar: "JSON SCALAR"}[n.Test]
	if word == "" {
		return nil, wrong(n, "this test of a multiset is not supported")
	}
	if n.Not {
		word = "NOT " + word
	}
	return x.apply(n, "IS "+word, nil, e)
}

func (x *exprBinder) between(n *ast.Between) (expr.Expr, error) {
	e, err := x.expr(n.X)
	if err != nil {
		return nil, err
	}
	low, high, err := x.two(n.Low, n.High)
	if err != nil {
		return nil, err
	}
	within := func(low, high expr.Expr) (expr.Expr, error) {
		a, err := x.apply(n, ">=", nil, e, low)
		if err != nil {
			return nil, err
		}
		b, err := x.apply(n, "<=", nil, e, high)
		if err != nil {
			return nil, err
		}
		return x.apply(n, "AND", nil, a, b)
	}
	out, err := within(low, high)
	if err == nil && n.Symmetric {
		var turned expr.Expr
		if turned, err = within(high, low); err == nil {
			out, err = x.apply(n, "OR", nil, out, turned)
		}
	}
	if err != nil || !n.Not {
		return out, err
	}
	return x.apply(n, "NOT", nil, out)
}

// in is a chain of comparisons; subqueries are not bound here.
func (x *exprBinder) in(n *ast.In) (expr.Expr, error) {
	if n.Query != nil {
		return nil, wrong(n, "IN (SELECT ...) is only supported as a condition of WHERE, joined by AND with others")
	}
	e, err := x.expr(n.X)
	if err != nil {
		return nil, err
	}
	var any []expr.Expr
	for _, l := range n.List {
		item, err := x.expr(l)
		if err != nil {
			return nil, err
		}
		eq, err := x.apply(l, "=", nil, e, item)
		if err != nil {
			return nil, err
		}
		any = append(any, eq)
	}
	out := any[0]
	if len(any) > 1 {
		if out, err = x.apply(n, "OR", nil, any...); err != nil {
			return nil, err
		}
	}
	if n.Not {
		return x.apply(n, "NOT", nil, out)
	}
	return out, nil
}

func (x *exprBinder) caseOf(n *ast.Case) (expr.Expr, error) {
	out := &expr.Case{Else: literal(nil, datatype.Of(datatype.Null))}
	for _, w := range n.Whens {
		then, err := x.expr(w.Result)
		if err != nil {
			return nil, err
		}
		for _, c := range w.Conds {
			cond, err := x.condition(n, c)
			if err != nil {
				return nil, err
			}
			out.When, out.Then = append(out.When, cond), append(out.Then, then)
		}
	}
	if n.Else != nil {
		var err error
		if out.Else, err = x.expr(n.Else); err != nil {
			return nil, err
		}
	}
	return unify(n, out)
}

// condition is that of a WHEN, which with an operand is a value to compare with.
func (x *exprBinder) condition(n *ast.Case, c ast.Expr) (expr.Expr, error) {
	if n.Operand == nil {
		e, err := x.expr(c)
		if err == nil && !e.Type().Is(datatype.Boolean, datatype.Null) {
			err = wrong(c, "the condition has type %v instead of BOOLEAN", e.Type())
		}
		return e, err
	}
	a, b, err := x.two(n.Operand, c)
	if err != nil {
		return nil, err
	}
	return x.apply(c, "=", nil, a, b)
}

// unify gives the branches of a CASE one type.
func unify(at ast.Node, c *expr.Case) (expr.Expr, error) {
	of := c.Else.Type()
	for _, t := range c.Then {
		var ok bool
		if of, ok = datatype.Common(of, t.Type()); !ok {
			return nil, wrong(at, "the branches of CASE have no common type: %v and %v", c.Else.Type(), t.Type())
		}
	}
	c.Of = of
	for i, t := range c.Then {
		c.Then[i] = Convert(t, of)
	}
	c.Else = Convert(c.Else, of)
	return c, nil
}

// Convert casts e to type of unless it has that already, but for nullability.
func Convert(e expr.Expr, of datatype.Type) expr.Expr {
	if e.Type().Same(of) {
		return e
	}
	if l, ok := e.(*expr.Literal); ok && l.Value == nil {
		return literal(nil, of)
	}
	return &expr.Cast{Arg: e, Of: of.WithNull(e.Type().Nullable), Implicit: true}
}

func (x *exprBinder) cast(n *ast.Cast) (expr.Expr, error) {
	e, err := x.expr(n.X)
	if err != nil {
		return nil, err
	}
	of, err := TypeOf(n.Type)
	if err != nil {
		return nil, err
	}
	if l, ok := e.(*expr.Literal); ok && l.Value == nil {
		return literal(nil, of), nil
	}
	return &expr.Cast{Arg: e, Of: of.WithNull(e.Type().Nullable || n.Try), Try: n.Try}, nil
}

// function binds a call of a scalar function; aggregates and OVER are taken by special where they may stand.
func (x *exprBinder) function(n *ast.FuncCall) (expr.Expr, error) {
	name := strings.ToUpper(n.Name.Last())
	f := functions.Scalars.Find(name)
	switch {
	case f == nil && functions.FindAggregate(name) != nil:
		return nil, wrong(n, "the aggregate function %s cannot stand here", name)
	case f == nil:
		return nil, unknown(n, "function", name, functions.Scalars.Names())
	case n.Distinct || n.Over != nil || n.Filter != nil:
		return nil, wrong(n, "%s is no aggregate function, so it has no DISTINCT, FILTER or OVER", name)
	}
	var args []expr.Expr
	options := map[string]string{}
	for i, a := range n.Args {
		if u, ok := a.(*ast.UnitArg); ok {
			options["unit"] = u.Unit.String()
			options["unit.at"] = strconv.Itoa(i)
			continue
		}
		e, err := x.expr(a)
		if err != nil {
			return nil, err
		}
		args = append(args, e)
	}
	e, err := f.Apply(args, options)
	return e, located(n, err)
}

// more binds what is rare.
func (x *exprBinder) more(n ast.Expr) (expr.Expr, error) {
	switch n := n.(type) {
	case *ast.Field:
		e, err := x.expr(n.X)
		if err != nil {
			return nil, err
		}
		return fieldOf(n.Name, e, n.Name.Name)
	case *ast.Index:
		a, b, err := x.two(n.X, n.Index)
		if err != nil {
			return nil, err
		}
		return x.apply(n, "ITEM", nil, a, b)
	case *ast.RowCtor:
		args, err := x.all(n.Items)
		if err != nil {
			return nil, err
		}
		return x.apply(n, "ROW", nil, args...)
	case *ast.ArrayCtor:
		args, err := x.all(n.Items)
		if err != nil {
			return nil, err
		}
		return x.apply(n, "ARRAY", nil, args...)
	case *ast.MapCtor:
		args, err := x.all(n.Items)
		if err != nil {
			return nil, err
		}
		return x.apply(n, "MAP", nil, args...)
	case *ast.Like:
		return x.like(n)
	case *ast.Trim:
		args, err := x.trimArgs(n)
		if err != nil {
			return nil, err
		}
		return x.apply(n, "TRIM", map[string]string{"side": map[ast.TrimSide]string{ast.TrimBoth: "BOTH", ast.TrimLeading: "LEADING", ast.TrimTrailing: "TRAILING"}[n.Side]}, args...)
	}
	return nil, wrong(n, "this expression is not supported here")
}

func (x *exprBinder) trimArgs(n *ast.Trim) ([]expr.Expr, error) {
	if n.Chars == nil {
		e, err := x.expr(n.X)
		return []expr.Expr{e, literal(" ", datatype.Sized(datatype.Char, 1))}, err
	}
	return x.all([]ast.Expr{n.X, n.Chars})
}

func (x *exprBinder) like(n *ast.Like) (expr.Expr, error) {
	nodes := []ast.Expr{n.X, n.Pattern}
	if n.Escape != nil {
		nodes = append(nodes, n.Escape)
	}
	args, err := x.all(nodes)
	if err != nil {
		return nil, err
	}
	name := map[ast.LikeKind]string{ast.LikeOp: "LIKE", ast.ILikeOp: "ILIKE", ast.RLikeOp: "RLIKE", ast.SimilarTo: "SIMILAR TO"}[n.Kind]
	e, err := x.apply(n, name, nil, args...)
	if err != nil || !n.Not {
		return e, err
	}
	return x.apply(n, "NOT", nil, e)
}
