package parser

import (
	"strings"

	"github.com/weir-stream/weir/internal/sql/ast"
)

// The precedences of operators that are no ast.BinaryOp, as Calcite has them.
const (
	precNot     = 26
	precIs      = 28
	precBetween = 32
	precUnary   = 80
)

// expr takes an expression.
func (p *parser) expr() ast.Expr { return p.exprOf(0) }

// exprOf takes an expression of operators that bind at least as strongly as wanted.
func (p *parser) exprOf(wanted int) ast.Expr {
	if !p.enter() {
		p.leave()
		return &ast.NullLit{Pos: p.pos()}
	}
	x := p.infixes(p.unary(), wanted)
	p.leave()
	return x
}

// unary takes an operand with the operators before it.
func (p *parser) unary() ast.Expr {
	t := p.tok()
	switch t.kw {
	case "NOT":
		p.skip(1)
		return &ast.Unary{Pos: t.pos, Op: ast.Not, X: p.exprOf(precNot)}
	case "-":
		p.skip(1)
		x := p.exprOf(precUnary)
		if n, ok := x.(*ast.NumberLit); ok {
			return &ast.NumberLit{Pos: t.pos, Text: negated(n.Text)}
		}
		return &ast.Unary{Pos: t.pos, Op: ast.Neg, X: x}
	case "+":
		p.skip(1)
		x := p.exprOf(precUnary)
		if n, ok := x.(*ast.NumberLit); ok {
			n.Pos = t.pos
			return n
		}
		return &ast.Unary{Pos: t.pos, Op: ast.Plus, X: x}
	case "RUNNING":
		p.skip(1)
		return &ast.Unary{Pos: t.pos, Op: ast.Running, X: p.exprOf(precUnary)}
	case "FINAL":
		if n := p.peek(1); nameToken(n) || n.kw == "(" || ast.IsCallable(n.kw) {
			p.skip(1)
			return &ast.Unary{Pos: t.pos, Op: ast.Final, X: p.exprOf(precUnary)}
		}
	}
	return p.postfix(p.primary())
}

// negated returns a number with the other sign.
func negated(text string) string {
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		return rest
	}
	return "-" + text
}

// simpleOps are the operators that need nothing but a right operand, by what their tokens do.
var simpleOps = [...]ast.BinaryOp{
	infixOr: ast.Or, infixAnd: ast.And, infixEq: ast.Eq, infixNotEq: ast.NotEq, infixLess: ast.Less,
	infixLessEq: ast.LessEq, infixGreater: ast.Greater, infixGreaterEq: ast.GreaterEq, infixContains: ast.Contains,
	infixOverlaps: ast.Overlaps, infixEquals: ast.Equals, infixPrecedes: ast.Precedes, infixSucceeds: ast.Succeeds,
	infixAdd: ast.Add, infixSub: ast.Sub, infixMul: ast.Mul, infixDiv: ast.Div, infixMod: ast.Mod,
	infixConcat: ast.Concat,
}

// infixes goes on with the operators behind an operand that bind at least as strongly as wanted.
func (p *parser) infixes(x ast.Expr, wanted int) ast.Expr {
	for {
		var y ast.Expr
		t := p.tok()
		switch {
		case t.infix == infixNone:
			return x
		case t.infix <= infixConcat:
			op := simpleOps[t.infix]
			prec := op.Precedence()
			if prec == ast.Eq.Precedence() && p.quantifierAhead(op) {
				if wanted > precBetween {
					return x
				}
				y = p.quantified(x, op)
				break
			}
			if prec < wanted {
				return x
			}
			p.skip(1)
			y = &ast.Binary{Pos: x.Position(), Op: op, X: x, Y: p.exprOf(prec + 1)}
		default:
			if y = p.wordInfix(x, t.infix, wanted); y == nil {
				return x
			}
		}
		x = y
		p.link()
	}
}

