package ast

// query writes a query.
func (p *printer) query(q Query) {
	switch q := q.(type) {
	case *QueryExpr:
		p.queryExpr(q)
	case *Select:
		p.selectBlock(q)
	case *SetOp:
		p.setOp(q)
	case *Values:
		p.s("VALUES ")
		for i, r := range q.Rows {
			p.when(i > 0, ", ")
			parens(p, r.Items)
		}
	case *ExplicitTable:
		p.s("TABLE ")
		p.path(q.Name.Parts)
	}
}

// queryExpr writes WITH, a body, ORDER BY and the limits.
func (p *printer) queryExpr(q *QueryExpr) {
	if len(q.With) > 0 {
		p.s("WITH ")
		list(p, q.With)
		p.s(" ")
	}
	_, nested := q.Body.(*QueryExpr)
	p.operand(q.Body, nested)
	p.orderBy(q.OrderBy, " ")
	if q.Limit != nil {
		p.s(" LIMIT ")
		p.node(q.Limit)
	}
	if q.Offset != nil {
		p.s(" OFFSET ")
		p.node(q.Offset)
	}
}

// operand writes a query, in parentheses if it needs them.
func (p *printer) operand(q Query, inParens bool) {
	p.when(inParens, "(")
	p.query(q)
	p.when(inParens, ")")
}

// setLevel says how strongly a query holds together: a set operation's operands need at least its own level.
func setLevel(q Query) int {
	switch q := q.(type) {
	case *QueryExpr:
		return 0
	case *SetOp:
		if q.Kind == Intersect {
			return 2
		}
		return 1
	}
	return 3
}

// setOp writes a set operation.
func (p *printer) setOp(q *SetOp) {
	level := setLevel(q)
	p.operand(q.Left, setLevel(q.Left) < level)
	p.s([...]string{" UNION ", " EXCEPT ", " INTERSECT "}[q.Kind])
	p.when(q.All, "ALL ")
	p.operand(q.Right, setLevel(q.Right) <= level)
}

// selectBlock writes a SELECT.
func (p *printer) selectBlock(q *Select) {
	p.s("SELECT ")
	p.hints(q.Hints, "", " ")
	p.when(q.Distinct, "DISTINCT ")
	list(p, q.Items)
	if q.From != nil {
		p.s(" FROM ")
		p.table(q.From)
	}
	p.clause(" WHERE ", q.Where)
	if q.GroupBy != nil {
		p.s(" ")
		p.part(q.GroupBy)
	}
	p.clause(" HAVING ", q.Having)
	if len(q.Windows) > 0 {
		p.s(" WINDOW ")
		list(p, q.Windows)
	}
	p.clause(" QUALIFY ", q.Qualify)
}

// clause writes a keyword and an expression, if there is one.
func (p *printer) clause(word string, e Expr) {
	if e != nil {
		p.s(word)
		p.expr(e, 0)
	}
}

// orderBy writes ORDER BY if there is one.
func (p *printer) orderBy(items []*OrderItem, before string) {
	if len(items) > 0 {
		p.s(before, "ORDER BY ")
		list(p, items)
	}
}

// partitionBy writes PARTITION BY if there is one.
func (p *printer) partitionBy(items []Expr) {
	if len(items) > 0 {
		p.s("PARTITION BY ")
		list(p, items)
	}
}

// window writes what stands behind OVER, or behind AS in the WINDOW clause.
func (p *printer) window(w *Window) {
	p.s("(")
	sep := ""
	if w.Ref != nil {
		p.name(w.Ref)
		sep = " "
	}
	if len(w.PartitionBy) > 0 {
		p.s(sep)
		p.partitionBy(w.PartitionBy)
		sep = " "
	}
	if len(w.OrderBy) > 0 {
		p.orderBy(w.OrderBy, sep)
		sep = " "
	}
	if w.Frame != nil {
		p.s(sep)
		p.frame(w.Frame)
		sep = " "
	}
	if w.DisallowPartial {
		p.s(sep, "DISALLOW PARTIAL")
	}
	p.s(")")
}

