package ast

import "strings"

// The precedences of operators, as Calcite has them.
const (
	precMultisetUnion     = 14
	precMultisetIntersect = 16
	precOr                = 22
	precAnd               = 24
	precNot               = 26
	precIs                = 28
	precCompare           = 30
	precBetween           = 32
	precAdd               = 40
	precMul               = 60
	precUnary             = 80
	precPrimary           = 100
)

// Precedence returns how strongly a binary operator binds: operators with a higher number bind first.
func (op BinaryOp) Precedence() int {
	switch {
	case op == Or:
		return precOr
	case op == And:
		return precAnd
	case op <= ImmediatelySucceeds:
		return precCompare
	case op < MultisetIntersect:
		return precMultisetUnion
	case op <= MultisetIntersectDistinct:
		return precMultisetIntersect
	case op <= Sub:
		return precAdd
	}
	return precMul
}

var binaryNames = [...]string{
	Or: "OR", And: "AND", Eq: "=", NotEq: "<>", Less: "<", LessEq: "<=", Greater: ">", GreaterEq: ">=",
	IsDistinctFrom: "IS DISTINCT FROM", IsNotDistinctFrom: "IS NOT DISTINCT FROM", MemberOf: "MEMBER OF",
	SubmultisetOf: "SUBMULTISET OF", NotSubmultisetOf: "NOT SUBMULTISET OF", Contains: "CONTAINS",
	Overlaps: "OVERLAPS", Equals: "EQUALS", Precedes: "PRECEDES", Succeeds: "SUCCEEDS",
	ImmediatelyPrecedes: "IMMEDIATELY PRECEDES", ImmediatelySucceeds: "IMMEDIATELY SUCCEEDS",
	MultisetUnion: "MULTISET UNION", MultisetUnionDistinct: "MULTISET UNION DISTINCT",
	MultisetExcept: "MULTISET EXCEPT", MultisetExceptDistinct: "MULTISET EXCEPT DISTINCT",
	MultisetIntersect: "MULTISET INTERSECT", MultisetIntersectDistinct: "MULTISET INTERSECT DISTINCT",
	Add: "+", Sub: "-", Mul: "*", Div: "/", Mod: "%", Concat: "||",
}

// String returns the operator as it is printed.
func (op BinaryOp) String() string { return binaryNames[op] }

// precedence returns how strongly an expression holds together.
func precedence(e Expr) int {
	switch e := e.(type) {
	case *Binary:
		return e.Op.Precedence()
	case *Unary:
		if e.Op == Not {
			return precNot
		}
		return precUnary
	case *NumberLit:
		if strings.HasPrefix(e.Text, "-") {
			return precUnary
		}
	case *Is, *FormatJSON:
		return precIs
	case *Between, *Like, *In, *Quantified:
		return precBetween
	}
	return precPrimary
}

// expr writes an expression, in parentheses if it binds less than wanted.
func (p *printer) expr(e Expr, wanted int) {
	if precedence(e) < wanted {
		p.s("(")
		p.expr(e, 0)
		p.s(")")
		return
	}
	switch e := e.(type) {
	case *Binary:
		p.binary(e)
	case *Unary:
		p.unary(e)
	case *Is:
		p.expr(e.X, precIs)
		p.s(" IS ")
		p.when(e.Not, "NOT ")
		p.s([...]string{"NULL", "TRUE", "FALSE", "UNKNOWN", "JSON VALUE", "JSON OBJECT", "JSON ARRAY", "JSON SCALAR",
			"EMPTY", "A SET"}[e.Test])
	case *FormatJSON:
		p.expr(e.X, precIs)
		p.s(" FORMAT JSON")
	case *Between:
		p.between(e)
	case *Like:
		p.like(e)
	case *In:
		p.expr(e.X, precBetween+1)
		p.when(e.Not, " NOT")
		p.s(" IN ")
		p.listOrQuery(e.List, e.Query)
	case *Quantified:
		p.expr(e.X, precBetween+1)
		p.s(" ", e.Op.String(), [...]string{" ANY ", " ALL "}[b2i(e.All)])
		p.listOrQuery(e.List, e.Query)
	default:
		p.primary(e)
	}
}

