package parser

import "github.com/weir-stream/weir/internal/sql/ast"

// from takes what stands behind FROM.
func (p *parser) from() ast.TableExpr {
	t := p.joins(p.tablePrimary())
	for p.accept(",") {
		p.link()
		j := &ast.Join{Pos: t.Position(), Kind: ast.JoinComma, Left: t}
		j.Right = p.joins(p.tablePrimary())
		t = j
	}
	return t
}

// joins goes on with joins behind a table.
func (p *parser) joins(left ast.TableExpr) ast.TableExpr {
	for {
		j := &ast.Join{Pos: left.Position(), Left: left}
		if !p.joinWords(j) {
			return left
		}
		p.link()
		j.Right = p.tablePrimary()
		switch {
		case p.accept("ON"):
			j.On = p.expr()
		case p.accept("USING"):
			j.Using = p.idents()
		}
		left = j
	}
}

// joinWords takes the keywords of a join; it returns false if there is none.
func (p *parser) joinWords(j *ast.Join) bool {
	j.Natural = p.accept("NATURAL")
	outer := true
	switch {
	case p.accept("LEFT"):
		j.Kind = ast.JoinLeft
	case p.accept("RIGHT"):
		j.Kind = ast.JoinRight
	case p.accept("FULL"):
		j.Kind = ast.JoinFull
	default:
		outer = false
		switch {
		case p.accept("INNER"):
		case p.accept("CROSS"):
			j.Kind = ast.JoinCross
			if p.tok().kw == "APPLY" {
				p.refuse(p.i, "there is no APPLY; write CROSS JOIN LATERAL TABLE(f(...))")
			}
		case p.is("JOIN"):
		case j.Natural:
			p.unexpected()
			return true
		default:
			return false
		}
	}
	if outer {
		switch t := p.tok(); {
		case t.kind == tWord && (lowerEqual(t.text, "semi") || lowerEqual(t.text, "anti")):
			p.refuse(p.i, "there are no words for such a join; write WHERE [NOT] EXISTS (...) or [NOT] IN (...)")
		}
		p.accept("OUTER")
	}
	p.need("JOIN")
	return true
}

