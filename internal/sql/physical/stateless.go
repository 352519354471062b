package physical

import (
	"github.com/weir-stream/weir/internal/sql/datatype"
	"github.com/weir-stream/weir/internal/sql/expr"
)

// Scan reads a table. Which connector reads it, package exec finds by the options.
type Scan struct {
	Base
	// Table is the full name, Options are what WITH and hints say.
	Table   string
	Options map[string]string
	// Columns are the physical and metadata columns of the table that are read, in the order of Out. All is what the table has, for
	// formats that need to know.
	Columns, All []TableColumn
	// Partitions are the columns of PARTITIONED BY.
	Partitions []string
	// PrimaryKey are names of columns.
	PrimaryKey []string
	// Filter is what the connector promised to apply, Limit how many rows are wanted at most (-1: all).
	Filter []expr.Expr
	Limit  int64
}

// TableColumn is a column of a table as a connector sees it.
type TableColumn struct {
	Name string
	Type datatype.Type
	// Metadata is the key of a metadata column.
	Metadata string
}

// Values emits rows of constants, once.
type Values struct {
	Base
	Rows [][]expr.Expr
}

// Calc filters and projects.
type Calc struct {
	Base
	// Filter is nil if all rows pass.
	Filter  expr.Expr
	Project []expr.Expr
}

// Watermarks assigns watermarks by an expression over the rows.
type Watermarks struct {
	Base
	Rowtime int
	Expr    expr.Expr
	// Idle is the idle timeout in milliseconds, 0 for none.
	Idle int64
	// FromSource says that the source sends watermarks itself (SOURCE_WATERMARK()).
	FromSource bool
}

// Union passes on the rows of all inputs.
type Union struct{ Base }

// Expand copies each row once for each grouping set: columns that are not in the set are missing, and the last column is the set's
// number as GROUPING_ID counts.
type Expand struct {
	Base
	// Sets has for each grouping set the expression of each output column.
	Sets [][]expr.Expr
}

// Correlate joins each row with the rows that a table function makes of it.
type Correlate struct {
	Base
	// Function is UNNEST or the function's name; Args are over the input.
	Function string
	Args     []expr.Expr
	// Left keeps rows without a match. Condition, over the input's and then the function's columns, may be nil.
	Left       bool
	Condition  expr.Expr
	Ordinality bool
}

// DropUpdateBefore drops -U.
type DropUpdateBefore struct{ Base }

// Normalize turns a stream of upserts into one of full changes, by the last row of each key.
type Normalize struct {
	Base
	Keys []int
	// EmitUpdateBefore says that -U is wanted.
	EmitUpdateBefore bool
}

// Sink writes into a table, or to whoever asked the query if Table is "".
type Sink struct {
	Base
	Table      string
	Options    map[string]string
	Columns    []TableColumn
	Partitions []string
	PrimaryKey []int
	// Materialize says that updates of one primary key may arrive out of order and are put in order by state.
	Materialize bool
	Overwrite   bool
}
