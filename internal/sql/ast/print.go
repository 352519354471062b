package ast

import (
	"strconv"
	"strings"
)

// String returns the canonical text of a node: one line, keywords in upper case, no more parentheses than needed but for
// operands that readers mistake (comparisons within comparisons), names in backticks only where they must be. A statement
// has no semicolon at its end.
func String(n Node) string {
	p := printer{b: make([]byte, 0, 256)}
	p.node(n)
	return string(p.b)
}

// Quote returns a name as it is written in a statement.
func Quote(name string) string {
	if plainName(name) && !IsReserved(strings.ToUpper(name)) {
		return name
	}
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

// QuoteString returns a string as a literal.
func QuoteString(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// plainName reports whether a name can do without backticks, as far as its characters go.
func plainName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// printer writes canonical text.
type printer struct{ b []byte }

// s writes strings as they are.
func (p *printer) s(parts ...string) {
	for _, x := range parts {
		p.b = append(p.b, x...)
	}
}

// when writes text if the condition holds.
func (p *printer) when(cond bool, text string) {
	if cond {
		p.s(text)
	}
}

// int writes a number.
func (p *printer) int(n int) { p.b = strconv.AppendInt(p.b, int64(n), 10) }

// name writes one identifier.
func (p *printer) name(id *Ident) { p.s(Quote(id.Name)) }

// quoted writes a name, in backticks even where its letters alone would do without if it must.
func (p *printer) quoted(name string, must bool) {
	if q := Quote(name); !must || q != name {
		p.s(q)
		return
	}
	p.s("`", name, "`")
}

// path writes identifiers with dots.
func (p *printer) path(parts []*Ident) {
	for i, x := range parts {
		p.when(i > 0, ".")
		p.name(x)
	}
}

// str writes a string literal.
func (p *printer) str(s string) { p.s(QuoteString(s)) }

// list writes nodes with commas between them.
func list[T Node](p *printer, items []T) {
	for i, x := range items {
		p.when(i > 0, ", ")
		p.node(x)
	}
}

// parens writes nodes with commas in parentheses.
func parens[T Node](p *printer, items []T) {
	p.s("(")
	list(p, items)
	p.s(")")
}

// options writes ('k' = 'v', ...).
func (p *printer) options(opts []*Option) { parens(p, opts) }

// with writes WITH (...) if there are options.
func (p *printer) with(opts []*Option) {
	if len(opts) > 0 {
		p.s(" WITH ")
		p.options(opts)
	}
}

// comment writes COMMENT '...' if there is one.
func (p *printer) comment(c *StringLit) {
	if c != nil {
		p.s(" COMMENT ")
		p.node(c)
	}
}

// node writes any node.
func (p *printer) node(n Node) {
	switch n := n.(type) {
	case Expr:
		p.expr(n, 0)
	case Query:
		p.query(n)
	case Statement:
		p.statement(n)
	case TableExpr:
		p.table(n)
	case AlterAction:
		p.alter(n)
	case Pattern:
		p.pattern(n, patternAlt)
	case *Type:
		p.typ(n)
	default:
		p.part(n)
	}
}

// part writes one of the smaller nodes.
func (p *printer) part(n Node) {
	switch n := n.(type) {
	case *Ident:
		p.name(n)
	case *ObjectName:
		p.path(n.Parts)
	case *Option:
		p.str(n.Key)
		p.s(" = ")
		p.str(n.Value)
	case *SelectItem:
		p.expr(n.Expr, 0)
		if n.Alias != nil {
			p.s(" AS ")
			p.name(n.Alias)
		}
	case *OrderItem:
		p.expr(n.Expr, 0)
		p.when(n.Desc, " DESC")
		p.s([...]string{"", " NULLS FIRST", " NULLS LAST"}[n.Nulls])
	case *CTE:
		p.name(n.Name)
		p.columns(n.Columns)
		p.s(" AS (")
		p.query(n.Query)
		p.s(")")
	case *GroupBy:
		p.s("GROUP BY ")
		p.when(n.Distinct, "DISTINCT ")
		list(p, n.Items)
	case *NamedWindow:
		p.name(n.Name)
		p.s(" AS ")
		p.window(n.Window)
	case *Window:
		p.window(n)
	case *Frame:
		p.frame(n)
	case *FrameBound:
		p.bound(n)
	case *When:
		p.caseWhen(n)
	case *JSONOn:
		p.jsonOn(n, "")
	case *JSONPair:
		p.s("KEY ")
		p.expr(n.Key, 0)
		p.s(" VALUE ")
		p.expr(n.Value, 0)
	case *IntervalRange:
		p.intervalRange(n)
	case *FieldDef:
		p.field(n)
	default:
		p.tablePart(n)
	}
}

// tablePart writes one of the smaller nodes of tables and statements.
func (p *printer) tablePart(n Node) {
	switch n := n.(type) {
	case *TableAlias:
		p.s("AS ")
		p.name(n.Name)
		p.columns(n.Columns)
	case *Hint:
		p.hint(n)
	case *HintArg:
		if n.Name != nil {
			p.name(n.Name)
		} else {
			p.node(n.Value)
		}
	case *Sample:
		p.sample(n)
	case *Measure:
		p.expr(n.Expr, 0)
		p.s(" AS ")
		p.name(n.Alias)
	case *Definition:
		p.name(n.Name)
		p.s(" AS ")
		p.expr(n.Expr, 0)
	case *Subset:
		p.name(n.Name)
		p.s(" = ")
		parens(p, n.Members)
	case *AfterMatch:
		p.afterMatch(n)
	case *PartitionItem:
		p.name(n.Key)
		if n.Value != nil {
			p.s(" = ")
			p.node(n.Value)
		}
	case *Assignment:
		p.name(n.Column)
		p.s(" = ")
		p.expr(n.Value, 0)
	default:
		p.ddlPart(n)
	}
}

// columns writes " (a, b)" if there are any.
func (p *printer) columns(cols []*Ident) {
	if len(cols) > 0 {
		p.s(" ")
		parens(p, cols)
	}
}