// lowerEqual reports whether an ASCII word is another one in lower case.
func lowerEqual(s, lower string) bool {
	if len(s) != len(lower) {
		return false
	}
	for i := range len(s) {
		if s[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}

// tablePrimary takes one table, with its alias and what else belongs to it.
func (p *parser) tablePrimary() ast.TableExpr {
	pos := p.pos()
	if !p.enter() {
		p.leave()
		return p.noTable(pos)
	}
	defer p.leave()
	lateral := p.accept("LATERAL")
	switch {
	case p.is("UNNEST"):
		return p.unnest(pos, lateral)
	case p.is("TABLE"):
		return p.tableFunction(pos, lateral)
	case p.is("("):
		return p.parenTable(pos, lateral)
	case lateral:
		p.unexpected()
		return p.noTable(pos)
	case p.tok().kw == "VALUES" || p.tok().kw == "SELECT":
		p.refuse(p.i, "a query in FROM needs parentheses around it")
		return p.noTable(pos)
	case !nameToken(p.tok()) && !p.callAhead():
		p.expect("a table")
		p.expect("LATERAL")
		p.unexpected()
		return p.noTable(pos)
	}
	if p.callAhead() {
		call := p.functionCall()
		f := &ast.TableFunction{Pos: pos, Bare: true, Call: call}
		p.tail(&f.Alias, &f.Sample)
		return f
	}
	t := &ast.TableName{Pos: pos, Name: p.objectName(), Hints: p.hints()}
	if p.tok().kw == "EXTEND" || p.tok().kw == "PIVOT" || p.tok().kw == "UNPIVOT" {
		p.refuse(p.i, "%s is not supported, by Flink neither", p.tok().kw)
	}
	if p.accept("FOR") {
		p.needAll("SYSTEM_TIME AS OF")
		t.SystemTime = p.expr()
	}
	return p.matchable(t, &t.Alias, &t.Sample)
}

// noTable stands for a table where there was an error.
func (p *parser) noTable(pos ast.Pos) ast.TableExpr {
	return &ast.TableName{Pos: pos, Name: &ast.ObjectName{Pos: pos, Parts: []*ast.Ident{{Pos: pos}}}}
}

// callAhead reports whether the current token begins a function call: a name with dots and a parenthesis.
func (p *parser) callAhead() bool {
	t := p.tok()
	if t.kind == tWord && t.reserved && ast.IsCallable(t.kw) {
		return p.peek(1).kw == "("
	}
	n := 0
	for nameToken(p.peek(n)) {
		switch p.peek(n + 1).kw {
		case "(":
			return true
		case ".":
			n += 2
			continue
		}
		return false
	}
	return false
}

// tail takes the alias and the sample of a table.
func (p *parser) tail(alias **ast.TableAlias, sample **ast.Sample) {
	*alias = p.tableAlias()
	if p.is("TABLESAMPLE") {
		*sample = p.sample()
	}
}

// matchable takes the alias of a table that MATCH_RECOGNIZE may follow, and that clause.
func (p *parser) matchable(t ast.TableExpr, alias **ast.TableAlias, sample **ast.Sample) ast.TableExpr {
	if p.tok().kw != "MATCH_RECOGNIZE" {
		p.tail(alias, sample)
	}
	if p.is("MATCH_RECOGNIZE") {
		if a := *alias; a != nil && a.Columns != nil || *sample != nil {
			p.unexpected()
		}
		return p.matchRecognize(t)
	}
	return t
}

// tableAlias takes [AS] name [(columns)] if it is there.
func (p *parser) tableAlias() *ast.TableAlias {
	pos := p.pos()
	name := p.alias("table")
	if name == nil {
		return nil
	}
	a := &ast.TableAlias{Pos: pos, Name: name}
	if p.is("(") {
		a.Columns = p.idents()
	}
	return a
}

// sample takes TABLESAMPLE.
func (p *parser) sample() *ast.Sample {
	s := &ast.Sample{Pos: p.pos()}
	p.skip(1)
	switch {
	case p.accept("BERNOULLI"):
	case p.accept("SYSTEM"):
		s.System = true
	case p.tok().kw == "SUBSTITUTE":
		p.refuse(p.i, "TABLESAMPLE SUBSTITUTE is not supported")
	default:
		p.unexpected()
	}
	p.need("(")
	s.Percent = p.number()
	p.need(")")
	if p.accept("REPEATABLE") {
		p.need("(")
		s.Repeatable = p.number()
		p.need(")")
	}
	return s
}

// unnest takes UNNEST(...).
func (p *parser) unnest(pos ast.Pos, lateral bool) ast.TableExpr {
	u := &ast.Unnest{Pos: pos, Lateral: lateral}
	p.skip(1)
	p.need("(")
	u.Exprs = commaList(p, p.exprOrQuery)
	p.need(")")
	u.WithOrdinality = p.acceptAll("WITH ORDINALITY")
	p.tail(&u.Alias, &u.Sample)
	return u
}

// tableFunction takes TABLE(f(...)).
func (p *parser) tableFunction(pos ast.Pos, lateral bool) ast.TableExpr {
	f := &ast.TableFunction{Pos: pos, Lateral: lateral}
	p.skip(1)
	p.need("(")
	if !p.callAhead() {
		p.expect("a call of a function")
		p.unexpected()
		return p.noTable(pos)
	}
	f.Call = p.functionCall()
	p.need(")")
	p.tail(&f.Alias, &f.Sample)
	return f
}

// parenTable takes a query or a join in parentheses.
func (p *parser) parenTable(pos ast.Pos, lateral bool) ast.TableExpr {
	at := p.i
	q, t := p.parenTableOrQuery()
	if q == nil {
		if lateral {
			p.refuse(at, "LATERAL stands before a query or a function, not before a join")
		}
		if p.tok().kw == "AS" || nameToken(p.tok()) {
			p.refuse(p.i, "a join in parentheses takes no alias; write a query around it")
		}
		return t
	}
	return p.derived(pos, lateral, q)
}

// derived takes what may follow a query in parentheses.
func (p *parser) derived(pos ast.Pos, lateral bool, q ast.Query) ast.TableExpr {
	d := &ast.DerivedTable{Pos: pos, Lateral: lateral, Query: q}
	return p.matchable(d, &d.Alias, &d.Sample)
}

// parenTableOrQuery takes parentheses around a query, which is returned as such, or around a join.
func (p *parser) parenTableOrQuery() (ast.Query, ast.TableExpr) {
	open := p.pos()
	if !p.enter() {
		p.leave()
		return nil, p.noTable(open)
	}
	defer p.leave()
	p.need("(")
	pos := p.pos()
	var t ast.TableExpr
	switch {
	case p.startsQuery():
		q := p.query()
		p.need(")")
		return q, nil
	case p.tok().kw == "(":
		q, inner := p.parenTableOrQuery()
		switch {
		case q == nil:
			t = inner
		case p.continuesQuery():
			q = p.queryTail(q)
			p.need(")")
			return q, nil
		case p.accept(")"):
			return q, nil
		default:
			t = p.derived(pos, false, q)
		}
	default:
		t = p.tablePrimary()
	}
	at := p.i
	t = p.joins(t)
	if _, ok := t.(*ast.Join); !ok && p.tok().kw == ")" {
		p.refuse(at, "parentheses in FROM hold a query or a join, not a table alone")
	}
	p.need(")")
	return nil, t
}

// functionCall takes a call behind callAhead.
func (p *parser) functionCall() *ast.FuncCall {
	x := p.expr()
	call, ok := x.(*ast.FuncCall)
	if !ok {
		if p.err == nil {
			p.refuse(p.i, "found an expression, expected the call of a function")
		}
		return &ast.FuncCall{Pos: x.Position(), Name: &ast.ObjectName{Parts: []*ast.Ident{{}}}}
	}
	return call
}
