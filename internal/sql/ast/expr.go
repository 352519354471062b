package ast

// ColumnRef is a name with dots: a column, one of a table's columns, a field within, or a variable's column in
// MATCH_RECOGNIZE.
type ColumnRef struct {
	Pos
	Parts []*Ident
}

// Star is * or t.* in a SELECT list, and * as the argument of COUNT.
type Star struct {
	Pos
	// Qualifier is what stands before the dot.
	Qualifier []*Ident
}

// NullLit is NULL.
type NullLit struct{ Pos }

// BoolLit is TRUE or FALSE.
type BoolLit struct {
	Pos
	Value bool
}

// UnknownLit is UNKNOWN, the BOOLEAN null.
type UnknownLit struct{ Pos }

// NumberLit is a number. With an exponent it is a DOUBLE, else exact.
type NumberLit struct {
	Pos
	// Text is the number as written, with a minus in front if there was one directly before it.
	Text string
}

// StringLit is a character string with its escapes resolved and its pieces joined.
type StringLit struct {
	Pos
	Value string
	// Charset is that of _charset'...' (or ISO-8859-1 for N'...'), else "".
	Charset string
}

// BinaryLit is X'...'.
type BinaryLit struct {
	Pos
	// Hex has an even number of upper-case digits.
	Hex string
}

// DateTimeKind is the kind of a date or time literal.
type DateTimeKind uint8

// The kinds of date and time literals.
const (
	DateKind DateTimeKind = iota
	TimeKind
	TimestampKind
	TimestampLTZKind
)

// DateTimeLit is DATE '...', TIME '...', TIMESTAMP '...' or TIMESTAMP WITH LOCAL TIME ZONE '...'. Its text has not been
// checked.
type DateTimeLit struct {
	Pos
	Kind DateTimeKind
	Text string
}

// IntervalLit is INTERVAL [-]'...' with its range. Its text has not been checked.
type IntervalLit struct {
	Pos
	Negative bool
	Text     string
	Range    *IntervalRange
}

// IntervalExpr is INTERVAL value unit where the value is no string: it counts units.
type IntervalExpr struct {
	Pos
	Value Expr
	Range *IntervalRange
}

// IntervalSub is (x - y) range: the time between two points in time, in units of the range.
type IntervalSub struct {
	Pos
	X, Y  Expr
	Range *IntervalRange
}

// TimeUnit is a unit of time.
type TimeUnit uint8

// The units of time. Of intervals only Year to Second are; the others are for EXTRACT, FLOOR, CEIL, TIMESTAMPADD and
// TIMESTAMPDIFF. UnitNone is the end of an interval without TO.
const (
	UnitNone TimeUnit = iota
	UnitYear
	UnitQuarter
	UnitMonth
	UnitWeek
	UnitDay
	UnitHour
	UnitMinute
	UnitSecond
	UnitMillisecond
	UnitMicrosecond
	UnitNanosecond
	UnitEpoch
	UnitDecade
	UnitCentury
	UnitMillennium
	UnitDow
	UnitIsodow
	UnitDoy
	UnitIsoyear
)

// IntervalRange is what stands behind an interval: DAY, DAY(3) TO SECOND(6).
type IntervalRange struct {
	Pos
	From TimeUnit
	// To is UnitNone where only one unit was written.
	To TimeUnit
	// Precision is the number of digits of From, Fraction that of a second's fraction; -1 where not written.
	Precision, Fraction int
}

// UnitArg is a unit of time as an argument of a function. Unit is UnitNone if the name is not one that the language
// knows; functions refuse such.
type UnitArg struct {
	Pos
	Unit TimeUnit
	// Name is the unit as it is printed.
	Name string
}

// UnaryOp is an operator before one operand.
type UnaryOp uint8

// The unary operators. Final and Running are those of MATCH_RECOGNIZE.
const (
	Not UnaryOp = iota
	Neg
	Plus
	Final
	Running
)

// Unary is NOT x, -x, +x, FINAL x or RUNNING x.
type Unary struct {
	Pos
	Op UnaryOp
	X  Expr
}

// BinaryOp is an operator between two operands.
type BinaryOp uint8

// The binary operators, those that bind least first.
const (
	Or BinaryOp = iota
	And
	Eq
	NotEq
	Less
	LessEq
	Greater
	GreaterEq
	IsDistinctFrom
	IsNotDistinctFrom
	MemberOf
	SubmultisetOf
	NotSubmultisetOf
	Contains
	Overlaps
	Equals
	Precedes
	Succeeds
	ImmediatelyPrecedes
	ImmediatelySucceeds
	MultisetUnion
	MultisetUnionDistinct
	MultisetExcept
	MultisetExceptDistinct
	MultisetIntersect
	MultisetIntersectDistinct
	Add
	Sub
	Mul
	Div
	Mod
	Concat
)

// Binary is x op y.
type Binary struct {
	Pos
	Op   BinaryOp
	X, Y Expr
}

// IsTest is what IS may ask.
type IsTest uint8

// What IS may ask.
const (
	IsNull IsTest = iota
	IsTrue
	IsFalse
	IsUnknown
	IsJSONValue
	IsJSONObject
	IsJSONArray
	IsJSONScalar
	IsEmpty
	IsASet
)

