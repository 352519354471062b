package logical

import (
	"maps"
	"slices"

	"github.com/weir-stream/weir/internal/sql/ast"
	"github.com/weir-stream/weir/internal/sql/catalog"
	"github.com/weir-stream/weir/internal/sql/datatype"
	"github.com/weir-stream/weir/internal/sql/expr"
	"github.com/weir-stream/weir/internal/sql/physical"
)

// from binds a FROM. left is what a LATERAL may refer to, nil if there is nothing.
func (b *Binder) from(t ast.TableExpr) (Node, *scope, error) {
	switch t := t.(type) {
	case *ast.TableName:
		if t.SystemTime != nil {
			return nil, nil, wrong(t, "FOR SYSTEM_TIME AS OF belongs to the right side of a join")
		}
		n, name, err := b.named(t, t.Name, t.Hints)
		if err != nil {
			return nil, nil, err
		}
		return aliased(n, name, t.Alias)
	case *ast.DerivedTable:
		n, err := b.query(t.Query)
		if err != nil {
			return nil, nil, err
		}
		return aliased(n, "", t.Alias)
	case *ast.Join:
		return b.join(t)
	case *ast.TableFunction:
		n, err := b.tableFunction(t)
		if err != nil {
			return nil, nil, err
		}
		return aliased(n, "", t.Alias)
	}
	return nil, nil, wrong(t, "this form of table is not supported")
}

// aliased names a relation and its columns.
func aliased(n Node, name string, alias *ast.TableAlias) (Node, *scope, error) {
	if alias == nil {
		return n, scopeOf(name, n.Columns()), nil
	}
	if alias.Columns == nil {
		return n, scopeOf(alias.Name.Name, n.Columns()), nil
	}
	cols := slices.Clone(n.Columns())
	if len(alias.Columns) != len(cols) {
		return nil, nil, wrong(alias, "%s names %d columns of %d", alias.Name.Name, len(alias.Columns), len(cols))
	}
	for i, c := range alias.Columns {
		cols[i].Name = c.Name
	}
	return &Project{In: n, Exprs: columnsOf(n.Columns()), Cols: cols}, scopeOf(alias.Name.Name, cols), nil
}

// named finds what a name of a table stands for: a common table expression, a view or a table.
func (b *Binder) named(at ast.Node, name *ast.ObjectName, hints []*ast.Hint) (Node, string, error) {
	parts := name.Strings()
	if len(parts) == 1 {
		for i := len(b.with) - 1; i >= 0; i-- {
			if c := b.with[i]; c.Name.Name == parts[0] {
				n, err := b.cte(i)
				return n, parts[0], err
			}
		}
	}
	p, err := catalog.QualifyIn(b.catalog, b.database, parts)
	if err != nil {
		return nil, "", located(at, err)
	}
	switch r := b.Catalogs.Find(p).(type) {
	case *catalog.Table:
		n, err := b.table(at, r, hints)
		return n, p.Name, err
	case *catalog.View:
		n, err := b.view(at, r)
		return n, p.Name, err
	}
	there := b.Catalogs.Relations(p.Catalog, p.Database, func(catalog.Relation) bool { return true })
	for _, c := range b.with {
		there = append(there, c.Name.Name)
	}
	return nil, "", unknown(at, "table or view", p.String(), there)
}

// cte binds common table expression i, which sees those before it.
func (b *Binder) cte(i int) (Node, error) {
	c, outer := b.with[i], b.with
	b.with = outer[:i:i]
	defer func() { b.with = outer }()
	n, err := b.query(c.Query)
	if err != nil || c.Columns == nil {
		return n, err
	}
	n, _, err = aliased(n, "", &ast.TableAlias{Pos: c.Pos, Name: c.Name, Columns: c.Columns})
	return n, err
}