// quantifierAhead reports whether ANY, SOME or ALL stands behind the comparison at the current token. With one of them it
// binds like IN.
func (p *parser) quantifierAhead(op ast.BinaryOp) bool {
	if op < ast.Eq || op > ast.GreaterEq {
		return false
	}
	kw := p.peek(1).kw
	return kw == "ANY" || kw == "SOME" || kw == "ALL"
}

// quantified takes a comparison with ANY, SOME or ALL and a list or query.
func (p *parser) quantified(x ast.Expr, op ast.BinaryOp) ast.Expr {
	q := &ast.Quantified{Pos: x.Position(), X: x, Op: op, All: p.peek(1).kw == "ALL"}
	p.skip(2)
	q.List, q.Query = p.listOrQuery()
	return q
}

// wordInfix takes an operator of words behind an operand; it returns nil if there is none that binds as strongly as
// wanted.
func (p *parser) wordInfix(x ast.Expr, kind infix, wanted int) ast.Expr {
	switch kind {
	case infixIs:
		return p.isTest(x, wanted)
	case infixFormat:
		if wanted > precIs || p.peek(1).kw != "JSON" {
			return nil
		}
		p.skip(2)
		return &ast.FormatJSON{Pos: x.Position(), X: x}
	case infixMultiset:
		return p.multisetOp(x, wanted)
	case infixImmediately, infixMember, infixSubmultiset:
		return p.twoWords(x, kind, wanted)
	case infixNot:
		return p.negatedInfix(x, wanted)
	}
	if wanted > precBetween {
		return nil
	}
	return p.rangeOp(x, kind, false)
}

// negatedInfix takes NOT IN and its like.
func (p *parser) negatedInfix(x ast.Expr, wanted int) ast.Expr {
	next := p.peek(1).infix
	if next == infixSubmultiset {
		if wanted > ast.NotSubmultisetOf.Precedence() {
			return nil
		}
		p.skip(2)
		p.need("OF")
		return &ast.Binary{Pos: x.Position(), Op: ast.NotSubmultisetOf, X: x, Y: p.exprOf(ast.Eq.Precedence() + 1)}
	}
	if wanted > precBetween {
		return nil
	}
	if next < infixIn || next > infixSimilar {
		p.skip(1)
		for _, w := range [...]string{"IN", "BETWEEN", "LIKE", "SIMILAR"} {
			p.expect(w)
		}
		p.unexpected()
		return x
	}
	p.skip(1)
	return p.rangeOp(x, next, true)
}

// rangeOp takes IN, BETWEEN, LIKE and their like.
func (p *parser) rangeOp(x ast.Expr, kind infix, not bool) ast.Expr {
	pos := x.Position()
	p.skip(1)
	switch kind {
	case infixIn:
		in := &ast.In{Pos: pos, X: x, Not: not}
		in.List, in.Query = p.listOrQuery()
		return in
	case infixBetween:
		b := &ast.Between{Pos: pos, X: x, Not: not}
		if p.accept("SYMMETRIC") {
			b.Symmetric = true
		} else {
			p.accept("ASYMMETRIC")
		}
		b.Low = p.exprOf(ast.And.Precedence() + 1)
		p.need("AND")
		b.High = p.exprOf(precBetween + 1)
		return b
	}
	l := &ast.Like{Pos: pos, X: x, Not: not}
	switch kind {
	case infixILike:
		l.Kind = ast.ILikeOp
	case infixRLike:
		l.Kind = ast.RLikeOp
	case infixSimilar:
		l.Kind = ast.SimilarTo
		p.need("TO")
	}
	l.Pattern = p.exprOf(precBetween)
	if p.accept("ESCAPE") {
		l.Escape = p.exprOf(precBetween + 1)
	}
	return l
}

