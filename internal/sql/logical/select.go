package logical

import (
	"strconv"
	"strings"

	"github.com/weir-stream/weir/internal/sql/ast"
	"github.com/weir-stream/weir/internal/sql/datatype"
	"github.com/weir-stream/weir/internal/sql/expr"
	"github.com/weir-stream/weir/internal/sql/functions"
)

// selector binds one SELECT.
type selector struct {
	b     *Binder
	q     *ast.Select
	in    Node
	plain *exprBinder // over the columns of FROM
	group *grouping   // nil without GROUP BY and aggregates
	x     *exprBinder // what the SELECT list is bound by
}

// selectOf binds a SELECT. With an ORDER BY, whose expressions may name what the SELECT list does not have, it returns how to sort.
func (b *Binder) selectOf(q *ast.Select, orderBy []*ast.OrderItem) (Node, *sorting, error) {
	s := &selector{b: b, q: q, in: Node(&Values{Rows: [][]expr.Expr{{}}}), plain: &exprBinder{b: b, scope: &scope{}}}
	if q.From != nil {
		n, sc, err := b.from(q.From)
		if err != nil {
			return nil, nil, err
		}
		s.in, s.plain.scope = n, sc
	}
	if q.Where != nil {
		if err := s.where(q.Where); err != nil {
			return nil, nil, err
		}
	}
	s.x = s.plain
	if err := s.groupBy(orderBy); err != nil {
		return nil, nil, err
	}
	return s.project(orderBy)
}

func (s *selector) where(n ast.Expr) error {
	e, err := s.plain.expr(n)
	if err != nil {
		return err
	}
	if !e.Type().Is(datatype.Boolean, datatype.Null) {
		return wrong(n, "the condition of WHERE has type %v instead of BOOLEAN", e.Type())
	}
	s.in = &Filter{In: s.in, Condition: e}
	return nil
}

// grouping collects keys and aggregates.
type grouping struct {
	s     *selector
	agg   *Aggregate
	keys  map[string]int // by identity
	calls map[string]int
}

// groupBy decides whether the SELECT groups, and if so binds the keys; aggregates are collected while the rest is bound.
func (s *selector) groupBy(orderBy []*ast.OrderItem) error {
	if s.q.GroupBy == nil && !s.aggregates(orderBy) {
		if s.q.Having != nil {
			return wrong(s.q.Having, "HAVING without GROUP BY and without an aggregate")
		}
		return nil
	}
	g := &grouping{s: s, agg: &Aggregate{In: s.in}, keys: map[string]int{}, calls: map[string]int{}}
	s.group = g
	if s.q.GroupBy != nil {
		if err := g.bindKeys(s.q.GroupBy); err != nil {
			return err
		}
	}
	s.x = &exprBinder{b: s.b, scope: s.plain.scope, special: g.special}
	return nil
}

// aggregates reports whether an aggregate function stands in the SELECT list, HAVING or ORDER BY.
func (s *selector) aggregates(orderBy []*ast.OrderItem) bool {
	found := false
	look := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncCall:
				if n.Over == nil && functions.FindAggregate(n.Name.Last()) != nil {
					found = true
				}
			case ast.Query:
				return false
			}
			return !found
		})
	}
	for _, it := range s.q.Items {
		look(it)
	}
	if s.q.Having != nil {
		look(s.q.Having)
	}
	for _, o := range orderBy {
		look(o)
	}
	return found
}

func (g *grouping) bindKeys(by *ast.GroupBy) error {
	for _, n := range by.Items {
		switch n := n.(type) {
		case *ast.GroupingSets:
			return wrong(n, "GROUPING SETS, CUBE and ROLLUP are not supported yet")
		case *ast.RowCtor:
			if !n.Explicit {
				for _, item := range n.Items {
					if err := g.key(item); err != nil {
						return err
					}
				}
				continue
			}
		}
		if err := g.key(n); err != nil {
			return err
		}
	}
	return nil
}

func (g *grouping) key(n ast.Expr) error {
	e, err := g.s.plain.expr(n)
	if err != nil {
		return err
	}
	id := identity(e)
	if _, ok := g.keys[id]; !ok {
		g.keys[id] = len(g.agg.Keys)
		g.agg.Keys = append(g.agg.Keys, e)
	}
	return nil
}