func (b *Binder) view(at ast.Node, v *catalog.View) (Node, error) {
	if b.depth >= viewsMax {
		return nil, wrong(at, "the view %v is nested more than %d deep: does it read itself?", v.Path, viewsMax)
	}
	was := *b
	b.catalog, b.database, b.with, b.depth = v.Catalog, v.Database, nil, b.depth+1
	n, err := b.query(v.Query)
	b.catalog, b.database, b.with, b.depth = was.catalog, was.database, was.with, was.depth
	if err != nil {
		return nil, wrong(at, "the view %v is not valid: %v", v.Path, err)
	}
	if v.Columns == nil {
		return n, nil
	}
	cols := slices.Clone(n.Columns())
	if len(cols) != len(v.Columns) {
		return nil, wrong(at, "the view %v names %d columns, and its query has %d", v.Path, len(v.Columns), len(cols))
	}
	for i := range cols {
		cols[i].Name = v.Columns[i]
	}
	return &Project{In: n, Exprs: columnsOf(n.Columns()), Cols: cols}, nil
}

// table is a scan with the computed columns and the watermark above it.
func (b *Binder) table(at ast.Node, t *catalog.Table, hints []*ast.Hint) (Node, error) {
	options := maps.Clone(t.Options)
	for _, h := range hints {
		if h.Name.Name == "OPTIONS" {
			for _, o := range h.Options {
				options[o.Key] = o.Value
			}
		}
	}
	scan := &Scan{Table: t, Options: options}
	for i, c := range t.Columns {
		if c.Computed == nil {
			scan.Cols = append(scan.Cols, Column{Name: c.Name, Type: c.Type})
			scan.Index = append(scan.Index, i)
		}
	}
	var n Node = scan
	if len(scan.Cols) < len(t.Columns) {
		p, err := b.computed(at, t, scan)
		if err != nil {
			return nil, err
		}
		n = p
	}
	if t.Watermark == nil {
		return n, nil
	}
	return b.watermark(at, t, n, options)
}

// computed puts the computed columns among the others. They see the columns of the scan and the computed ones before them do not see each
// other, as in Flink.
func (b *Binder) computed(at ast.Node, t *catalog.Table, scan *Scan) (Node, error) {
	x := &exprBinder{b: b, scope: scopeOf(t.Path.Name, scan.Cols)}
	p := &Project{In: scan}
	next := 0
	for _, c := range t.Columns {
		if c.Computed == nil {
			p.Exprs = append(p.Exprs, x.scope.column(next))
			p.Cols = append(p.Cols, scan.Cols[next])
			next++
			continue
		}
		e, err := x.expr(c.Computed)
		if err != nil {
			return nil, wrong(at, "the computed column %s of %v is not valid: %v", c.Name, t.Path, err)
		}
		col := Column{Name: c.Name, Type: e.Type()}
		if call, ok := e.(*expr.Call); ok && call.Fn.Name == "PROCTIME" {
			col.Time = physical.Proctime
		}
		p.Exprs, p.Cols = append(p.Exprs, e), append(p.Cols, col)
	}
	return p, nil
}

func (b *Binder) watermark(at ast.Node, t *catalog.Table, n Node, options map[string]string) (Node, error) {
	w := t.Watermark
	i := slices.IndexFunc(n.Columns(), func(c Column) bool { return len(w.Column) == 1 && c.Name == w.Column[0] })
	if i < 0 {
		return nil, wrong(at, "the watermark of %v is for the column %v, which there is not", t.Path, w.Column)
	}
	of := n.Columns()[i].Type
	if !of.Is(datatype.Timestamp, datatype.TimestampLTZ) || of.Length > 3 {
		return nil, wrong(at, "the watermark of %v is for the column %s of type %v; it takes TIMESTAMP(p) or TIMESTAMP_LTZ(p) with p from 0 to 3", t.Path, w.Column[0], of)
	}
	out := &Watermark{In: n, Rowtime: i, Options: options}
	if f, ok := w.Expr.(*ast.FuncCall); ok && f.Name.Last() == "SOURCE_WATERMARK" {
		out.FromSource = true
		return out, nil
	}
	x := &exprBinder{b: b, scope: scopeOf(t.Path.Name, n.Columns())}
	e, err := x.expr(w.Expr)
	if err != nil {
		return nil, wrong(at, "the watermark of %v is not valid: %v", t.Path, err)
	}
	if !e.Type().Is(datatype.Timestamp, datatype.TimestampLTZ) {
		return nil, wrong(at, "the watermark of %v has type %v instead of a timestamp", t.Path, e.Type())
	}
	out.Expr = e
	return out, nil
}