// b2i is 1 for true.
func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// binary writes x op y. Comparisons within comparisons are in parentheses on both sides.
func (p *printer) binary(e *Binary) {
	prec := e.Op.Precedence()
	left := prec
	if prec == precCompare {
		left++
	}
	p.expr(e.X, left)
	p.s(" ", e.Op.String(), " ")
	p.expr(e.Y, prec+1)
}

// unary writes an operator and its operand.
func (p *printer) unary(e *Unary) {
	if e.Op == Not {
		p.s("NOT ")
		p.expr(e.X, precNot)
		return
	}
	p.s([...]string{Neg: "-", Plus: "+", Final: "FINAL ", Running: "RUNNING "}[e.Op])
	if e.Op == Final && !followsFinal(e.X) {
		p.s("(")
		p.expr(e.X, 0)
		p.s(")")
		return
	}
	p.expr(e.X, precUnary+1)
}

// followsFinal reports whether FINAL before an expression without parentheses is no name: only names and calls do that.
func followsFinal(e Expr) bool {
	switch e := e.(type) {
	case *ColumnRef:
		return true
	case *FuncCall:
		upper := strings.ToUpper(e.Name.Parts[0].Name)
		return !e.NoParens && (!IsReserved(upper) || IsCallable(upper))
	}
	return false
}

// between writes x BETWEEN low AND high.
func (p *printer) between(e *Between) {
	p.expr(e.X, precBetween+1)
	p.when(e.Not, " NOT")
	p.s(" BETWEEN ")
	p.when(e.Symmetric, "SYMMETRIC ")
	p.expr(e.Low, precBetween+1)
	p.s(" AND ")
	p.expr(e.High, precBetween+1)
}

// like writes x LIKE pattern.
func (p *printer) like(e *Like) {
	p.expr(e.X, precBetween+1)
	p.when(e.Not, " NOT")
	p.s([...]string{" LIKE ", " ILIKE ", " RLIKE ", " SIMILAR TO "}[e.Kind])
	p.expr(e.Pattern, precBetween+1)
	if e.Escape != nil {
		p.s(" ESCAPE ")
		p.expr(e.Escape, precBetween+1)
	}
}

// listOrQuery writes the right side of IN and its like.
func (p *printer) listOrQuery(items []Expr, q Query) {
	if q != nil {
		p.operand(q, true)
		return
	}
	parens(p, items)
}

// primary writes an expression that no operator stands in the middle of.
func (p *printer) primary(e Expr) {
	switch e := e.(type) {
	case *ColumnRef:
		p.columnRef(e)
	case *Star:
		p.path(e.Qualifier)
		p.when(len(e.Qualifier) > 0, ".")
		p.s("*")
	case *Index:
		p.expr(e.X, precPrimary)
		p.s("[")
		p.expr(e.Index, 0)
		p.s("]")
	case *Field:
		p.fieldAccess(e)
	case *Exists:
		p.s([...]string{"EXISTS ", "UNIQUE "}[b2i(e.Unique)])
		p.operand(e.Query, true)
	case *Subquery:
		p.operand(e.Query, true)
	case *Case:
		p.caseExpr(e)
	case *Cast:
		p.s([...]string{"CAST(", "TRY_CAST("}[b2i(e.Try)])
		p.expr(e.X, 0)
		p.s(" AS ")
		p.typ(e.Type)
		p.s(")")
	case *Trim:
		p.trim(e)
	case *FuncCall:
		p.call(e)
	case *RowCtor:
		p.when(e.Explicit, "ROW")
		parens(p, e.Items)
	case *ArrayCtor:
		p.constructor("ARRAY", e.Items, e.Query)
	case *MapCtor:
		p.constructor("MAP", e.Items, e.Query)
	case *MultisetCtor:
		p.constructor("MULTISET", e.Items, e.Query)
	case *GroupingSets:
		p.s([...]string{"GROUPING SETS ", "CUBE ", "ROLLUP "}[e.Kind])
		parens(p, e.Items)
	case *Param:
		p.s("?")
	case *JSONExists, *JSONValue, *JSONQuery, *JSONObject, *JSONArray, *JSONObjectAgg, *JSONArrayAgg:
		p.json(e)
	default:
		p.literal(e)
	}
}

