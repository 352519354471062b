package ast

// QueryExpr puts WITH, ORDER BY, OFFSET and LIMIT around a query. It exists only where at least one of them was written,
// and its Body is a *QueryExpr only if that stood in parentheses and both say something of the same clause.
type QueryExpr struct {
	Pos
	With    []*CTE
	Body    Query
	OrderBy []*OrderItem
	Offset  Expr
	// Limit is that of LIMIT n or FETCH FIRST n ROWS ONLY.
	Limit Expr
}

// CTE is one `name [(columns)] AS (query)` of WITH.
type CTE struct {
	Pos
	Name    *Ident
	Columns []*Ident
	Query   Query
}

// Select is one SELECT block.
type Select struct {
	Pos
	Distinct bool
	// Hints stand behind SELECT: STATE_TTL, LOOKUP, BROADCAST and so on.
	Hints []*Hint
	Items []*SelectItem
	// From is nil in a SELECT without FROM.
	From  TableExpr
	Where Expr
	// GroupBy is nil without GROUP BY; GROUP BY () has one item, an empty *RowCtor.
	GroupBy *GroupBy
	Having  Expr
	Windows []*NamedWindow
	Qualify Expr
}

// SelectItem is one expression of a SELECT list, or a *Star.
type SelectItem struct {
	Pos
	Expr  Expr
	Alias *Ident
}

// GroupBy is GROUP BY.
type GroupBy struct {
	Pos
	// Distinct is GROUP BY DISTINCT, which drops grouping sets that are there already.
	Distinct bool
	// Items are expressions; a *RowCtor that is not Explicit stands for its columns together, a *GroupingSets for several
	// sets.
	Items []Expr
}

// GroupingKind tells GROUPING SETS, CUBE and ROLLUP apart.
type GroupingKind uint8

// The kinds of grouping elements.
const (
	GroupingSetsOf GroupingKind = iota
	Cube
	Rollup
)

// GroupingSets is GROUPING SETS (...), CUBE (...) or ROLLUP (...); only GROUP BY holds it.
type GroupingSets struct {
	Pos
	Kind GroupingKind
	// Items are as those of GroupBy.
	Items []Expr
}

// NamedWindow is `name AS (specification)` of the WINDOW clause.
type NamedWindow struct {
	Pos
	Name   *Ident
	Window *Window
}

// Window is a specification of OVER or WINDOW. OVER w is a Window with nothing but Ref.
type Window struct {
	Pos
	// Ref is the window of the WINDOW clause that this one starts from.
	Ref         *Ident
	PartitionBy []Expr
	OrderBy     []*OrderItem
	Frame       *Frame
	// DisallowPartial is DISALLOW PARTIAL: a frame that is not full gives NULL.
	DisallowPartial bool
}

// FrameUnit tells ROWS and RANGE apart.
type FrameUnit uint8

// The units of frames.
const (
	FrameRows FrameUnit = iota
	FrameRange
)

// Frame is ROWS or RANGE [BETWEEN] ...
type Frame struct {
	Pos
	Unit  FrameUnit
	Start *FrameBound
	// End is nil without BETWEEN; it is then the current row.
	End *FrameBound
}

// BoundKind is a kind of frame bound.
type BoundKind uint8

// The kinds of bounds.
const (
	UnboundedPreceding BoundKind = iota
	Preceding
	CurrentRow
	Following
	UnboundedFollowing
)

// FrameBound is one end of a frame.
type FrameBound struct {
	Pos
	Kind BoundKind
	// Value is the distance of Preceding and Following.
	Value Expr
}

// NullOrder is NULLS FIRST, NULLS LAST or nothing.
type NullOrder uint8

// Where nulls sort.
const (
	NullsUnspecified NullOrder = iota
	NullsFirst
	NullsLast
)

// OrderItem is one item of ORDER BY.
type OrderItem struct {
	Pos
	Expr  Expr
	Desc  bool
	Nulls NullOrder
}

// SetOpKind is UNION, EXCEPT or INTERSECT.
type SetOpKind uint8

// The set operations. MINUS is Except.
const (
	Union SetOpKind = iota
	Except
	Intersect
)

// SetOp combines two queries.
type SetOp struct {
	Pos
	Kind        SetOpKind
	All         bool
	Left, Right Query
}

// Values is VALUES (...), (...).
type Values struct {
	Pos
	Rows []*RowCtor
}

// ExplicitTable is the query TABLE t.
type ExplicitTable struct {
	Pos
	Name *ObjectName
}

// TableAlias is [AS] name [(columns)].
type TableAlias struct {
	Pos
	Name    *Ident
	Columns []*Ident
}

// TableName is a table or view by name.
type TableName struct {
	Pos
	Name *ObjectName
	// Hints are those of the table: OPTIONS.
	Hints []*Hint
	// SystemTime is the expression behind FOR SYSTEM_TIME AS OF.
	SystemTime Expr
	Alias      *TableAlias
	Sample     *Sample
}

// DerivedTable is a query in parentheses.
type DerivedTable struct {
	Pos
	Lateral bool
	Query   Query
	Alias   *TableAlias
	Sample  *Sample
}