func (b *Binder) join(t *ast.Join) (Node, *scope, error) {
	left, ls, err := b.from(t.Left)
	if err != nil {
		return nil, nil, err
	}
	if n, s, done, err := b.besideRows(t, left, ls); done || err != nil {
		return n, s, err
	}
	right, rs, asOf, err := b.rightSide(t, ls)
	if err != nil {
		return nil, nil, err
	}
	kind := map[ast.JoinKind]physical.JoinKind{ast.JoinLeft: physical.Left, ast.JoinRight: physical.Right, ast.JoinFull: physical.Full}[t.Kind]
	cols := append(slices.Clone(left.Columns()), right.Columns()...)
	for i := range cols {
		if kind == physical.Full || i < len(left.Columns()) && kind == physical.Right || i >= len(left.Columns()) && kind == physical.Left {
			cols[i].Type.Nullable = true
		}
	}
	s := ls.beside(rs)
	for i := range s.cols {
		s.cols[i].col = cols[i]
	}
	j := &Join{Left: left, Right: right, Kind: kind, Cols: cols, AsOf: asOf}
	using := t.Using
	if t.Natural {
		for _, c := range ls.cols {
			if slices.ContainsFunc(rs.cols, func(r visible) bool { return r.col.Name == c.col.Name }) {
				using = append(using, &ast.Ident{Pos: t.Pos, Name: c.col.Name})
			}
		}
	}
	x := &exprBinder{b: b, scope: s}
	if j.Condition, err = x.joined(t, ls, rs, using); err != nil {
		return nil, nil, err
	}
	for _, u := range using {
		for i := len(ls.cols); i < len(s.cols); i++ {
			s.cols[i].hidden = s.cols[i].hidden || s.cols[i].col.Name == u.Name
		}
	}
	return j, s, nil
}

// rightSide binds the right side of a join, which may be a version of a table.
func (b *Binder) rightSide(t *ast.Join, ls *scope) (Node, *scope, expr.Expr, error) {
	name, ok := t.Right.(*ast.TableName)
	if !ok || name.SystemTime == nil {
		n, s, err := b.from(t.Right)
		return n, s, nil, err
	}
	asOf, err := (&exprBinder{b: b, scope: ls}).expr(name.SystemTime)
	if err != nil {
		return nil, nil, nil, err
	}
	plain := *name
	plain.SystemTime = nil
	n, s, err := b.from(&plain)
	return n, s, asOf, err
}

// joined is the condition of a join: ON, or equality of the columns of USING.
func (x *exprBinder) joined(t *ast.Join, ls, rs *scope, using []*ast.Ident) (expr.Expr, error) {
	if t.On != nil {
		e, err := x.expr(t.On)
		if err == nil && !e.Type().Is(datatype.Boolean, datatype.Null) {
			err = wrong(t.On, "the condition of the join has type %v instead of BOOLEAN", e.Type())
		}
		return e, err
	}
	var all []expr.Expr
	for _, u := range using {
		l, err := ls.one(u, "", u.Name)
		if err != nil {
			return nil, err
		}
		r, err := rs.one(u, "", u.Name)
		if err != nil {
			return nil, err
		}
		if l < 0 || r < 0 {
			return nil, wrong(u, "the column %s of USING is not in both tables", u.Name)
		}
		eq, err := x.apply(u, "=", nil, x.scope.column(l), x.scope.column(len(ls.cols)+r))
		if err != nil {
			return nil, err
		}
		all = append(all, eq)
	}
	switch len(all) {
	case 0:
		return nil, nil
	case 1:
		return all[0], nil
	}
	return x.apply(t, "AND", nil, all...)
}

// besideRows is a join with what a table function or UNNEST makes of each left row.
func (b *Binder) besideRows(t *ast.Join, left Node, ls *scope) (Node, *scope, bool, error) {
	switch r := t.Right.(type) {
	case *ast.Unnest:
		n, s, err := b.unnest(t, r, left, ls)
		return n, s, true, err
	}
	return nil, nil, false, nil
}

