package parser

import (
	"strings"

	"github.com/weir-stream/weir/internal/sql/ast"
)

// call takes the arguments of a function and what may follow them.
func (p *parser) call(name *ast.ObjectName) *ast.FuncCall {
	c := &ast.FuncCall{Pos: name.Pos, Name: name}
	p.need("(")
	if p.tok().kw == "*" {
		c.Args = []ast.Expr{&ast.Star{Pos: p.pos()}}
		p.skip(1)
	} else if !p.is(")") {
		if p.accept("DISTINCT") {
			c.Distinct = true
		} else {
			p.accept("ALL")
		}
		if p.tok().kw == "*" {
			p.refuse(p.i, "* stands alone in a function's parentheses, without DISTINCT or ALL")
		}
		c.Args = commaList(p, p.arg)
		if len(name.Parts) == 1 && strings.EqualFold(name.Parts[0].Name, "ARRAY_AGG") {
			c.Nulls = p.nullTreatment()
			if p.accept("ORDER") {
				c.OrderBy = p.orderItems()
			}
		}
	}
	p.need(")")
	p.callTail(c)
	return c
}

// callTail takes WITHIN GROUP, the treatment of nulls, FILTER and OVER.
func (p *parser) callTail(c *ast.FuncCall) {
	if p.tok().kw == "WITHIN" && p.peek(1).kw == "DISTINCT" {
		p.skip(2)
		c.WithinDistinct = parenList(p, p.expr)
	}
	if p.tok().kw == "WITHIN" {
		p.skip(1)
		p.need("GROUP")
		p.need("(")
		p.need("ORDER")
		c.WithinGroup = p.orderItems()
		p.need(")")
	}
	if n := p.nullTreatment(); n != 0 {
		c.Nulls = n
	}
	if p.tok().kw == "FILTER" {
		p.skip(1)
		p.need("(")
		p.need("WHERE")
		c.Filter = p.expr()
		p.need(")")
	}
	if p.tok().kw == "OVER" {
		p.skip(1)
		if nameToken(p.tok()) {
			pos := p.pos()
			c.Over = &ast.Window{Pos: pos, Ref: p.ident()}
		} else {
			p.expect("a window's name")
			c.Over = p.window()
		}
	}
}

// nullTreatment takes IGNORE NULLS or RESPECT NULLS if it is there.
func (p *parser) nullTreatment() ast.NullTreatment {
	kw := p.tok().kw
	if kw != "IGNORE" && kw != "RESPECT" || p.peek(1).kw != "NULLS" {
		return ast.NullsTreatmentUnspecified
	}
	p.skip(2)
	if kw == "IGNORE" {
		return ast.IgnoreNulls
	}
	return ast.RespectNulls
}

// arg takes one argument of a function.
func (p *parser) arg() ast.Expr {
	pos := p.pos()
	if nameToken(p.tok()) && p.peek(1).kw == "=>" {
		a := &ast.NamedArg{Pos: pos, Name: p.ident()}
		p.skip(1)
		a.Value = p.argValue()
		return a
	}
	if star := p.star(); star != nil {
		return star
	}
	return p.argValue()
}

// argValue takes the value of an argument.
func (p *parser) argValue() ast.Expr {
	pos := p.pos()
	switch t := p.tok(); {
	case t.kw == "DEFAULT":
		p.skip(1)
		return &ast.DefaultArg{Pos: pos}
	case t.kw == "MODEL" && nameToken(p.peek(1)):
		p.skip(1)
		return &ast.ModelArg{Pos: pos, Name: p.objectName()}
	case t.kw == "TABLE":
		p.skip(1)
		if p.tok().kw == "(" {
			p.refuse(p.i, "TABLE stands before a name; a query as an argument stands in parentheses without it")
		}
		return p.tableArg(&ast.TableArg{Pos: pos, Name: p.objectName()})
	}
	x := p.exprOrQuery()
	if s, ok := x.(*ast.Subquery); ok && p.tok().kw == "PARTITION" {
		return p.tableArg(&ast.TableArg{Pos: pos, Query: s.Query})
	}
	return x
}

// tableArg takes PARTITION BY and ORDER BY behind a table as an argument. More than one column stands in parentheses.
func (p *parser) tableArg(a *ast.TableArg) ast.Expr {
	if p.accept("PARTITION") {
		p.need("BY")
		if p.is("(") {
			a.PartitionBy = p.idents()
		} else {
			a.PartitionBy = []*ast.Ident{p.ident()}
		}
	}
	if p.accept("ORDER") {
		p.need("BY")
		if p.is("(") {
			a.OrderBy = parenList(p, p.orderItem)
		} else {
			a.OrderBy = []*ast.OrderItem{p.orderItem()}
		}
	}
	return a
}