// TableFunction is a call in FROM: a window function, a table function (behind LATERAL) or a process table function.
type TableFunction struct {
	Pos
	Lateral bool
	// Bare says that TABLE(...) was not written around the call.
	Bare bool
	// Call has *TableArg, *Descriptor, *NamedArg and values as its arguments.
	Call   *FuncCall
	Alias  *TableAlias
	Sample *Sample
}

// Unnest is UNNEST(expressions) [WITH ORDINALITY].
type Unnest struct {
	Pos
	Lateral        bool
	Exprs          []Expr
	WithOrdinality bool
	Alias          *TableAlias
	Sample         *Sample
}

// JoinKind is the kind of a join.
type JoinKind uint8

// The kinds of joins. JoinComma is the comma of FROM a, b, which binds less than the others.
const (
	JoinInner JoinKind = iota
	JoinLeft
	JoinRight
	JoinFull
	JoinCross
	JoinComma
)

// Join joins two table expressions. Parentheses around joins are its shape alone.
type Join struct {
	Pos
	Kind        JoinKind
	Natural     bool
	Left, Right TableExpr
	On          Expr
	Using       []*Ident
}

// Sample is TABLESAMPLE BERNOULLI | SYSTEM (percentage) [REPEATABLE (seed)].
type Sample struct {
	Pos
	// System says SYSTEM and not BERNOULLI.
	System     bool
	Percent    *NumberLit
	Repeatable *NumberLit
}

// Hint is one hint of a /*+ ... */ comment.
type Hint struct {
	Pos
	Name *Ident
	// Options are 'key' = 'value' pairs; Args is what else was listed, as written. Only one of the two is there.
	Options []*Option
	Args    []*HintArg
}

// HintArg is a name, string or number in a hint without a key.
type HintArg struct {
	Pos
	// Name is a simple identifier's name, nil if Value is given.
	Name *Ident
	// Value is a literal.
	Value Expr
}

// MatchRecognize is a table with MATCH_RECOGNIZE behind it.
type MatchRecognize struct {
	Pos
	Input       TableExpr
	PartitionBy []Expr
	OrderBy     []*OrderItem
	Measures    []*Measure
	Rows        RowsPerMatch
	// After is nil where AFTER MATCH was left out.
	After *AfterMatch
	// Start and End are the anchors ^ and $.
	StartAnchor, EndAnchor bool
	Pattern                Pattern
	// Within is the interval behind WITHIN.
	Within  Expr
	Subsets []*Subset
	Define  []*Definition
	Alias   *TableAlias
	Sample  *Sample
}

// RowsPerMatch says what is given out for a match.
type RowsPerMatch uint8

// What is given out for a match.
const (
	RowsUnspecified RowsPerMatch = iota
	OneRow
	AllRows
)

// SkipKind says where matching goes on behind a match.
type SkipKind uint8

// Where matching goes on.
const (
	SkipPastLastRow SkipKind = iota
	SkipToNextRow
	SkipToFirst
	SkipToLast
)

// AfterMatch is AFTER MATCH SKIP ...
type AfterMatch struct {
	Pos
	Kind SkipKind
	// Variable is that of SKIP TO FIRST and SKIP TO LAST. SKIP TO v is SKIP TO LAST v.
	Variable *Ident
}

// Measure is `expression AS name`.
type Measure struct {
	Pos
	Expr  Expr
	Alias *Ident
}

// Definition is `variable AS condition`.
type Definition struct {
	Pos
	Name *Ident
	Expr Expr
}

// Subset is `name = (variables)`.
type Subset struct {
	Pos
	Name    *Ident
	Members []*Ident
}

// PatternVar is a variable of a pattern.
type PatternVar struct {
	Pos
	Name string
}

// PatternConcat is patterns one behind the other.
type PatternConcat struct {
	Pos
	Items []Pattern
}

// PatternAlt is patterns between bars.
type PatternAlt struct {
	Pos
	Items []Pattern
}

// PatternPermute is PERMUTE (a, b).
type PatternPermute struct {
	Pos
	Items []Pattern
}

// PatternExclude is {- pattern -}.
type PatternExclude struct {
	Pos
	Pattern Pattern
}

// PatternRepeat is a pattern with a quantifier: * + ? {n} {n,} {,m} {n,m}, reluctant with a ? behind it.
type PatternRepeat struct {
	Pos
	Pattern Pattern
	Min     int
	// Max is -1 without a bound.
	Max       int
	Reluctant bool
}

func (*QueryExpr) query()     {}
func (*Select) query()        {}
func (*SetOp) query()         {}
func (*Values) query()        {}
func (*ExplicitTable) query() {}

func (*TableName) tableExpr()      {}
func (*DerivedTable) tableExpr()   {}
func (*TableFunction) tableExpr()  {}
func (*Unnest) tableExpr()         {}
func (*Join) tableExpr()           {}
func (*MatchRecognize) tableExpr() {}

func (*PatternVar) pattern()     {}
func (*PatternConcat) pattern()  {}
func (*PatternAlt) pattern()     {}
func (*PatternPermute) pattern() {}
func (*PatternExclude) pattern() {}
func (*PatternRepeat) pattern()  {}