func (b *Binder) unnest(t *ast.Join, u *ast.Unnest, left Node, ls *scope) (Node, *scope, error) {
	x := &exprBinder{b: b, scope: ls}
	args, err := x.all(u.Exprs)
	if err != nil {
		return nil, nil, err
	}
	var cols []Column
	switch of := args[0].Type(); of.Root {
	case datatype.Array, datatype.Multiset:
		if elem := of.Of[0]; elem.Root == datatype.Row {
			for i, f := range elem.Of {
				cols = append(cols, Column{Name: elem.Names[i], Type: f.WithNull(f.Nullable || elem.Nullable)})
			}
		} else {
			cols = []Column{{Name: "EXPR$0", Type: elem}}
		}
	case datatype.Map:
		cols = []Column{{Name: "KEY", Type: of.Of[0]}, {Name: "VALUE", Type: of.Of[1]}}
	default:
		return nil, nil, wrong(u, "UNNEST takes an ARRAY, a MAP or a MULTISET, not %v", of)
	}
	if u.WithOrdinality {
		cols = append(cols, Column{Name: "ORDINALITY", Type: datatype.Of(datatype.Int).WithNull(false)})
	}
	name := ""
	if u.Alias != nil {
		name = u.Alias.Name.Name
		if n := len(u.Alias.Columns); n > 0 && n != len(cols) {
			return nil, nil, wrong(u.Alias, "%s names %d columns of %d", name, n, len(cols))
		}
		for i, c := range u.Alias.Columns {
			cols[i].Name = c.Name
		}
	}
	c := &TableCall{In: left, Function: "UNNEST", Args: args, Ordinality: u.WithOrdinality, Left: t.Kind == ast.JoinLeft}
	s := ls.beside(scopeOf(name, cols))
	for i := len(ls.cols); c.Left && i < len(s.cols); i++ {
		s.cols[i].col.Type.Nullable = true
	}
	for _, v := range s.cols {
		c.Cols = append(c.Cols, v.col)
	}
	if t.On != nil {
		if c.Condition, err = (&exprBinder{b: b, scope: s}).expr(t.On); err != nil {
			return nil, nil, err
		}
		if l, ok := c.Condition.(*expr.Literal); ok && l.Value == true {
			c.Condition = nil
		}
	}
	return c, s, nil
}

var windowKinds = map[string]physical.WindowKind{"TUMBLE": physical.Tumble, "HOP": physical.Hop, "CUMULATE": physical.Cumulate, "SESSION": physical.Session}

// tableFunction binds the window functions.
func (b *Binder) tableFunction(t *ast.TableFunction) (Node, error) {
	kind, ok := windowKinds[t.Call.Name.Last()]
	if !ok {
		return nil, unknown(t, "table function", t.Call.Name.Last(), slices.Sorted(maps.Keys(windowKinds)))
	}
	args, err := windowArgs(t, kind)
	if err != nil {
		return nil, err
	}
	table := args[0].(*ast.TableArg)
	var in Node
	if table.Name != nil {
		in, _, err = b.named(table, table.Name, nil)
	} else {
		in, err = b.query(table.Query)
	}
	if err != nil {
		return nil, err
	}
	w := physical.Window{Kind: kind, Start: -1, End: -1}
	if w.Time, err = timeColumn(args[1], in); err != nil {
		return nil, err
	}
	for _, p := range table.PartitionBy {
		i, err := scopeOf("", in.Columns()).one(p, "", p.Name)
		if err != nil || i < 0 {
			return nil, unknown(p, "column", p.Name, scopeOf("", in.Columns()).names())
		}
		w.Partition = append(w.Partition, i)
	}
	if err := b.windowSizes(t, &w, args[2:]); err != nil {
		return nil, err
	}
	of := in.Columns()[w.Time]
	w.Proctime, w.Local = of.Time == physical.Proctime, of.Type.Root == datatype.TimestampLTZ
	bound := datatype.Sized(datatype.Timestamp, 3).WithNull(false)
	cols := slices.Clone(in.Columns())
	for i := range cols {
		if cols[i].Time == physical.Rowtime {
			cols[i].Time = physical.NoTime // only window_time is one behind a window
		}
	}
	cols = append(cols, Column{Name: "window_start", Type: bound}, Column{Name: "window_end", Type: bound},
		Column{Name: "window_time", Type: of.Type.WithNull(false), Time: of.Time})
	return &WindowTable{In: in, Window: w, Cols: cols}, nil
}