// literal writes literals and the arguments that are no values.
func (p *printer) literal(e Expr) {
	switch e := e.(type) {
	case *NullLit:
		p.s("NULL")
	case *BoolLit:
		p.s([...]string{"FALSE", "TRUE"}[b2i(e.Value)])
	case *UnknownLit:
		p.s("UNKNOWN")
	case *NumberLit:
		p.s(e.Text)
	case *StringLit:
		if e.Charset != "" {
			p.s("_", e.Charset)
		}
		p.str(e.Value)
	case *BinaryLit:
		p.s("X'", e.Hex, "'")
	case *DateTimeLit:
		p.s([...]string{"DATE ", "TIME ", "TIMESTAMP ", "TIMESTAMP WITH LOCAL TIME ZONE "}[e.Kind])
		p.str(e.Text)
	case *IntervalLit:
		p.s("INTERVAL ")
		p.when(e.Negative, "-")
		p.str(e.Text)
		p.s(" ")
		p.intervalRange(e.Range)
	case *IntervalExpr:
		p.s("INTERVAL (")
		p.expr(e.Value, 0)
		p.s(") ")
		p.intervalRange(e.Range)
	case *IntervalSub:
		p.s("(")
		p.expr(e.X, precAdd)
		p.s(" - ")
		p.expr(e.Y, precAdd+1)
		p.s(") ")
		p.intervalRange(e.Range)
	case *UnitArg:
		p.s(e.Name)
	case *NamedArg:
		p.name(e.Name)
		p.s(" => ")
		p.expr(e.Value, 0)
	case *DefaultArg:
		p.s("DEFAULT")
	case *TableArg:
		p.tableArg(e)
	case *ModelArg:
		p.s("MODEL ")
		p.path(e.Name.Parts)
	case *Descriptor:
		p.s("DESCRIPTOR")
		parens(p, e.Columns)
	}
}

// columnRef writes a name with dots. MAP[1] and FINAL x would be something else than names.
func (p *printer) columnRef(e *ColumnRef) {
	first := e.Parts[0].Name
	p.quoted(first, strings.EqualFold(first, "MAP") || strings.EqualFold(first, "FINAL"))
	for _, x := range e.Parts[1:] {
		p.s(".")
		p.name(x)
	}
}

// fieldAccess writes x.name; names with dots and numbers would swallow the dot, so they stand in parentheses.
func (p *printer) fieldAccess(e *Field) {
	inParens := false
	switch x := e.X.(type) {
	case *ColumnRef:
		inParens = true
	case *NumberLit:
		inParens = !strings.HasPrefix(x.Text, "-")
	}
	p.when(inParens, "(")
	p.expr(e.X, precPrimary)
	p.when(inParens, ")")
	p.s(".")
	p.name(e.Name)
}

// caseExpr writes CASE.
func (p *printer) caseExpr(e *Case) {
	p.s("CASE")
	p.clause(" ", e.Operand)
	for _, w := range e.Whens {
		p.s(" ")
		p.caseWhen(w)
	}
	p.clause(" ELSE ", e.Else)
	p.s(" END")
}

// caseWhen writes one WHEN.
func (p *printer) caseWhen(w *When) {
	p.s("WHEN ")
	list(p, w.Conds)
	p.s(" THEN ")
	p.expr(w.Result, 0)
}

// trim writes TRIM.
func (p *printer) trim(e *Trim) {
	p.s("TRIM(", [...]string{"BOTH", "LEADING", "TRAILING"}[e.Side])
	p.clause(" ", e.Chars)
	p.s(" FROM ")
	p.expr(e.X, 0)
	p.s(")")
}

// constructor writes ARRAY[...] and its like.
func (p *printer) constructor(word string, items []Expr, q Query) {
	p.s(word)
	if q != nil {
		p.operand(q, true)
		return
	}
	p.s("[")
	list(p, items)
	p.s("]")
}

// tableArg writes a table as an argument.
func (p *printer) tableArg(e *TableArg) {
	if e.Name != nil {
		p.s("TABLE ")
		p.path(e.Name.Parts)
	} else {
		p.operand(e.Query, true)
	}
	if len(e.PartitionBy) > 0 {
		p.s(" PARTITION BY ")
		parens(p, e.PartitionBy)
	}
	if len(e.OrderBy) > 0 {
		p.s(" ORDER BY ")
		parens(p, e.OrderBy)
	}
}

