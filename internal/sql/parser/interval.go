package parser

import "github.com/weir-stream/weir/internal/sql/ast"

// intervalUnits are the units of intervals, with the plurals that may be written for them.
var intervalUnits = map[string]ast.TimeUnit{
	"YEAR": ast.UnitYear, "YEARS": ast.UnitYear, "QUARTER": ast.UnitQuarter, "QUARTERS": ast.UnitQuarter,
	"MONTH": ast.UnitMonth, "MONTHS": ast.UnitMonth, "WEEK": ast.UnitWeek, "WEEKS": ast.UnitWeek,
	"DAY": ast.UnitDay, "DAYS": ast.UnitDay, "HOUR": ast.UnitHour, "HOURS": ast.UnitHour,
	"MINUTE": ast.UnitMinute, "MINUTES": ast.UnitMinute, "SECOND": ast.UnitSecond, "SECONDS": ast.UnitSecond,
}

// interval takes INTERVAL with a string or another value, and its range.
func (p *parser) interval() ast.Expr {
	pos := p.pos()
	p.skip(1)
	negative := false
	if kw := p.tok().kw; kw == "-" || kw == "+" {
		negative = kw == "-"
		p.skip(1)
	}
	if p.tok().kind == tString {
		lit := &ast.IntervalLit{Pos: pos, Negative: negative, Text: p.tok().text}
		p.skip(1)
		lit.Range = p.intervalRange(true)
		return lit
	}
	x := &ast.IntervalExpr{Pos: pos}
	at := p.pos()
	switch t := p.tok(); {
	case t.kind == tNumber:
		x.Value = p.number()
	case t.kw == "(":
		x.Value = p.parenthesized()
	case nameToken(t):
		at := p.pos()
		x.Value = &ast.ColumnRef{Pos: at, Parts: p.path()}
	default:
		p.expect(aString)
		p.expect(anExpr)
		p.unexpected()
		x.Value = &ast.NullLit{Pos: at}
	}
	if negative {
		if n, ok := x.Value.(*ast.NumberLit); ok {
			n.Text = negated(n.Text)
		} else {
			x.Value = &ast.Unary{Pos: at, Op: ast.Neg, X: x.Value}
		}
	}
	x.Range = p.intervalRange(false)
	return x
}

// intervalSub takes the range behind the difference of two points in time, which stood in parentheses; without one, or
// behind anything else, it returns what it was given.
func (p *parser) intervalSub(x ast.Expr) ast.Expr {
	b, ok := x.(*ast.Binary)
	t := p.tok()
	if _, unit := intervalUnits[t.kw]; !unit || !ok && !t.reserved {
		return x
	}
	if !ok || b.Op != ast.Sub {
		if t.reserved {
			p.refuse(p.i, "a unit of time stands behind (x - y) or INTERVAL x only; as a name it stands in backticks")
		}
		return x
	}
	return &ast.IntervalSub{Pos: b.Pos, X: b.X, Y: b.Y, Range: p.intervalRange(true)}
}

// unit takes a unit of intervals that must be there.
func (p *parser) unit() ast.TimeUnit {
	u, ok := intervalUnits[p.tok().kw]
	if !ok {
		for _, w := range [...]string{"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"} {
			p.expect(w)
		}
		p.unexpected()
		return ast.UnitSecond
	}
	p.skip(1)
	return u
}

// intervalRange takes a unit, with its precision and with TO and another unit if two are allowed.
func (p *parser) intervalRange(two bool) *ast.IntervalRange {
	r := &ast.IntervalRange{Pos: p.pos(), Precision: -1, Fraction: -1}
	r.From = p.unit()
	if p.accept("(") {
		r.Precision = p.integer()
		if r.From == ast.UnitSecond && p.accept(",") {
			r.Fraction = p.integer()
		}
		p.need(")")
	}
	if !two || r.From == ast.UnitSecond || p.tok().kw != "TO" {
		return r
	}
	at := p.i
	p.skip(1)
	r.To = p.unit()
	months := r.From == ast.UnitYear && r.To == ast.UnitMonth
	seconds := r.From >= ast.UnitDay && r.To > r.From
	if !months && !seconds {
		p.refuse(at, "there is no interval %s TO %s", r.From, r.To)
	}
	if r.To == ast.UnitSecond && p.accept("(") {
		r.Fraction = p.integer()
		p.need(")")
	}
	return r
}