// frame writes the frame of a window.
func (p *printer) frame(f *Frame) {
	p.s([...]string{"ROWS ", "RANGE "}[f.Unit])
	if f.End == nil {
		p.bound(f.Start)
		return
	}
	p.s("BETWEEN ")
	p.bound(f.Start)
	p.s(" AND ")
	p.bound(f.End)
}

// bound writes one end of a frame.
func (p *printer) bound(b *FrameBound) {
	if b.Value != nil {
		p.expr(b.Value, precAdd)
		p.s(" ")
	}
	p.s([...]string{"UNBOUNDED PRECEDING", "PRECEDING", "CURRENT ROW", "FOLLOWING", "UNBOUNDED FOLLOWING"}[b.Kind])
}

// hints writes a hint comment if there are hints.
func (p *printer) hints(hints []*Hint, before, after string) {
	if len(hints) > 0 {
		p.s(before, "/*+ ")
		list(p, hints)
		p.s(" */", after)
	}
}

// hint writes one hint.
func (p *printer) hint(h *Hint) {
	p.name(h.Name)
	switch {
	case len(h.Options) > 0:
		p.options(h.Options)
	case len(h.Args) > 0:
		parens(p, h.Args)
	}
}

// table writes a table expression.
func (p *printer) table(t TableExpr) {
	switch t := t.(type) {
	case *TableName:
		p.path(t.Name.Parts)
		p.hints(t.Hints, " ", "")
		p.tail(t.SystemTime, t.Alias, t.Sample)
	case *DerivedTable:
		p.when(t.Lateral, "LATERAL ")
		p.operand(t.Query, true)
		p.tail(nil, t.Alias, t.Sample)
	case *TableFunction:
		p.when(t.Lateral, "LATERAL ")
		p.when(!t.Bare, "TABLE(")
		p.expr(t.Call, 0)
		p.when(!t.Bare, ")")
		p.tail(nil, t.Alias, t.Sample)
	case *Unnest:
		p.when(t.Lateral, "LATERAL ")
		p.s("UNNEST")
		parens(p, t.Exprs)
		p.when(t.WithOrdinality, " WITH ORDINALITY")
		p.tail(nil, t.Alias, t.Sample)
	case *MatchRecognize:
		p.matchRecognize(t)
	case *Join:
		p.join(t)
	}
}

// tail writes what may follow a table.
func (p *printer) tail(asOf Expr, alias *TableAlias, sample *Sample) {
	p.clause(" FOR SYSTEM_TIME AS OF ", asOf)
	if alias != nil {
		p.s(" ")
		p.tablePart(alias)
	}
	if sample != nil {
		p.s(" ")
		p.sample(sample)
	}
}

// sample writes TABLESAMPLE.
func (p *printer) sample(s *Sample) {
	method := "BERNOULLI"
	if s.System {
		method = "SYSTEM"
	}
	p.s("TABLESAMPLE ", method, "(", s.Percent.Text, ")")
	if s.Repeatable != nil {
		p.s(" REPEATABLE(", s.Repeatable.Text, ")")
	}
}

// join writes a join; one that is an operand of another, and would not be by itself, in parentheses.
func (p *printer) join(j *Join) {
	left, ok := j.Left.(*Join)
	p.joinOperand(j.Left, ok && left.Kind == JoinComma && j.Kind != JoinComma)
	right, ok := j.Right.(*Join)
	if j.Kind == JoinComma {
		p.s(", ")
		p.joinOperand(j.Right, ok && right.Kind == JoinComma)
		return
	}
	p.s(" ")
	p.when(j.Natural, "NATURAL ")
	p.s([...]string{"JOIN ", "LEFT JOIN ", "RIGHT JOIN ", "FULL JOIN ", "CROSS JOIN "}[j.Kind])
	p.joinOperand(j.Right, ok)
	p.clause(" ON ", j.On)
	if len(j.Using) > 0 {
		p.s(" USING ")
		parens(p, j.Using)
	}
}

