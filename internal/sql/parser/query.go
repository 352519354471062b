package parser

import "github.com/weir-stream/weir/internal/sql/ast"

// startsQuery reports whether a query begins at the current token, not counting one in parentheses.
func (p *parser) startsQuery() bool {
	switch p.tok().kw {
	case "SELECT", "VALUES", "WITH":
		return true
	case "TABLE":
		return nameToken(p.peek(1))
	}
	return false
}

// continuesQuery reports whether the current token goes on with a query that stood in parentheses.
func (p *parser) continuesQuery() bool {
	switch p.tok().kw {
	case "UNION", "EXCEPT", "INTERSECT", "MINUS", "ORDER", "LIMIT", "OFFSET", "FETCH":
		return true
	}
	return false
}

// query takes a query with WITH, ORDER BY and limits.
func (p *parser) query() ast.Query {
	pos := p.pos()
	if !p.enter() {
		p.leave()
		return &ast.Values{Pos: pos}
	}
	var with []*ast.CTE
	if p.accept("WITH") {
		if p.tok().kw == "RECURSIVE" {
			p.refuse(p.i, "WITH RECURSIVE is not supported, by Flink neither")
		}
		with = commaList(p, p.cte)
	}
	q := p.setOps(p.queryTerm(), 1)
	q = p.ordered(pos, with, q)
	p.leave()
	return q
}

// queryTail goes on with a query that stood in parentheses: set operations, ORDER BY, limits.
func (p *parser) queryTail(q ast.Query) ast.Query {
	return p.ordered(q.Position(), nil, p.setOps(q, 1))
}

// cte takes one query of WITH.
func (p *parser) cte() *ast.CTE {
	c := &ast.CTE{Pos: p.pos(), Name: p.ident()}
	if p.is("(") {
		c.Columns = p.idents()
	}
	p.need("AS")
	p.need("(")
	c.Query = p.query()
	p.need(")")
	return c
}

// queryTerm takes one operand of set operations.
func (p *parser) queryTerm() ast.Query {
	pos := p.pos()
	switch p.tok().kw {
	case "SELECT":
		return p.selectBlock()
	case "VALUES":
		p.skip(1)
		return &ast.Values{Pos: pos, Rows: commaList(p, p.valuesRow)}
	case "TABLE":
		p.skip(1)
		return &ast.ExplicitTable{Pos: pos, Name: p.objectName()}
	case "(":
		p.skip(1)
		q := p.query()
		p.need(")")
		return q
	}
	p.expect(aQuery)
	for _, w := range [...]string{"SELECT", "VALUES", "TABLE", "("} {
		p.expect(w)
	}
	p.unexpected()
	return &ast.Values{Pos: pos}
}

// setOps goes on with set operations of at least a level behind a query: UNION and EXCEPT are 1, INTERSECT is 2.
func (p *parser) setOps(left ast.Query, level int) ast.Query {
	for {
		kind, own := ast.Union, 1
		switch p.tok().kw {
		case "UNION":
		case "EXCEPT":
			kind = ast.Except
		case "INTERSECT":
			kind, own = ast.Intersect, 2
		case "MINUS":
			p.refuse(p.i, "there is no MINUS; write EXCEPT")
			return left
		default:
			p.expect("UNION")
			p.expect("EXCEPT")
			p.expect("INTERSECT")
			return left
		}
		if own < level {
			return left
		}
		p.skip(1)
		p.link()
		op := &ast.SetOp{Pos: left.Position(), Kind: kind, Left: left}
		op.All = p.accept("ALL")
		if !op.All {
			p.accept("DISTINCT")
		}
		op.Right = p.setOps(p.queryTerm(), own+1)
		left = op
	}
}

// ordered takes ORDER BY and limits behind a query, and wraps it if there are any, or a WITH.
func (p *parser) ordered(pos ast.Pos, with []*ast.CTE, body ast.Query) ast.Query {
	q := &ast.QueryExpr{Pos: pos, With: with, Body: body}
	if p.accept("ORDER") {
		q.OrderBy = p.orderItems()
	}
	p.limits(q)
	if q.With == nil && q.OrderBy == nil && q.Offset == nil && q.Limit == nil {
		return body
	}
	// Parentheses around what says nothing of the same clauses are no more than that.
	inner, ok := body.(*ast.QueryExpr)
	if !ok || inner.OrderBy != nil || inner.Limit != nil || inner.Offset != nil || q.With != nil {
		return q
	}
	q.With, q.Body = inner.With, inner.Body
	return q
}