// twoWords takes MEMBER OF, SUBMULTISET OF, IMMEDIATELY PRECEDES and IMMEDIATELY SUCCEEDS.
func (p *parser) twoWords(x ast.Expr, kind infix, wanted int) ast.Expr {
	prec := ast.Eq.Precedence()
	next := p.peek(1).kw
	if wanted > prec || kind == infixImmediately && next != "PRECEDES" && next != "SUCCEEDS" {
		return nil
	}
	op := ast.MemberOf
	p.skip(1)
	switch {
	case kind == infixMember:
		p.need("OF")
	case kind == infixSubmultiset:
		op = ast.SubmultisetOf
		p.need("OF")
	case p.accept("PRECEDES"):
		op = ast.ImmediatelyPrecedes
	default:
		op = ast.ImmediatelySucceeds
		p.skip(1)
	}
	return &ast.Binary{Pos: x.Position(), Op: op, X: x, Y: p.exprOf(prec + 1)}
}

// multisetOp takes MULTISET UNION and its like.
func (p *parser) multisetOp(x ast.Expr, wanted int) ast.Expr {
	var op ast.BinaryOp
	switch p.peek(1).kw {
	case "UNION":
		op = ast.MultisetUnion
	case "EXCEPT":
		op = ast.MultisetExcept
	case "INTERSECT":
		op = ast.MultisetIntersect
	default:
		return nil
	}
	prec := op.Precedence()
	if wanted > prec {
		return nil
	}
	p.skip(2)
	if p.accept("DISTINCT") {
		op++
	} else {
		p.accept("ALL")
	}
	return &ast.Binary{Pos: x.Position(), Op: op, X: x, Y: p.exprOf(prec + 1)}
}

// isTest takes what stands behind IS.
func (p *parser) isTest(x ast.Expr, wanted int) ast.Expr {
	n := 1
	if p.peek(1).kw == "NOT" {
		n = 2
	}
	if p.peek(n).kw == "DISTINCT" {
		op, prec := ast.IsDistinctFrom, ast.IsDistinctFrom.Precedence()
		if n == 2 {
			op = ast.IsNotDistinctFrom
		}
		if wanted > prec {
			return nil
		}
		p.skip(n + 1)
		p.need("FROM")
		return &ast.Binary{Pos: x.Position(), Op: op, X: x, Y: p.exprOf(prec + 1)}
	}
	if wanted > precIs {
		return nil
	}
	p.skip(n)
	is := &ast.Is{Pos: x.Position(), X: x, Not: n == 2}
	switch {
	case p.accept("NULL"):
	case p.accept("TRUE"):
		is.Test = ast.IsTrue
	case p.accept("FALSE"):
		is.Test = ast.IsFalse
	case p.accept("UNKNOWN"):
		is.Test = ast.IsUnknown
	case p.accept("JSON"):
		is.Test = p.jsonTest()
	case p.accept("EMPTY"):
		is.Test = ast.IsEmpty
	case p.acceptAll("A SET"):
		is.Test = ast.IsASet
	default:
		p.expect("DISTINCT FROM")
		if n == 1 {
			p.expect("NOT")
		}
		p.unexpected()
	}
	return is
}

// jsonTest takes what may stand behind IS JSON.
func (p *parser) jsonTest() ast.IsTest {
	switch {
	case p.accept("VALUE"):
	case p.accept("OBJECT"):
		return ast.IsJSONObject
	case p.accept("ARRAY"):
		return ast.IsJSONArray
	case p.accept("SCALAR"):
		return ast.IsJSONScalar
	}
	return ast.IsJSONValue
}

// listOrQuery takes a query or a list of expressions in parentheses.
func (p *parser) listOrQuery() ([]ast.Expr, ast.Query) {
	p.need("(")
	if p.startsQuery() {
		q := p.query()
		p.need(")")
		return nil, q
	}
	if p.tok().kw == ")" {
		p.expect(anExpr)
		p.expect(aQuery)
		p.unexpected()
	}
	items := []ast.Expr{p.exprOrQuery()}
	for p.accept(",") {
		items = append(items, p.exprOrQuery())
	}
	p.need(")")
	if s, ok := items[0].(*ast.Subquery); ok && len(items) == 1 {
		return nil, s.Query
	}
	return items, nil
}

