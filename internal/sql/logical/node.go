package logical

import (
	"github.com/weir-stream/weir/internal/sql/catalog"
	"github.com/weir-stream/weir/internal/sql/datatype"
	"github.com/weir-stream/weir/internal/sql/expr"
	"github.com/weir-stream/weir/internal/sql/physical"
)

// Column is a column of a node's rows.
type Column = physical.Column

// Node is a relation of the algebra. Nodes are not changed once made; rules build others.
type Node interface {
	// Columns describe the rows.
	Columns() []Column
	// Inputs are the relations that it is made of.
	Inputs() []Node
	// With returns the same node over other inputs of the same columns.
	With(inputs []Node) Node
}

// Scan is a table. Its columns are the physical and metadata columns, before computed columns and watermarks.
type Scan struct {
	Table *catalog.Table
	// Options are those of the table and of hints.
	Options map[string]string
	Cols    []Column
	// Index has for each column its number in Table.Columns.
	Index []int
	// Filter is what the source applies.
	Filter []expr.Expr
}

// Watermark makes a column a time attribute.
type Watermark struct {
	In      Node
	Rowtime int
	Expr    expr.Expr
	// FromSource says SOURCE_WATERMARK().
	FromSource bool
	Options    map[string]string
}

// Values are rows of constants.
type Values struct {
	Cols []Column
	Rows [][]expr.Expr
}

// Project computes columns.
type Project struct {
	In    Node
	Exprs []expr.Expr
	Cols  []Column
}

// Filter keeps rows for which the condition is true.
type Filter struct {
	In        Node
	Condition expr.Expr
}

// Call is an aggregate call whose arguments are expressions over the aggregate's input.
type Call struct {
	Name        string
	Args        []expr.Expr
	Distinct    bool
	Filter      expr.Expr
	Order       []Order
	IgnoreNulls bool
	Of          datatype.Type
}

// Order is a key of an ORDER BY.
type Order struct {
	By         expr.Expr
	Descending bool
	NullsLast  bool
}

// Aggregate groups. Its columns are the keys, then the calls.
type Aggregate struct {
	In   Node
	Keys []expr.Expr
	// Sets are the grouping sets as numbers of keys; nil is one set of all.
	Sets  [][]int
	Calls []Call
	Cols  []Column
	// TTL is that of a STATE_TTL hint, "" if there is none.
	TTL string
}

// WindowTable adds window_start, window_end and window_time to the rows of a table.
type WindowTable struct {
	In     Node
	Window physical.Window
	Cols   []Column
}

// Over adds calls over windows of rows. Its columns are those of the input, then the calls.
type Over struct {
	In        Node
	Partition []expr.Expr
	Order     []Order
	Frame     physical.Frame
	Calls     []Call
	Cols      []Column
}

// Join joins. Columns are those of the left, then of the right, but for Semi and Anti.
type Join struct {
	Left, Right Node
	Kind        physical.JoinKind
	Condition   expr.Expr
	Cols        []Column
	// AsOf is the time of FOR SYSTEM_TIME AS OF, over the left columns; nil for other joins.
	AsOf expr.Expr
	// NullAware is NOT IN.
	NullAware bool
	// Hints are those of the SELECT and the tables.
	Hints map[string]map[string]string
}

// TableCall joins each row with what a table function makes of it.
type TableCall struct {
	In         Node
	Function   string
	Args       []expr.Expr
	Ordinality bool
	Left       bool
	Condition  expr.Expr
	Cols       []Column
}

// SetKind is a kind of set operation.
type SetKind uint8

// Set operations.
const (
	Union SetKind = iota
	Intersect
	Except
)

// SetOp combines relations of the same columns.
type SetOp struct {
	Kind        SetKind
	All         bool
	Left, Right Node
	Cols        []Column
}

// Sort orders, and keeps Limit rows from Offset on; Limit is -1 for all.
type Sort struct {
	In            Node
	Order         []Order
	Offset, Limit int64
}

// Columns implements Node.
func (n *Scan) Columns() []Column { return n.Cols }

// Columns implements Node.
func (n *Watermark) Columns() []Column {
	cols := append([]Column(nil), n.In.Columns()...)
	cols[n.Rowtime].Time = physical.Rowtime
	return cols
}

// Columns implements Node.
func (n *Values) Columns() []Column { return n.Cols }

// Columns implements Node.
func (n *Project) Columns() []Column { return n.Cols }

// Columns implements Node.
func (n *Filter) Columns() []Column { return n.In.Columns() }

// Columns implements Node.
func (n *Aggregate) Columns() []Column { return n.Cols }

// Columns implements Node.
func (n *WindowTable) Columns() []Column { return n.Cols }

// Columns implements Node.
func (n *Over) Columns() []Column { return n.Cols }

// Columns implements Node.
func (n *Join) Columns() []Column { return n.Cols }

// Columns implements Node.
func (n *TableCall) Columns() []Column { return n.Cols }

// Columns implements Node.
func (n *SetOp) Columns() []Column { return n.Cols }

// Columns implements Node.
func (n *Sort) Columns() []Column { return n.In.Columns() }

// Inputs implements Node.
func (n *Scan) Inputs() []Node { return nil }

// Inputs implements Node.
func (n *Watermark) Inputs() []Node { return []Node{n.In} }

// Inputs implements Node.
func (n *Values) Inputs() []Node { return nil }

// Inputs implements Node.
func (n *Project) Inputs() []Node { return []Node{n.In} }

// Inputs implements Node.
func (n *Filter) Inputs() []Node { return []Node{n.In} }

// Inputs implements Node.
func (n *Aggregate) Inputs() []Node { return []Node{n.In} }

// Inputs implements Node.
func (n *WindowTable) Inputs() []Node { return []Node{n.In} }

// Inputs implements Node.
func (n *Over) Inputs() []Node { return []Node{n.In} }

// Inputs implements Node.
func (n *Join) Inputs() []Node { return []Node{n.Left, n.Right} }

// Inputs implements Node.
func (n *TableCall) Inputs() []Node { return []Node{n.In} }

// Inputs implements Node.
func (n *SetOp) Inputs() []Node { return []Node{n.Left, n.Right} }

// Inputs implements Node.
func (n *Sort) Inputs() []Node { return []Node{n.In} }

// With implements Node.
func (n *Scan) With([]Node) Node { return n }

// With implements Node.
func (n *Watermark) With(in []Node) Node { c := *n; c.In = in[0]; return &c }

// With implements Node.
func (n *Values) With([]Node) Node { return n }

// With implements Node.
func (n *Project) With(in []Node) Node { c := *n; c.In = in[0]; return &c }

// With implements Node.
func (n *Filter) With(in []Node) Node { c := *n; c.In = in[0]; return &c }

// With implements Node.
func (n *Aggregate) With(in []Node) Node { c := *n; c.In = in[0]; return &c }

// With implements Node.
func (n *WindowTable) With(in []Node) Node { c := *n; c.In = in[0]; return &c }

// With implements Node.
func (n *Over) With(in []Node) Node { c := *n; c.In = in[0]; return &c }

// With implements Node.
func (n *Join) With(in []Node) Node { c := *n; c.Left, c.Right = in[0], in[1]; return &c }

// With implements Node.
func (n *TableCall) With(in []Node) Node { c := *n; c.In = in[0]; return &c }

// With implements Node.
func (n *SetOp) With(in []Node) Node { c := *n; c.Left, c.Right = in[0], in[1]; return &c }

// With implements Node.
func (n *Sort) With(in []Node) Node { c := *n; c.In = in[0]; return &c }