// joinOperand writes one side of a join.
func (p *printer) joinOperand(t TableExpr, inParens bool) {
	p.when(inParens, "(")
	p.table(t)
	p.when(inParens, ")")
}

// matchRecognize writes MATCH_RECOGNIZE with its table.
func (p *printer) matchRecognize(m *MatchRecognize) {
	p.table(m.Input)
	p.s(" MATCH_RECOGNIZE (")
	if len(m.PartitionBy) > 0 {
		p.partitionBy(m.PartitionBy)
		p.s(" ")
	}
	if len(m.OrderBy) > 0 {
		p.orderBy(m.OrderBy, "")
		p.s(" ")
	}
	if len(m.Measures) > 0 {
		p.s("MEASURES ")
		list(p, m.Measures)
		p.s(" ")
	}
	p.s([...]string{"", "ONE ROW PER MATCH ", "ALL ROWS PER MATCH "}[m.Rows])
	if m.After != nil {
		p.afterMatch(m.After)
		p.s(" ")
	}
	p.s("PATTERN (")
	p.when(m.StartAnchor, "^ ")
	p.pattern(m.Pattern, patternAlt)
	p.when(m.EndAnchor, " $")
	p.s(")")
	if m.Within != nil {
		p.s(" WITHIN ")
		p.expr(m.Within, 0)
	}
	if len(m.Subsets) > 0 {
		p.s(" SUBSET ")
		list(p, m.Subsets)
	}
	p.s(" DEFINE ")
	list(p, m.Define)
	p.s(")")
	p.tail(nil, m.Alias, m.Sample)
}

// afterMatch writes AFTER MATCH SKIP.
func (p *printer) afterMatch(a *AfterMatch) {
	p.s("AFTER MATCH SKIP ")
	p.s([...]string{"PAST LAST ROW", "TO NEXT ROW", "TO FIRST ", "TO LAST "}[a.Kind])
	if a.Variable != nil {
		p.name(a.Variable)
	}
}

// The levels of patterns, the loosest first.
const (
	patternAlt = iota
	patternConcat
	patternRepeat
	patternPrimary
)

// pattern writes a row pattern where one of at least the level is wanted.
func (p *printer) pattern(n Pattern, level int) {
	switch n := n.(type) {
	case *PatternVar:
		// A dollar sign alone is the end of the rows.
		p.quoted(n.Name, n.Name == "$")
	case *PatternAlt:
		p.patterns(n.Items, " | ", patternAlt, level)
	case *PatternConcat:
		p.patterns(n.Items, " ", patternConcat, level)
	case *PatternPermute:
		p.s("PERMUTE(")
		list(p, n.Items)
		p.s(")")
	case *PatternExclude:
		p.s("{- ")
		p.pattern(n.Pattern, patternAlt)
		p.s(" -}")
	case *PatternRepeat:
		p.when(level > patternRepeat, "(")
		p.pattern(n.Pattern, patternPrimary)
		p.repeat(n)
		p.when(level > patternRepeat, ")")
	}
}

// patterns writes patterns with something between them.
func (p *printer) patterns(items []Pattern, sep string, own, level int) {
	p.when(level > own, "(")
	for i, x := range items {
		p.when(i > 0, sep)
		p.pattern(x, own+1)
	}
	p.when(level > own, ")")
}

// repeat writes a quantifier.
func (p *printer) repeat(n *PatternRepeat) {
	switch {
	case n.Min == 0 && n.Max == -1:
		p.s("*")
	case n.Min == 1 && n.Max == -1:
		p.s("+")
	case n.Min == 0 && n.Max == 1:
		p.s("?")
	default:
		p.s("{")
		p.int(n.Min)
		if n.Max != n.Min {
			p.s(",")
			if n.Max >= 0 {
				p.int(n.Max)
			}
		}
		p.s("}")
	}
	p.when(n.Reluctant, "?")
}