// specialFunction takes a call of a function with a syntax of its own at its keyword, behind which a parenthesis stands;
// it returns nil if the word has none.
func (p *parser) specialFunction(t *token) ast.Expr {
	switch t.kw {
	case "CAST", "TRY_CAST":
		return p.cast(t)
	case "TRIM":
		return p.trim(t)
	case "EXTRACT":
		return p.keywordCall(t, p.unitArg, "FROM")
	case "TIMESTAMPADD", "TIMESTAMPDIFF":
		return p.keywordCall(t, p.unitArg, ",", ",")
	case "POSITION":
		return p.position(t)
	case "OVERLAY":
		return p.keywordCall(t, p.expr, "PLACING", "FROM", "[FOR")
	case "SUBSTRING":
		return p.substring(t)
	case "CEIL", "CEILING", "FLOOR":
		return p.round(t)
	case "TRANSLATE":
		p.skip(1)
		c := p.call(upperName(t))
		if len(c.Args) < 2 && p.err == nil {
			p.refuse(p.i-1, "TRANSLATE needs at least two arguments")
		}
		return c
	case "CONVERT", "DATE_TRUNC", "DATETIME_TRUNC", "TIMESTAMP_TRUNC", "TIME_TRUNC", "TIMESTAMP_DIFF", "TIME_DIFF",
		"SAFE_CAST", "STRING_AGG", "GROUP_CONCAT", "ARRAY_CONCAT_AGG":
		p.refuse(p.i, "there is no function %s, in Flink neither", t.kw)
		return &ast.NullLit{Pos: t.pos}
	}
	if strings.HasPrefix(t.kw, "JSON_") {
		return p.jsonFunction(t)
	}
	return nil
}

// keywordCall takes a call whose arguments stand between keywords or commas: the first, then one behind each of them. A
// bracket before the last says that it may be left out.
func (p *parser) keywordCall(t *token, first func() ast.Expr, words ...string) ast.Expr {
	p.skip(2)
	c := &ast.FuncCall{Pos: t.pos, Name: upperName(t), Args: []ast.Expr{first()}}
	for _, w := range words {
		if opt, ok := strings.CutPrefix(w, "["); ok {
			if !p.accept(opt) {
				break
			}
		} else {
			p.need(w)
		}
		c.Args = append(c.Args, p.expr())
	}
	p.need(")")
	return c
}

// unitArg takes a unit of time as an argument.
func (p *parser) unitArg() ast.Expr {
	t := p.tok()
	if t.kind != tWord {
		p.expect("a unit of time")
		p.unexpected()
		return &ast.UnitArg{Pos: t.pos}
	}
	p.skip(1)
	u := ast.Unit(strings.ToUpper(t.text))
	if u == ast.UnitNone {
		if t.reserved {
			p.i--
			p.expect("a unit of time")
			p.unexpected()
		}
		return &ast.UnitArg{Pos: t.pos, Name: t.text}
	}
	return &ast.UnitArg{Pos: t.pos, Unit: u, Name: u.String()}
}

// position takes POSITION(x IN y [FROM n]). The operand before IN binds stronger than IN.
func (p *parser) position(t *token) ast.Expr {
	return p.keywordCall(t, func() ast.Expr { return p.exprOf(precBetween + 1) }, "IN", "[FROM")
}

// substring takes SUBSTRING with commas or with FROM and FOR.
func (p *parser) substring(t *token) ast.Expr {
	p.skip(2)
	c := &ast.FuncCall{Pos: t.pos, Name: upperName(t), Args: []ast.Expr{p.expr()}}
	if !p.accept("FROM") {
		p.need(",")
	}
	c.Args = append(c.Args, p.expr())
	if p.accept("FOR") || p.accept(",") {
		c.Args = append(c.Args, p.expr())
	}
	p.need(")")
	return c
}

// round takes CEIL and FLOOR, with a unit of time or without.
func (p *parser) round(t *token) ast.Expr {
	p.skip(2)
	name := upperName(t)
	if t.kw == "CEILING" {
		name.Parts[0].Name = "CEIL"
	}
	c := &ast.FuncCall{Pos: t.pos, Name: name, Args: []ast.Expr{p.expr()}}
	if p.accept("TO") {
		c.Args = append(c.Args, p.unitArg())
	}
	p.need(")")
	return c
}

// cast takes CAST and TRY_CAST.
func (p *parser) cast(t *token) ast.Expr {
	p.skip(2)
	c := &ast.Cast{Pos: t.pos, Try: t.kw == "TRY_CAST", X: p.expr()}
	p.need("AS")
	c.Type = p.typ(false)
	p.need(")")
	return c
}

// trim takes TRIM([side] [characters] FROM x) or TRIM([side] x).
func (p *parser) trim(t *token) ast.Expr {
	p.skip(2)
	x := &ast.Trim{Pos: t.pos}
	side := true
	switch {
	case p.accept("BOTH"):
	case p.accept("LEADING"):
		x.Side = ast.TrimLeading
	case p.accept("TRAILING"):
		x.Side = ast.TrimTrailing
	default:
		side = false
	}
	if !side || !p.is("FROM") {
		x.X = p.expr()
	}
	if p.accept("FROM") {
		x.Chars, x.X = x.X, p.expr()
	}
	p.need(")")
	return x
}