// call writes a function call.
func (p *printer) call(e *FuncCall) {
	if !p.specialCall(e) {
		p.funcName(e)
		if !e.NoParens {
			p.s("(")
			p.when(e.Distinct, "DISTINCT ")
			list(p, e.Args)
			p.orderBy(e.OrderBy, " ")
			p.s(")")
		}
	}
	if len(e.WithinDistinct) > 0 {
		p.s(" WITHIN DISTINCT ")
		parens(p, e.WithinDistinct)
	}
	if len(e.WithinGroup) > 0 {
		p.s(" WITHIN GROUP (")
		p.orderBy(e.WithinGroup, "")
		p.s(")")
	}
	p.s([...]string{"", " IGNORE NULLS", " RESPECT NULLS"}[e.Nulls])
	if e.Filter != nil {
		p.clause(" FILTER (WHERE ", e.Filter)
		p.s(")")
	}
	if w := e.Over; w != nil {
		p.s(" OVER ")
		if w.Ref != nil && len(w.PartitionBy) == 0 && len(w.OrderBy) == 0 && w.Frame == nil && !w.DisallowPartial {
			p.name(w.Ref)
		} else {
			p.window(w)
		}
	}
}

// specialNames are the words that do not name a function before a parenthesis, though they are names elsewhere; SOME does,
// but not behind a comparison.
var specialNames = map[string]bool{
	"DESCRIPTOR": true, "MAP": true, "FINAL": true, "TIMESTAMPADD": true, "TIMESTAMPDIFF": true, "SOME": true,
}

// funcName writes the name of a function; reserved words that name functions need no backticks.
func (p *printer) funcName(e *FuncCall) {
	if len(e.Name.Parts) > 1 {
		p.path(e.Name.Parts)
		return
	}
	name := e.Name.Parts[0].Name
	upper := strings.ToUpper(name)
	switch {
	case specialNames[upper]:
		p.quoted(name, true)
	case IsContext(upper) && name == upper && (e.NoParens || IsCallable(upper)), IsCallable(upper) && !IsContext(upper):
		p.s(name)
	default:
		p.s(Quote(name))
	}
}

// hasRange reports whether an interval's range that may have a TO stands anywhere in an expression.
func hasRange(e Expr) bool {
	found := false
	Inspect(e, func(n Node) bool {
		r, ok := n.(*IntervalRange)
		found = found || ok && r.To == UnitNone
		return !found
	})
	return found
}

// specialCall writes the calls that have a syntax of their own, and reports whether e is one.
func (p *printer) specialCall(e *FuncCall) bool {
	if len(e.Name.Parts) != 1 || len(e.Args) == 0 || e.Distinct || len(e.OrderBy) > 0 {
		return false
	}
	n := len(e.Args)
	var words []string
	switch name := e.Name.Parts[0].Name; name {
	case "EXTRACT":
		if _, unit := e.Args[0].(*UnitArg); unit && n == 2 {
			words = []string{" FROM "}
		}
	case "FLOOR", "CEIL":
		if _, unit := e.Args[n-1].(*UnitArg); n == 1 || unit && n == 2 {
			words = []string{" TO "}
		}
	case "POSITION":
		if n == 2 || n == 3 {
			words = []string{" IN ", " FROM "}
		}
	case "OVERLAY":
		if n == 3 || n == 4 {
			words = []string{" PLACING ", " FROM ", " FOR "}
		}
	case "SUBSTRING":
		if n == 2 || n == 3 {
			words = []string{", ", ", "}
		}
	case "TIMESTAMPADD", "TIMESTAMPDIFF":
		if _, unit := e.Args[0].(*UnitArg); unit && n == 3 {
			words = []string{", ", ", "}
		}
	case "TRANSLATE":
		if n >= 2 {
			p.s(name)
			parens(p, e.Args)
			return true
		}
	case "DATE", "TIME", "TIMESTAMP", "DATETIME":
		p.s(name)
		parens(p, e.Args)
		return true
	}
	if words == nil {
		return false
	}
	p.s(e.Name.Parts[0].Name, "(")
	for i, a := range e.Args {
		wanted := 0
		if i > 0 {
			p.s(words[i-1])
		} else if words[0] == " IN " {
			wanted = precBetween + 1
		}
		// The TO behind an interval would be the interval's.
		inParens := i == 0 && n == 2 && words[0] == " TO " && hasRange(a)
		p.when(inParens, "(")
		p.expr(a, wanted)
		p.when(inParens, ")")
	}
	p.s(")")
	return true
}