// exprOrQuery takes an expression, or a query, with or without parentheses around it, which becomes a *ast.Subquery.
func (p *parser) exprOrQuery() ast.Expr {
	pos := p.pos()
	if p.startsQuery() {
		return &ast.Subquery{Pos: pos, Query: p.query()}
	}
	if p.tok().kw != "(" {
		return p.expr()
	}
	if !p.enter() {
		p.leave()
		return &ast.NullLit{Pos: pos}
	}
	defer p.leave()
	x := p.parenthesized()
	if s, ok := x.(*ast.Subquery); ok && p.continuesQuery() {
		return &ast.Subquery{Pos: pos, Query: p.queryTail(s.Query)}
	}
	return p.infixes(p.postfix(p.intervalSub(x)), 0)
}

// parenthesized takes what stands in parentheses: a query, an expression, or several, which make a row.
func (p *parser) parenthesized() ast.Expr {
	pos := p.pos()
	p.skip(1)
	if p.startsQuery() {
		q := p.query()
		p.need(")")
		return &ast.Subquery{Pos: pos, Query: q}
	}
	x := p.exprOrQuery()
	if p.is(",") {
		items := []ast.Expr{x}
		for p.accept(",") {
			items = append(items, p.exprOrQuery())
		}
		x = &ast.RowCtor{Pos: pos, Items: items}
	}
	p.need(")")
	return x
}

// postfix goes on with [index] and .field behind an operand.
func (p *parser) postfix(x ast.Expr) ast.Expr {
	for {
		switch p.tok().kw {
		case "[":
			p.skip(1)
			x = &ast.Index{Pos: x.Position(), X: x, Index: p.expr()}
			p.need("]")
		case ".":
			p.skip(1)
			x = &ast.Field{Pos: x.Position(), X: x, Name: p.ident()}
		default:
			return x
		}
		p.link()
	}
}

// primary takes an operand.
func (p *parser) primary() ast.Expr {
	t := p.tok()
	switch t.kind {
	case tNumber:
		p.skip(1)
		return &ast.NumberLit{Pos: t.pos, Text: t.text}
	case tString, tUnicode:
		return p.stringLit()
	case tBinary:
		return p.binary()
	case tQuoted:
		return p.nameOrCall()
	case tOp:
		switch t.kw {
		case "(":
			return p.intervalSub(p.parenthesized())
		case "?":
			return p.param()
		case "{":
			return p.escaped()
		}
	case tWord:
		if x := p.wordPrimary(t); x != nil {
			return x
		}
		if !t.reserved || ast.IsCallable(t.kw) && p.peek(1).kw == "(" {
			return p.nameOrCall()
		}
	}
	p.expect(anExpr)
	if t.kind == tWord && t.reserved {
		p.reservedWord(t)
	} else {
		p.unexpected()
	}
	return &ast.NullLit{Pos: t.pos}
}

// reservedWord fails at a reserved word where an expression should begin.
func (p *parser) reservedWord(t *token) {
	if structural[t.kw] {
		p.unexpected()
	} else {
		p.fail(p.i, &Error{Found: found(t), Expected: []string{anExpr}, Reason: "found " + found(t) +
			", a reserved word, expected an expression; as a name it stands in backticks: `" + t.text + "`"})
	}
}

// escaped takes a JDBC escape: {d '...'}, {t '...'}, {ts '...'} or {fn f(...)}, which mean what is in them.
func (p *parser) escaped() ast.Expr {
	pos := p.pos()
	p.skip(1)
	t := p.tok()
	kinds := map[string]ast.DateTimeKind{"D": ast.DateKind, "T": ast.TimeKind, "TS": ast.TimestampKind}
	var x ast.Expr = &ast.NullLit{Pos: pos}
	if kind, ok := kinds[strings.ToUpper(t.text)]; ok && p.peek(1).kind == tString {
		x = &ast.DateTimeLit{Pos: pos, Kind: kind, Text: p.peek(1).text}
		p.skip(2)
	} else if strings.EqualFold(t.text, "fn") {
		p.skip(1)
		x = p.functionCall()
	} else {
		for _, w := range [...]string{"d", "t", "ts", "fn"} {
			p.expect(w)
		}
		p.unexpected()
	}
	p.need("}")
	return x
}