// Is is x IS [NOT] test.
type Is struct {
	Pos
	X    Expr
	Not  bool
	Test IsTest
}

// Between is x [NOT] BETWEEN [SYMMETRIC] low AND high.
type Between struct {
	Pos
	X              Expr
	Not, Symmetric bool
	Low, High      Expr
}

// LikeKind is the kind of a match with a pattern.
type LikeKind uint8

// The kinds of matches.
const (
	LikeOp LikeKind = iota
	ILikeOp
	RLikeOp
	SimilarTo
)

// Like is x [NOT] LIKE pattern [ESCAPE c], and the same with SIMILAR TO, ILIKE and RLIKE.
type Like struct {
	Pos
	Kind    LikeKind
	X       Expr
	Not     bool
	Pattern Expr
	Escape  Expr
}

// In is x [NOT] IN (list) or (query).
type In struct {
	Pos
	X   Expr
	Not bool
	// List or Query is set.
	List  []Expr
	Query Query
}

// Quantified is x op ANY (...), SOME (...) or ALL (...).
type Quantified struct {
	Pos
	X Expr
	// Op is a comparison.
	Op BinaryOp
	// All says ALL and not ANY or SOME.
	All bool
	// List or Query is set.
	List  []Expr
	Query Query
}

// Exists is EXISTS (query), or UNIQUE (query).
type Exists struct {
	Pos
	Unique bool
	Query  Query
}

// Subquery is a query in parentheses where a value is expected.
type Subquery struct {
	Pos
	Query Query
}

// Case is CASE [operand] WHEN ... END.
type Case struct {
	Pos
	Operand Expr
	Whens   []*When
	Else    Expr
}

// When is one WHEN of a CASE.
type When struct {
	Pos
	// Conds has one condition, or with an operand the values to compare with.
	Conds  []Expr
	Result Expr
}

// Cast is CAST(x AS type) or TRY_CAST(x AS type).
type Cast struct {
	Pos
	Try  bool
	X    Expr
	Type *Type
}

// TrimSide says where TRIM cuts.
type TrimSide uint8

// Where TRIM cuts.
const (
	TrimBoth TrimSide = iota
	TrimLeading
	TrimTrailing
)

// Trim is TRIM([side] [chars] FROM x).
type Trim struct {
	Pos
	Side TrimSide
	// Chars is nil for blanks.
	Chars Expr
	X     Expr
}

// NullTreatment is IGNORE NULLS, RESPECT NULLS or nothing.
type NullTreatment uint8

// What an aggregate does with nulls.
const (
	NullsTreatmentUnspecified NullTreatment = iota
	IgnoreNulls
	RespectNulls
)

// FuncCall is a call of a function, an aggregate or a window function. Functions with a syntax of their own are calls
// too: EXTRACT(unit FROM x), FLOOR(x TO unit), TIMESTAMPADD(unit, n, x) and their like have a *UnitArg where the unit
// stands, POSITION(x IN y), SUBSTRING(x FROM n FOR m) and OVERLAY(x PLACING y FROM n) have their operands in order.
type FuncCall struct {
	Pos
	// Name is as written; the names of those with a syntax of their own are upper case.
	Name *ObjectName
	// NoParens is that of CURRENT_DATE and its like without parentheses.
	NoParens bool
	Distinct bool
	// Args may hold *Star (of COUNT), *NamedArg, *DefaultArg, *TableArg, *Descriptor, *UnitArg.
	Args []Expr
	// OrderBy stands within the parentheses.
	OrderBy        []*OrderItem
	WithinDistinct []Expr
	WithinGroup    []*OrderItem
	Nulls          NullTreatment
	Filter         Expr
	Over           *Window
}

// NamedArg is `name => value`.
type NamedArg struct {
	Pos
	Name  *Ident
	Value Expr
}

// DefaultArg is DEFAULT in place of an argument or of a value to insert.
type DefaultArg struct{ Pos }

// TableArg is a table as an argument: TABLE name or a query, with the columns that make a partition and its order. A query
// without PARTITION BY is a *Subquery instead.
type TableArg struct {
	Pos
	// Name or Query is set.
	Name        *ObjectName
	Query       Query
	PartitionBy []*Ident
	OrderBy     []*OrderItem
}

// ModelArg is MODEL name as an argument.
type ModelArg struct {
	Pos
	Name *ObjectName
}

// Descriptor is DESCRIPTOR(columns) as an argument.
type Descriptor struct {
	Pos
	Columns []*ObjectName
}

// Index is x[i].
type Index struct {
	Pos
	X, Index Expr
}

// Field is x.name where x is more than a name with dots.
type Field struct {
	Pos
	X    Expr
	Name *Ident
}

// RowCtor is ROW(a, b), (a, b) or PERIOD (a, b).
type RowCtor struct {
	Pos
	// Explicit says ROW.
	Explicit bool
	Items    []Expr
}

// ArrayCtor is ARRAY[...] or ARRAY(query).
type ArrayCtor struct {
	Pos
	Items []Expr
	Query Query
}

