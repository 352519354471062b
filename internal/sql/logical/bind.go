package logical

import (
	"strconv"

	"github.com/weir-stream/weir/internal/sql/ast"
	"github.com/weir-stream/weir/internal/sql/catalog"
	"github.com/weir-stream/weir/internal/sql/datatype"
	"github.com/weir-stream/weir/internal/sql/expr"
	"github.com/weir-stream/weir/internal/sql/physical"
)

// Binder binds the statements of a session. It belongs to one goroutine.
type Binder struct {
	Catalogs *catalog.Catalogs
	// at are the catalog and database in which names are looked up: the current ones, or within a view its own.
	catalog, database string
	// with are the common table expressions that can be seen, the innermost last.
	with []*ast.CTE
	// depth counts views within views.
	depth int
}

// viewsMax is how deep views may be nested; more is taken for a view of itself.
const viewsMax = 64

// Query binds a query.
func (b *Binder) Query(q ast.Query) (Node, error) {
	b.catalog, b.database = b.Catalogs.Current()
	b.with, b.depth = nil, 0
	return b.query(q)
}

func (b *Binder) query(q ast.Query) (Node, error) {
	switch q := q.(type) {
	case *ast.Select:
		n, _, err := b.selectOf(q, nil)
		return n, err
	case *ast.QueryExpr:
		return b.queryExpr(q)
	case *ast.SetOp:
		return b.setOp(q)
	case *ast.Values:
		return b.values(q)
	case *ast.ExplicitTable:
		n, _, err := b.named(q, q.Name, nil)
		return n, err
	}
	return nil, wrong(q, "this form of query is not supported")
}

// queryExpr binds WITH, ORDER BY, OFFSET and LIMIT around a query.
func (b *Binder) queryExpr(q *ast.QueryExpr) (Node, error) {
	outer := b.with
	b.with = append(outer[:len(outer):len(outer)], q.With...)
	defer func() { b.with = outer }()
	var n Node
	var hidden *sorting
	var err error
	if s, ok := q.Body.(*ast.Select); ok && len(q.OrderBy) > 0 {
		n, hidden, err = b.selectOf(s, q.OrderBy)
	} else if n, err = b.query(q.Body); err == nil && len(q.OrderBy) > 0 {
		hidden, err = b.orderBy(n, q.OrderBy)
	}
	if err != nil {
		return nil, err
	}
	if hidden == nil && q.Offset == nil && q.Limit == nil {
		return n, nil
	}
	s := &Sort{In: n, Limit: -1}
	if hidden != nil {
		s.Order = hidden.order
	}
	if s.Offset, err = constantCount(q.Offset, 0); err == nil {
		s.Limit, err = constantCount(q.Limit, -1)
	}
	if err != nil || hidden == nil || hidden.keep == len(n.Columns()) {
		return s, err
	}
	return firstColumns(s, hidden.keep), nil // what was computed to sort by is dropped
}

// sorting is an ORDER BY over columns of which the first keep are the query's.
type sorting struct {
	order []Order
	keep  int
}

func firstColumns(n Node, keep int) Node {
	cols := n.Columns()[:keep]
	return &Project{In: n, Exprs: columnsOf(cols), Cols: cols}
}

func columnsOf(cols []Column) []expr.Expr {
	out := make([]expr.Expr, len(cols))
	for i, c := range cols {
		out[i] = &expr.Column{Index: i, Name: c.Name, Of: c.Type}
	}
	return out
}

func constantCount(n ast.Expr, otherwise int64) (int64, error) {
	if n == nil {
		return otherwise, nil
	}
	l, ok := n.(*ast.NumberLit)
	if ok {
		if v, err := strconv.ParseInt(l.Text, 10, 64); err == nil && v >= 0 {
			return v, nil
		}
	}
	return 0, wrong(n, "a number of rows must be a whole number that is written out")
}