// special takes keys and aggregates for what they are; any other column is a mistake.
func (g *grouping) special(n ast.Expr) (expr.Expr, error) {
	if f, ok := n.(*ast.FuncCall); ok && f.Over == nil && functions.FindAggregate(f.Name.Last()) != nil {
		return g.call(f)
	}
	if !hasAggregate(n) {
		e, err := g.s.plain.expr(n)
		if err != nil {
			return nil, err
		}
		if i, ok := g.keys[identity(e)]; ok {
			return &keyRef{expr.Column{Index: i, Name: e.String(), Of: e.Type()}}, nil
		}
		if ref, ok := n.(*ast.ColumnRef); ok {
			return nil, wrong(n, "the column %s is neither in GROUP BY nor inside an aggregate function", ref.Parts[len(ref.Parts)-1].Name)
		}
	}
	return nil, nil
}

// keyRef and callRef stand for columns of the aggregate until it is known how many keys it has.
type (
	keyRef  struct{ expr.Column }
	callRef struct{ expr.Column }
)

func hasAggregate(n ast.Expr) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncCall); ok && f.Over == nil && functions.FindAggregate(f.Name.Last()) != nil {
			found = true
		}
		return !found
	})
	return found
}

func (g *grouping) call(f *ast.FuncCall) (expr.Expr, error) {
	c, err := g.s.aggregateCall(f, len(g.agg.Keys) > 0)
	if err != nil {
		return nil, err
	}
	id := callIdentity(c)
	i, ok := g.calls[id]
	if !ok {
		i = len(g.agg.Calls)
		g.calls[id] = i
		g.agg.Calls = append(g.agg.Calls, c)
	}
	return &callRef{expr.Column{Index: i, Name: strings.ToUpper(f.Name.Last()) + "(...)", Of: c.Of}}, nil
}

func callIdentity(c Call) string {
	id := c.Name + ":" + strconv.FormatBool(c.Distinct) + strconv.FormatBool(c.IgnoreNulls)
	for _, a := range c.Args {
		id += "," + identity(a)
	}
	if c.Filter != nil {
		id += "|" + identity(c.Filter)
	}
	return id
}

// aggregateCall binds the call of an aggregate function over the columns of FROM.
func (s *selector) aggregateCall(f *ast.FuncCall, grouped bool) (Call, error) {
	name := strings.ToUpper(f.Name.Last())
	c := Call{Name: name, Distinct: f.Distinct, IgnoreNulls: f.Nulls == ast.IgnoreNulls}
	if len(f.Args) == 1 {
		if _, ok := f.Args[0].(*ast.Star); ok && name == "COUNT" {
			f = &ast.FuncCall{Pos: f.Pos, Name: f.Name, Filter: f.Filter}
		}
	}
	var err error
	if c.Args, err = s.plain.all(f.Args); err != nil {
		return c, err
	}
	if f.Filter != nil {
		if c.Filter, err = s.plain.expr(f.Filter); err != nil {
			return c, err
		}
	}
	of, want, err := functions.FindAggregate(name).Resolve(c.Args, grouped && c.Filter == nil)
	if err != nil {
		return c, located(f, err)
	}
	for i := range want {
		if want[i].Root != 0 {
			c.Args[i] = Convert(c.Args[i], want[i])
		}
	}
	c.Of = of
	return c, nil
}

// item is a column of the SELECT list.
type item struct {
	e    expr.Expr
	name string
}

func (s *selector) project(orderBy []*ast.OrderItem) (Node, *sorting, error) {
	items, err := s.items()
	if err != nil {
		return nil, nil, err
	}
	var having expr.Expr
	if s.q.Having != nil {
		if having, err = s.x.expr(s.q.Having); err != nil {
			return nil, nil, err
		}
	}
	srt, items, err := s.order(items, orderBy)
	if err != nil {
		return nil, nil, err
	}
	n := s.in
	if s.group != nil {
		n = s.group.finish()
		having = s.group.resolve(having)
		for i := range items {
			items[i].e = s.group.resolve(items[i].e)
		}
	}
	if having != nil {
		n = &Filter{In: n, Condition: having}
	}
	p := &Project{In: n}
	for _, it := range items {
		c := Column{Name: it.name, Type: it.e.Type()}
		if col, ok := it.e.(*expr.Column); ok {
			c.Time = n.Columns()[col.Index].Time
		}
		p.Exprs, p.Cols = append(p.Exprs, it.e), append(p.Cols, c)
	}
	if !s.q.Distinct {
		return p, srt, nil
	}
	if srt != nil && srt.keep < len(items) {
		return nil, nil, wrong(orderBy[0], "SELECT DISTINCT is ordered by what it does not select")
	}
	return &Aggregate{In: p, Keys: columnsOf(p.Cols), Cols: p.Cols}, srt, nil
}