// MapCtor is MAP[key, value, ...] or MAP(query).
type MapCtor struct {
	Pos
	// Items are keys and values in turn.
	Items []Expr
	Query Query
}

// MultisetCtor is MULTISET[...] or MULTISET(query).
type MultisetCtor struct {
	Pos
	Items []Expr
	Query Query
}

// Param is the dynamic parameter ?.
type Param struct {
	Pos
	// Index counts the parameters of a statement from 0.
	Index int
}

// FormatJSON is x FORMAT JSON.
type FormatJSON struct {
	Pos
	X Expr
}

// JSONBehavior is what a JSON function gives when it finds nothing or fails.
type JSONBehavior uint8

// What a JSON function gives. The first says that nothing was written.
const (
	JSONUnspecified JSONBehavior = iota
	JSONNull
	JSONError
	JSONTrue
	JSONFalse
	JSONUnknown
	JSONEmptyArray
	JSONEmptyObject
	JSONDefault
)

// JSONOn is one ON EMPTY or ON ERROR.
type JSONOn struct {
	Pos
	Behavior JSONBehavior
	// Default is that of JSONDefault.
	Default Expr
}

// JSONExists is JSON_EXISTS(x, path [behavior ON ERROR]).
type JSONExists struct {
	Pos
	X, Path Expr
	OnError *JSONOn
}

// JSONValue is JSON_VALUE(x, path [RETURNING type] [ON EMPTY] [ON ERROR]).
type JSONValue struct {
	Pos
	X, Path          Expr
	Returning        *Type
	OnEmpty, OnError *JSONOn
}

// JSONWrapper is the wrapper clause of JSON_QUERY.
type JSONWrapper uint8

// The wrappers of JSON_QUERY.
const (
	WrapperUnspecified JSONWrapper = iota
	WithoutWrapper
	WithConditionalWrapper
	WithUnconditionalWrapper
)

// JSONQuery is JSON_QUERY(x, path [RETURNING type] [wrapper] [ON EMPTY] [ON ERROR]).
type JSONQuery struct {
	Pos
	X, Path          Expr
	Returning        *Type
	Wrapper          JSONWrapper
	OnEmpty, OnError *JSONOn
}

// JSONNulls is NULL ON NULL, ABSENT ON NULL or nothing.
type JSONNulls uint8

// What a JSON constructor does with nulls.
const (
	JSONNullsUnspecified JSONNulls = iota
	NullOnNull
	AbsentOnNull
)

// JSONPair is one `key VALUE value` of JSON_OBJECT.
type JSONPair struct {
	Pos
	Key, Value Expr
}

// JSONObject is JSON_OBJECT(...).
type JSONObject struct {
	Pos
	Pairs []*JSONPair
	Nulls JSONNulls
}

// JSONArray is JSON_ARRAY(...).
type JSONArray struct {
	Pos
	Items []Expr
	Nulls JSONNulls
}

// JSONObjectAgg is JSON_OBJECTAGG(key VALUE value).
type JSONObjectAgg struct {
	Pos
	Key, Value Expr
	Nulls      JSONNulls
}

// JSONArrayAgg is JSON_ARRAYAGG(x [ORDER BY ...]).
type JSONArrayAgg struct {
	Pos
	X       Expr
	OrderBy []*OrderItem
	Nulls   JSONNulls
}

func (*ColumnRef) expr()     {}
func (*Star) expr()          {}
func (*NullLit) expr()       {}
func (*BoolLit) expr()       {}
func (*UnknownLit) expr()    {}
func (*NumberLit) expr()     {}
func (*StringLit) expr()     {}
func (*BinaryLit) expr()     {}
func (*DateTimeLit) expr()   {}
func (*IntervalLit) expr()   {}
func (*IntervalExpr) expr()  {}
func (*IntervalSub) expr()   {}
func (*UnitArg) expr()       {}
func (*Unary) expr()         {}
func (*Binary) expr()        {}
func (*Is) expr()            {}
func (*Between) expr()       {}
func (*Like) expr()          {}
func (*In) expr()            {}
func (*Quantified) expr()    {}
func (*Exists) expr()        {}
func (*Subquery) expr()      {}
func (*Case) expr()          {}
func (*Cast) expr()          {}
func (*Trim) expr()          {}
func (*FuncCall) expr()      {}
func (*NamedArg) expr()      {}
func (*DefaultArg) expr()    {}
func (*TableArg) expr()      {}
func (*ModelArg) expr()      {}
func (*Descriptor) expr()    {}
func (*Index) expr()         {}
func (*Field) expr()         {}
func (*RowCtor) expr()       {}
func (*ArrayCtor) expr()     {}
func (*MapCtor) expr()       {}
func (*MultisetCtor) expr()  {}
func (*Param) expr()         {}
func (*FormatJSON) expr()    {}
func (*JSONExists) expr()    {}
func (*JSONValue) expr()     {}
func (*JSONQuery) expr()     {}
func (*JSONObject) expr()    {}
func (*JSONArray) expr()     {}
func (*JSONObjectAgg) expr() {}
func (*JSONArrayAgg) expr()  {}
func (*GroupingSets) expr()  {}