// limits takes LIMIT, OFFSET and FETCH.
func (p *parser) limits(q *ast.QueryExpr) {
	limited := p.accept("LIMIT")
	if limited && !p.accept("ALL") {
		q.Limit = p.count()
		if p.tok().kw == "," {
			p.refuse(p.i, "there is no LIMIT start, count; write LIMIT count OFFSET start")
		}
	}
	if p.accept("OFFSET") {
		q.Offset = p.count()
		_ = p.accept("ROWS") || p.accept("ROW")
		if p.tok().kw == "LIMIT" {
			p.refuse(p.i, "LIMIT stands before OFFSET")
		}
	}
	if !limited && p.accept("FETCH") {
		if !p.accept("FIRST") {
			p.need("NEXT")
		}
		q.Limit = p.count()
		if !p.accept("ROWS") {
			p.need("ROW")
		}
		p.need("ONLY")
	}
}

// count takes the number of LIMIT and its like.
func (p *parser) count() ast.Expr {
	if p.is("?") {
		return p.param()
	}
	return p.number()
}

// orderItems takes BY and the items behind it.
func (p *parser) orderItems() []*ast.OrderItem {
	p.need("BY")
	return commaList(p, p.orderItem)
}

// orderItem takes one item of ORDER BY.
func (p *parser) orderItem() *ast.OrderItem {
	o := &ast.OrderItem{Pos: p.pos(), Expr: p.expr()}
	if p.accept("DESC") {
		o.Desc = true
	} else {
		p.accept("ASC")
	}
	if p.accept("NULLS") {
		switch {
		case p.accept("FIRST"):
			o.Nulls = ast.NullsFirst
		case p.accept("LAST"):
			o.Nulls = ast.NullsLast
		default:
			p.unexpected()
		}
	}
	return o
}

// valuesRow takes one row of VALUES.
func (p *parser) valuesRow() *ast.RowCtor {
	r := &ast.RowCtor{Pos: p.pos()}
	if p.tok().kw == "ROW" && p.peek(1).kw == "(" {
		p.skip(1)
	}
	if p.tok().kw == "(" {
		p.skip(1)
		r.Items = commaList(p, p.exprOrDefault)
		p.need(")")
		return r
	}
	r.Items = []ast.Expr{p.expr()}
	return r
}

// exprOrDefault takes an expression or DEFAULT.
func (p *parser) exprOrDefault() ast.Expr {
	if t := p.tok(); t.kw == "DEFAULT" {
		p.skip(1)
		return &ast.DefaultArg{Pos: t.pos}
	}
	return p.exprOrQuery()
}

// selectBlock takes a SELECT without what may stand behind the last one of several.
func (p *parser) selectBlock() ast.Query {
	s := &ast.Select{Pos: p.pos()}
	p.skip(1)
	s.Hints = p.hints()
	if p.tok().kw == "STREAM" && p.peek(1).kw != "(" {
		p.refuse(p.i, "SELECT STREAM is not needed: every query is one over streams")
	}
	if p.accept("DISTINCT") {
		s.Distinct = true
	} else {
		p.accept("ALL")
	}
	s.Items = commaList(p, p.selectItem)
	if !p.accept("FROM") {
		return s
	}
	s.From = p.from()
	if p.accept("WHERE") {
		s.Where = p.expr()
	}
	if p.is("GROUP") {
		s.GroupBy = p.groupBy()
	}
	if p.accept("HAVING") {
		s.Having = p.expr()
	}
	if p.accept("WINDOW") {
		s.Windows = commaList(p, p.namedWindow)
	}
	if p.accept("QUALIFY") {
		s.Qualify = p.expr()
	}
	return s
}

// selectItem takes one item of a SELECT list.
func (p *parser) selectItem() *ast.SelectItem {
	item := &ast.SelectItem{Pos: p.pos()}
	if star := p.star(); star != nil {
		item.Expr = star
	} else {
		item.Expr = p.expr()
	}
	item.Alias = p.alias("column")
	return item
}

// star takes * or t.*, if that is what stands there.
func (p *parser) star() *ast.Star {
	pos := p.pos()
	if p.tok().kw == "*" {
		p.skip(1)
		return &ast.Star{Pos: pos}
	}
	n := 0
	for nameToken(p.peek(n)) && p.peek(n+1).kw == "." {
		n += 2
	}
	if n == 0 || p.peek(n).kw != "*" {
		return nil
	}
	s := &ast.Star{Pos: pos}
	for ; n > 0; n -= 2 {
		s.Qualifier = append(s.Qualifier, p.ident())
		p.skip(1)
	}
	p.skip(1)
	return s
}

// alias takes [AS] name if there is one.
func (p *parser) alias(of string) *ast.Ident {
	if !p.accept("AS") {
		if p.tok().kind == tString {
			p.refuse(p.i, "the name of a %s stands in backticks, not in quotes", of)
			return nil
		}
		return p.optIdent()
	}
	if p.tok().kind == tString {
		p.refuse(p.i, "the name of a %s stands in backticks, not in quotes", of)
	}
	return p.ident()
}