// param takes a dynamic parameter.
func (p *parser) param() ast.Expr {
	x := &ast.Param{Pos: p.pos(), Index: p.params}
	p.params++
	p.skip(1)
	return x
}

// binary takes X'...' with its continuations.
func (p *parser) binary() ast.Expr {
	t := p.tok()
	p.skip(1)
	b := &ast.BinaryLit{Pos: t.pos, Hex: t.text}
	for n := p.tok(); n.kind == tString && n.kw == ""; n = p.tok() {
		b.Hex += n.text
		p.skip(1)
	}
	b.Hex = strings.ToUpper(b.Hex)
	if strings.Trim(b.Hex, "0123456789ABCDEF") != "" {
		p.refuse(p.i-1, "a binary literal holds hexadecimal digits only")
	} else if len(b.Hex)%2 != 0 {
		p.refuse(p.i-1, "a binary literal holds two digits for each byte, this one has an odd number")
	}
	return b
}

// nameOrCall takes a name with dots, or the call of a function of that name.
func (p *parser) nameOrCall() ast.Expr {
	t := p.tok()
	first := &ast.Ident{Pos: t.pos, Name: t.text}
	p.skip(1)
	parts := []*ast.Ident{first}
	for p.tok().kw == "." {
		p.skip(1)
		parts = append(parts, p.ident())
	}
	if p.tok().kw == "(" {
		return p.call(&ast.ObjectName{Pos: t.pos, Parts: parts})
	}
	return &ast.ColumnRef{Pos: t.pos, Parts: parts}
}

// wordPrimary takes what begins with a keyword; it returns nil if the word is to be taken as a name.
func (p *parser) wordPrimary(t *token) ast.Expr {
	next := p.peek(1)
	switch t.kw {
	case "":
		return nil
	case "NULL":
		p.skip(1)
		return &ast.NullLit{Pos: t.pos}
	case "TRUE", "FALSE":
		p.skip(1)
		return &ast.BoolLit{Pos: t.pos, Value: t.kw == "TRUE"}
	case "UNKNOWN":
		p.skip(1)
		return &ast.UnknownLit{Pos: t.pos}
	case "DATE", "TIME", "TIMESTAMP", "DATETIME":
		return p.dateTime(t, next)
	case "INTERVAL":
		return p.interval()
	case "CASE":
		return p.caseExpr()
	case "EXISTS", "UNIQUE":
		return p.exists(t)
	case "ROW", "PERIOD":
		if next.kw == "(" {
			p.skip(1)
			return &ast.RowCtor{Pos: t.pos, Explicit: t.kw == "ROW", Items: parenList(p, p.exprOrQuery)}
		}
	case "ARRAY", "MAP", "MULTISET":
		if next.kw == "[" || next.kw == "(" {
			return p.collection(t)
		}
	case "DESCRIPTOR":
		if next.kw == "(" {
			return p.descriptor()
		}
	}
	if ast.IsContext(t.kw) {
		return p.contextValue(t)
	}
	if next.kw == "(" {
		return p.specialFunction(t)
	}
	return nil
}