// orderBy binds an ORDER BY over the columns of a set operation or VALUES.
func (b *Binder) orderBy(n Node, items []*ast.OrderItem) (*sorting, error) {
	cols := n.Columns()
	x := &exprBinder{b: b, scope: scopeOf("", cols)}
	out := &sorting{keep: len(cols)}
	for _, it := range items {
		e, err := x.position(it.Expr, len(cols))
		if err == nil && e == nil {
			e, err = x.expr(it.Expr)
		}
		if err != nil {
			return nil, err
		}
		out.order = append(out.order, orderOf(it, e))
	}
	return out, nil
}

// position is ORDER BY 2: nil if it is something else.
func (x *exprBinder) position(n ast.Expr, most int) (expr.Expr, error) {
	l, ok := n.(*ast.NumberLit)
	if !ok {
		return nil, nil
	}
	i, err := strconv.Atoi(l.Text)
	if err != nil || i < 1 || i > most {
		return nil, wrong(n, "ORDER BY %s: the query has %d columns", l.Text, most)
	}
	return x.scope.column(i - 1), nil
}

// orderOf puts missing values first ascending and last descending, unless something else is written.
func orderOf(it *ast.OrderItem, e expr.Expr) Order {
	o := Order{By: e, Descending: it.Desc, NullsLast: it.Desc}
	switch it.Nulls {
	case ast.NullsFirst:
		o.NullsLast = false
	case ast.NullsLast:
		o.NullsLast = true
	}
	return o
}

func (b *Binder) setOp(q *ast.SetOp) (Node, error) {
	left, err := b.query(q.Left)
	if err != nil {
		return nil, err
	}
	right, err := b.query(q.Right)
	if err != nil {
		return nil, err
	}
	lc, rc := left.Columns(), right.Columns()
	if len(lc) != len(rc) {
		return nil, wrong(q, "the two sides have %d and %d columns", len(lc), len(rc))
	}
	cols := make([]Column, len(lc))
	for i := range cols {
		of, ok := datatype.Common(lc[i].Type, rc[i].Type)
		if !ok {
			return nil, wrong(q, "column %d has the types %v and %v, which have none in common", i+1, lc[i].Type, rc[i].Type)
		}
		cols[i] = Column{Name: lc[i].Name, Type: of}
		if lc[i].Time == rc[i].Time {
			cols[i].Time = lc[i].Time
		}
	}
	kind := map[ast.SetOpKind]SetKind{ast.Union: Union, ast.Intersect: Intersect, ast.Except: Except}[q.Kind]
	return &SetOp{Kind: kind, All: q.All, Left: castAll(left, cols), Right: castAll(right, cols), Cols: cols}, nil
}

// castAll gives the columns of n the types of cols.
func castAll(n Node, cols []Column) Node {
	same := true
	exprs := columnsOf(n.Columns())
	out := append([]Column(nil), n.Columns()...)
	for i, e := range exprs {
		if !e.Type().Same(cols[i].Type) {
			same = false
			exprs[i] = Convert(e, cols[i].Type)
			out[i].Type, out[i].Time = exprs[i].Type(), physical.NoTime
		}
	}
	if same {
		return n
	}
	return &Project{In: n, Exprs: exprs, Cols: out}
}

func (b *Binder) values(q *ast.Values) (Node, error) {
	out := &Values{}
	x := &exprBinder{b: b, scope: &scope{}}
	for r, row := range q.Rows {
		exprs, err := x.all(row.Items)
		if err != nil {
			return nil, err
		}
		if r == 0 {
			for i, e := range exprs {
				out.Cols = append(out.Cols, Column{Name: "EXPR$" + strconv.Itoa(i), Type: e.Type()})
			}
		}
		if len(exprs) != len(out.Cols) {
			return nil, wrong(row, "this row has %d values, the first one %d", len(exprs), len(out.Cols))
		}
		for i, e := range exprs {
			of, ok := datatype.Common(out.Cols[i].Type, e.Type())
			if !ok {
				return nil, wrong(row, "column %d has values of the types %v and %v", i+1, out.Cols[i].Type, e.Type())
			}
			out.Cols[i].Type = of
		}
		out.Rows = append(out.Rows, exprs)
	}
	for _, row := range out.Rows {
		for i, e := range row {
			row[i] = Convert(e, out.Cols[i].Type)
		}
	}
	return out, nil
}