// groupBy takes GROUP BY.
func (p *parser) groupBy() *ast.GroupBy {
	g := &ast.GroupBy{Pos: p.pos()}
	p.needAll("GROUP BY")
	if p.accept("DISTINCT") {
		g.Distinct = true
	} else {
		p.accept("ALL")
	}
	g.Items = commaList(p, p.groupItem)
	return g
}

// groupItem takes one item of GROUP BY.
func (p *parser) groupItem() ast.Expr {
	t := p.tok()
	g := &ast.GroupingSets{Pos: t.pos}
	switch {
	case t.kw == "(" && p.peek(1).kw == ")":
		p.skip(2)
		return &ast.RowCtor{Pos: t.pos}
	case t.kw == "GROUPING" && p.peek(1).kw == "SETS":
		p.skip(2)
	case t.kw == "CUBE":
		p.skip(1)
		g.Kind = ast.Cube
	case t.kw == "ROLLUP":
		p.skip(1)
		g.Kind = ast.Rollup
	default:
		return p.expr()
	}
	if p.enter() {
		g.Items = parenList(p, p.groupItem)
	}
	p.leave()
	return g
}

// namedWindow takes one window of the WINDOW clause.
func (p *parser) namedWindow() *ast.NamedWindow {
	w := &ast.NamedWindow{Pos: p.pos(), Name: p.ident()}
	p.need("AS")
	w.Window = p.window()
	return w
}

// window takes a window's specification in parentheses.
func (p *parser) window() *ast.Window {
	w := &ast.Window{Pos: p.pos()}
	p.need("(")
	if nameToken(p.tok()) {
		w.Ref = p.ident()
	}
	if p.accept("PARTITION") {
		p.need("BY")
		w.PartitionBy = commaList(p, p.expr)
	}
	if p.accept("ORDER") {
		w.OrderBy = p.orderItems()
	}
	if p.is("ROWS") || p.is("RANGE") {
		w.Frame = p.frame()
	}
	if p.acceptAll("DISALLOW PARTIAL") {
		w.DisallowPartial = true
	} else {
		p.acceptAll("ALLOW PARTIAL")
	}
	p.need(")")
	return w
}

// frame takes ROWS or RANGE.
func (p *parser) frame() *ast.Frame {
	f := &ast.Frame{Pos: p.pos()}
	if p.tok().kw == "RANGE" {
		f.Unit = ast.FrameRange
	}
	p.skip(1)
	if !p.accept("BETWEEN") {
		f.Start = p.bound()
		return f
	}
	f.Start = p.bound()
	p.need("AND")
	f.End = p.bound()
	return f
}

// bound takes one end of a frame.
func (p *parser) bound() *ast.FrameBound {
	b := &ast.FrameBound{Pos: p.pos()}
	switch {
	case p.acceptAll("CURRENT ROW"):
		b.Kind = ast.CurrentRow
	case p.acceptAll("UNBOUNDED PRECEDING"):
		b.Kind = ast.UnboundedPreceding
	case p.acceptAll("UNBOUNDED FOLLOWING"):
		b.Kind = ast.UnboundedFollowing
	default:
		b.Value = p.expr()
		switch {
		case p.accept("PRECEDING"):
			b.Kind = ast.Preceding
		case p.accept("FOLLOWING"):
			b.Kind = ast.Following
		default:
			p.unexpected()
		}
	}
	return b
}

// hints takes /*+ ... */ if there is one.
func (p *parser) hints() []*ast.Hint {
	if p.tok().kw != "/*+" {
		return nil
	}
	p.skip(1)
	hints := commaList(p, p.hint)
	p.need("*/")
	return hints
}

// hint takes one hint.
func (p *parser) hint() *ast.Hint {
	h := &ast.Hint{Pos: p.pos(), Name: p.ident()}
	if !p.accept("(") || p.accept(")") {
		return h
	}
	if p.peek(1).kw == "=" {
		h.Options = commaList(p, p.hintOption)
	} else {
		h.Args = commaList(p, p.hintArg)
	}
	p.need(")")
	return h
}

// hintOption takes key = 'value', where the key may be a name.
func (p *parser) hintOption() *ast.Option {
	o := &ast.Option{Pos: p.pos()}
	if nameToken(p.tok()) {
		o.Key = p.ident().Name
	} else {
		o.Key = p.text()
	}
	p.need("=")
	o.Value = p.text()
	return o
}

// hintArg takes a name or a literal.
func (p *parser) hintArg() *ast.HintArg {
	a := &ast.HintArg{Pos: p.pos()}
	switch t := p.tok(); {
	case nameToken(t):
		a.Name = p.ident()
	case t.kind == tString || t.kind == tUnicode:
		a.Value = p.stringLit()
	case t.kw == "-":
		p.skip(1)
		n := p.number()
		n.Pos, n.Text = t.pos, "-"+n.Text
		a.Value = n
	default:
		p.expect(aName)
		p.expect(aString)
		a.Value = p.number()
	}
	return a
}