// dateTime takes DATE '...' and its like, or a call of the function DATE(...).
func (p *parser) dateTime(t, next *token) ast.Expr {
	kind := ast.TimestampKind
	switch t.kw {
	case "DATETIME":
		if next.kind == tString {
			p.refuse(p.i, "there is no type DATETIME; write TIMESTAMP")
		}
	case "DATE":
		kind = ast.DateKind
	case "TIME":
		kind = ast.TimeKind
	}
	switch {
	case next.kw == "(":
		p.skip(1)
		name := upperName(t)
		return p.call(name)
	case t.kw == "TIMESTAMP" && next.kw == "WITH":
		p.skip(1)
		p.needAll("WITH LOCAL TIME ZONE")
		kind = ast.TimestampLTZKind
	default:
		p.skip(1)
	}
	if p.tok().kind != tString {
		p.expect(aString)
		p.unexpected()
		return &ast.NullLit{Pos: t.pos}
	}
	lit := &ast.DateTimeLit{Pos: t.pos, Kind: kind, Text: p.tok().text}
	p.skip(1)
	return lit
}

// upperName makes a name of a keyword.
func upperName(t *token) *ast.ObjectName {
	return &ast.ObjectName{Pos: t.pos, Parts: []*ast.Ident{{Pos: t.pos, Name: t.kw}}}
}

// contextValue takes CURRENT_DATE and its like, with or without parentheses.
func (p *parser) contextValue(t *token) ast.Expr {
	p.skip(1)
	name := upperName(t)
	if p.tok().kw == "(" && ast.IsCallable(t.kw) {
		return p.call(name)
	}
	return &ast.FuncCall{Pos: t.pos, Name: name, NoParens: true}
}

// exists takes EXISTS (query) and UNIQUE (query).
func (p *parser) exists(t *token) ast.Expr {
	p.skip(1)
	x := &ast.Exists{Pos: t.pos, Unique: t.kw == "UNIQUE"}
	if p.is("(") {
		if s, ok := p.parenthesized().(*ast.Subquery); ok {
			x.Query = s.Query
			return x
		}
	}
	if p.err == nil {
		p.refuse(p.i, "%s needs a query in parentheses", t.kw)
	}
	x.Query = &ast.Values{Pos: t.pos}
	return x
}

// caseExpr takes CASE.
func (p *parser) caseExpr() ast.Expr {
	c := &ast.Case{Pos: p.pos()}
	p.skip(1)
	if !p.is("WHEN") {
		c.Operand = p.expr()
	}
	for p.is("WHEN") {
		w := &ast.When{Pos: p.pos()}
		p.skip(1)
		w.Conds = []ast.Expr{p.expr()}
		for c.Operand != nil && p.accept(",") {
			w.Conds = append(w.Conds, p.expr())
		}
		p.need("THEN")
		w.Result = p.expr()
		c.Whens = append(c.Whens, w)
	}
	if c.Whens == nil {
		p.unexpected()
	}
	if p.accept("ELSE") {
		c.Else = p.expr()
	}
	p.need("END")
	return c
}

// collection takes ARRAY, MAP and MULTISET with their elements or a query.
func (p *parser) collection(t *token) ast.Expr {
	p.skip(1)
	var items []ast.Expr
	var q ast.Query
	if p.tok().kw == "(" {
		at := p.i
		s, ok := p.parenthesized().(*ast.Subquery)
		if !ok {
			p.refuse(at, "%s takes its elements in square brackets, or a query in parentheses", t.kw)
			s = &ast.Subquery{Query: &ast.Values{}}
		}
		q = s.Query
	} else {
		p.skip(1)
		if t.kw == "MULTISET" || !p.is("]") {
			items = commaList(p, p.expr)
		}
		p.need("]")
	}
	switch t.kw {
	case "ARRAY":
		return &ast.ArrayCtor{Pos: t.pos, Items: items, Query: q}
	case "MAP":
		return &ast.MapCtor{Pos: t.pos, Items: items, Query: q}
	}
	return &ast.MultisetCtor{Pos: t.pos, Items: items, Query: q}
}

// descriptor takes DESCRIPTOR(columns).
func (p *parser) descriptor() ast.Expr {
	d := &ast.Descriptor{Pos: p.pos()}
	p.skip(2)
	if !p.accept(")") {
		d.Columns = commaList(p, p.objectName)
		p.need(")")
	}
	return d
}