// windowArgs puts the arguments in order: table, descriptor, sizes.
func windowArgs(t *ast.TableFunction, kind physical.WindowKind) ([]ast.Expr, error) {
	names := map[physical.WindowKind][]string{physical.Tumble: {"DATA", "TIMECOL", "SIZE", "OFFSET"}, physical.Hop: {"DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"},
		physical.Cumulate: {"DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"}, physical.Session: {"DATA", "TIMECOL", "GAP"}}[kind]
	out := make([]ast.Expr, len(names))
	for i, a := range t.Call.Args {
		at := i
		if n, ok := a.(*ast.NamedArg); ok {
			if at = slices.Index(names, n.Name.Name); at < 0 {
				return nil, unknown(n, "argument", n.Name.Name, names)
			}
			a = n.Value
		}
		if at >= len(out) {
			return nil, wrong(a, "%s takes %d arguments at most", t.Call.Name.Last(), len(out))
		}
		out[at] = a
	}
	least := len(out)
	if names[least-1] == "OFFSET" {
		least--
	}
	for i := range least {
		if out[i] == nil {
			return nil, wrong(t.Call, "%s lacks its argument %s", t.Call.Name.Last(), names[i])
		}
	}
	if _, ok := out[0].(*ast.TableArg); !ok {
		return nil, wrong(out[0], "the first argument of %s is a table: TABLE t", t.Call.Name.Last())
	}
	return out, nil
}

// timeColumn is the column of a DESCRIPTOR, which must be a time attribute.
func timeColumn(n ast.Expr, in Node) (int, error) {
	d, ok := n.(*ast.Descriptor)
	if !ok || len(d.Columns) != 1 {
		return 0, wrong(n, "the second argument is the time column: DESCRIPTOR(c)")
	}
	s := scopeOf("", in.Columns())
	i, err := s.one(d, "", d.Columns[0].Last())
	if err != nil || i < 0 {
		return 0, unknown(d.Columns[0], "column", d.Columns[0].Last(), s.names())
	}
	if c := in.Columns()[i]; c.Time == physical.NoTime {
		return 0, wrong(d, "the window needs a time attribute, and %s of type %v is none: declare WATERMARK FOR %s, or take a column that is PROCTIME()", c.Name, c.Type, c.Name)
	}
	return i, nil
}

func (b *Binder) windowSizes(t *ast.TableFunction, w *physical.Window, args []ast.Expr) error {
	into := map[physical.WindowKind][]*int64{physical.Tumble: {&w.Size, &w.Offset}, physical.Hop: {&w.Slide, &w.Size, &w.Offset},
		physical.Cumulate: {&w.Slide, &w.Size, &w.Offset}, physical.Session: {&w.Gap}}[w.Kind]
	x := &exprBinder{b: b, scope: &scope{}}
	for i, a := range args {
		if a == nil {
			continue
		}
		e, err := x.expr(a)
		if err != nil {
			return err
		}
		l, ok := e.(*expr.Literal)
		if !ok || l.Of.Root != datatype.IntervalSecond {
			return wrong(a, "%s takes intervals of days to seconds that are written out", t.Call.Name.Last())
		}
		*into[i] = l.Value.(int64)
		if into[i] != &w.Offset && *into[i] <= 0 {
			return wrong(a, "an interval of a window must be above 0")
		}
	}
	if (w.Kind == physical.Hop || w.Kind == physical.Cumulate) && w.Size%w.Slide != 0 {
		return wrong(t, "%s: the size of %d ms is no multiple of %d ms", t.Call.Name.Last(), w.Size, w.Slide)
	}
	return nil
}
