package parser

import "github.com/weir-stream/weir/internal/sql/ast"

// matchRecognize takes MATCH_RECOGNIZE behind a table.
func (p *parser) matchRecognize(input ast.TableExpr) ast.TableExpr {
	m := &ast.MatchRecognize{Pos: input.Position(), Input: input}
	p.need("MATCH_RECOGNIZE")
	p.need("(")
	if p.accept("PARTITION") {
		p.need("BY")
		m.PartitionBy = commaList(p, p.expr)
	}
	if p.accept("ORDER") {
		m.OrderBy = p.orderItems()
	}
	if p.accept("MEASURES") {
		m.Measures = commaList(p, p.measure)
	}
	switch {
	case p.acceptAll("ONE ROW PER MATCH"):
		m.Rows = ast.OneRow
	case p.acceptAll("ALL ROWS PER MATCH"):
		m.Rows = ast.AllRows
	}
	if p.is("AFTER") {
		m.After = p.afterMatch()
	}
	p.need("PATTERN")
	p.need("(")
	m.StartAnchor = p.accept("^")
	m.Pattern = p.pattern()
	if t := p.tok(); t.kind == tWord && t.text == "$" {
		p.skip(1)
		m.EndAnchor = true
	}
	p.need(")")
	if p.accept("WITHIN") {
		if p.is("INTERVAL") {
			m.Within = p.interval()
		} else {
			p.unexpected()
		}
	}
	if p.accept("SUBSET") {
		m.Subsets = commaList(p, p.subset)
	}
	p.need("DEFINE")
	m.Define = commaList(p, p.definition)
	p.need(")")
	p.tail(&m.Alias, &m.Sample)
	return m
}

// measure takes one measure.
func (p *parser) measure() *ast.Measure {
	m := &ast.Measure{Pos: p.pos(), Expr: p.expr()}
	p.need("AS")
	m.Alias = p.ident()
	return m
}

// definition takes one definition of a variable.
func (p *parser) definition() *ast.Definition {
	d := &ast.Definition{Pos: p.pos(), Name: p.ident()}
	p.need("AS")
	d.Expr = p.expr()
	return d
}

// subset takes one union of variables.
func (p *parser) subset() *ast.Subset {
	s := &ast.Subset{Pos: p.pos(), Name: p.ident()}
	p.need("=")
	s.Members = p.idents()
	return s
}

// afterMatch takes AFTER MATCH SKIP.
func (p *parser) afterMatch() *ast.AfterMatch {
	a := &ast.AfterMatch{Pos: p.pos()}
	p.needAll("AFTER MATCH SKIP")
	if p.acceptAll("PAST LAST ROW") {
		return a
	}
	p.need("TO")
	if p.accept("NEXT") {
		p.need("ROW")
		a.Kind = ast.SkipToNextRow
		return a
	}
	a.Kind = ast.SkipToLast
	if t := p.tok(); nameToken(p.peek(1)) && (t.kw == "FIRST" || t.kw == "LAST") {
		p.skip(1)
		if t.kw == "FIRST" {
			a.Kind = ast.SkipToFirst
		}
	}
	a.Variable = p.ident()
	return a
}

// pattern takes alternatives.
func (p *parser) pattern() ast.Pattern {
	pos := p.pos()
	if !p.enter() {
		p.leave()
		return &ast.PatternVar{Pos: pos}
	}
	items := []ast.Pattern{p.patternConcat()}
	for p.accept("|") {
		items = append(items, p.patternConcat())
	}
	p.leave()
	if len(items) == 1 {
		return items[0]
	}
	return &ast.PatternAlt{Pos: pos, Items: items}
}

// patternConcat takes patterns one behind the other.
func (p *parser) patternConcat() ast.Pattern {
	pos := p.pos()
	items := []ast.Pattern{p.patternRepeat()}
	for p.startsPattern() {
		items = append(items, p.patternRepeat())
	}
	if len(items) == 1 {
		return items[0]
	}
	return &ast.PatternConcat{Pos: pos, Items: items}
}

// startsPattern reports whether a pattern begins at the current token.
func (p *parser) startsPattern() bool {
	t := p.tok()
	return t.kw == "(" || t.kw == "{" || t.kw == "PERMUTE" || nameToken(t) && !(t.kind == tWord && t.text == "$")
}

// patternRepeat takes a pattern with its quantifier.
func (p *parser) patternRepeat() ast.Pattern {
	r := &ast.PatternRepeat{Pos: p.pos(), Pattern: p.patternPrimary()}
	switch t := p.tok(); {
	case t.kw == "*":
		p.skip(1)
		r.Max = -1
	case t.kw == "+":
		p.skip(1)
		r.Min, r.Max = 1, -1
	case t.kw == "?":
		p.skip(1)
		r.Max = 1
	case t.kw == "{" && p.peek(1).kw != "-":
		p.skip(1)
		p.repeatRange(r)
	default:
		return r.Pattern
	}
	if p.tok().kw == "?" {
		p.skip(1)
		r.Reluctant = true
	}
	return r
}

// repeatRange takes the range of a quantifier behind its brace.
func (p *parser) repeatRange(r *ast.PatternRepeat) {
	low := p.tok().kind == tNumber
	if low {
		r.Min = p.integer()
		r.Max = r.Min
	}
	if p.accept(",") {
		r.Max = -1
		if p.tok().kind == tNumber || !low {
			r.Max = p.integer()
		}
	} else if !low {
		p.expect(aNumber)
		p.unexpected()
	}
	if r.Max >= 0 && r.Max < r.Min {
		p.refuse(p.i, "the quantifier {%d,%d} asks for at least more than for at most", r.Min, r.Max)
	}
	p.need("}")
}

// patternPrimary takes a variable, or a pattern in brackets.
func (p *parser) patternPrimary() ast.Pattern {
	pos := p.pos()
	switch {
	case p.accept("("):
		x := p.pattern()
		p.need(")")
		return x
	case p.accept("{"):
		p.need("-")
		x := &ast.PatternExclude{Pos: pos, Pattern: p.pattern()}
		p.need("-")
		p.need("}")
		return x
	case p.accept("PERMUTE"):
		return &ast.PatternPermute{Pos: pos, Items: parenList(p, p.pattern)}
	}
	return &ast.PatternVar{Pos: pos, Name: p.ident().Name}
}