// items binds the SELECT list.
func (s *selector) items() ([]item, error) {
	var out []item
	for _, it := range s.q.Items {
		if star, ok := it.Expr.(*ast.Star); ok {
			cols, err := s.star(star)
			if err != nil {
				return nil, err
			}
			out = append(out, cols...)
			continue
		}
		e, err := s.x.expr(it.Expr)
		if err != nil {
			return nil, err
		}
		name := "EXPR$" + strconv.Itoa(len(out))
		switch n := it.Expr.(type) {
		case *ast.ColumnRef:
			name = n.Parts[len(n.Parts)-1].Name
		case *ast.Field:
			name = n.Name.Name
		}
		if it.Alias != nil {
			name = it.Alias.Name
		}
		out = append(out, item{e: e, name: name})
	}
	return out, nil
}

// star is all columns, or those of a table, or the fields of a row.
func (s *selector) star(n *ast.Star) ([]item, error) {
	var out []item
	sc := s.plain.scope
	for i, c := range sc.cols {
		if len(n.Qualifier) > 0 && c.table != n.Qualifier[len(n.Qualifier)-1].Name || len(n.Qualifier) == 0 && c.hidden {
			continue
		}
		e, err := s.columnOrKey(n, sc.column(i))
		if err != nil {
			return nil, err
		}
		out = append(out, item{e: e, name: c.col.Name})
	}
	if out == nil && len(n.Qualifier) > 0 {
		e, err := s.x.expr(&ast.ColumnRef{Pos: n.Pos, Parts: n.Qualifier})
		if err != nil {
			return nil, err
		}
		for _, f := range e.Type().Names {
			fe, err := fieldOf(n, e, f)
			if err != nil {
				return nil, err
			}
			out = append(out, item{e: fe, name: f})
		}
	}
	if out == nil {
		return nil, wrong(n, "there is nothing that * could stand for")
	}
	return out, nil
}

func (s *selector) columnOrKey(at ast.Node, e expr.Expr) (expr.Expr, error) {
	if s.group == nil {
		return e, nil
	}
	if i, ok := s.group.keys[identity(e)]; ok {
		return &keyRef{expr.Column{Index: i, Name: e.String(), Of: e.Type()}}, nil
	}
	return nil, wrong(at, "the column %v is neither in GROUP BY nor inside an aggregate function", e)
}

// order binds ORDER BY: by alias or position of the SELECT list, or by an expression, which is then computed as a further column.
func (s *selector) order(items []item, orderBy []*ast.OrderItem) (*sorting, []item, error) {
	if len(orderBy) == 0 {
		return nil, items, nil
	}
	out := &sorting{keep: len(items)}
	at := func(i int) expr.Expr { return &expr.Column{Index: i, Name: items[i].name, Of: items[i].e.Type()} }
	for _, o := range orderBy {
		i := -1
		if l, ok := o.Expr.(*ast.NumberLit); ok {
			n, err := strconv.Atoi(l.Text)
			if err != nil || n < 1 || n > out.keep {
				return nil, nil, wrong(o.Expr, "ORDER BY %s: the query has %d columns", l.Text, out.keep)
			}
			i = n - 1
		} else if ref, ok := o.Expr.(*ast.ColumnRef); ok && len(ref.Parts) == 1 {
			for k := range items[:out.keep] {
				if items[k].name == ref.Parts[0].Name {
					i = k
					break
				}
			}
		}
		if i < 0 {
			e, err := s.x.expr(o.Expr)
			if err != nil {
				return nil, nil, err
			}
			i = len(items)
			for k, it := range items {
				if identity(it.e) == identity(e) {
					i = k
					break
				}
			}
			if i == len(items) {
				items = append(items, item{e: e, name: "ORDER$" + strconv.Itoa(i)})
			}
		}
		out.order = append(out.order, orderOf(o, at(i)))
	}
	return out, items, nil
}

// finish gives the aggregate its columns.
func (g *grouping) finish() Node {
	cols := g.s.in.Columns()
	for i, k := range g.agg.Keys {
		c := Column{Name: "key" + strconv.Itoa(i), Type: k.Type()}
		if col, ok := k.(*expr.Column); ok {
			c = cols[col.Index]
		}
		g.agg.Cols = append(g.agg.Cols, c)
	}
	for i, c := range g.agg.Calls {
		g.agg.Cols = append(g.agg.Cols, Column{Name: c.Name + "$" + strconv.Itoa(i), Type: c.Of})
	}
	return g.agg
}

// resolve turns references to keys and calls into columns of the finished aggregate.
func (g *grouping) resolve(e expr.Expr) expr.Expr {
	if e == nil {
		return nil
	}
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		switch r := e.(type) {
		case *keyRef:
			c := r.Column
			return &c
		case *callRef:
			c := r.Column
			c.Index += len(g.agg.Keys)
			return &c
		}
		return e
	})
}
