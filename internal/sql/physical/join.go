package physical

import "github.com/weir-stream/weir/internal/sql/expr"

// JoinKind is a kind of join.
type JoinKind uint8

// Kinds of joins.
const (
	Inner JoinKind = iota
	Left
	Right
	Full
	Semi
	Anti
)

// Join joins two changing tables. Output: left, then right; of Semi and Anti the left alone.
type Join struct {
	Base
	Kind JoinKind
	// LeftKeys and RightKeys are equal in a match. NullEqual has for each whether two missing values match (IS NOT DISTINCT FROM).
	LeftKeys, RightKeys []int
	NullEqual           []bool
	// Condition, over left and then right columns, is what must hold beyond; nil if nothing.
	Condition expr.Expr
	// LeftUnique and RightUnique are columns that identify a row of the side, nil if there are none. Within the join key that means one
	// row a key if they are contained in it.
	LeftUnique, RightUnique []int
	// NullAware is NOT IN: a missing key on the right keeps everything out.
	NullAware bool
}

// IntervalJoin joins two insert-only streams whose times lie within bounds: right + Lower <= left <= right + Upper, in milliseconds.
type IntervalJoin struct {
	Base
	Kind                JoinKind
	LeftKeys, RightKeys []int
	Condition           expr.Expr
	LeftTime, RightTime int
	Lower, Upper        int64
	Proctime            bool
}

// TemporalJoin joins each left row with the version of the right row that was valid at the left row's time.
type TemporalJoin struct {
	Base
	Kind                JoinKind
	LeftKeys, RightKeys []int
	Condition           expr.Expr
	LeftTime, RightTime int
	RightUnique         []int
	// Function is a temporal table function's or a processing-time join's: the latest version.
	Proctime bool
}

// LookupJoin asks a table for the rows of each left row's key, at the processing time.
type LookupJoin struct {
	Base
	Kind  JoinKind
	Table *Scan
	// LeftKeys and TableKeys are equal; Constants fix columns of the table.
	LeftKeys  []int
	TableKeys []string
	Constants map[string]*expr.Literal
	// Calc is applied to the table's rows, Condition to the joined ones.
	Calc      *Calc
	Condition expr.Expr
	Hints     map[string]string
	Upsert    bool
}

// WindowJoin joins rows of the same window.
type WindowJoin struct {
	Base
	Kind                    JoinKind
	LeftWindow, RightWindow Window
	LeftKeys, RightKeys     []int
	Condition               expr.Expr
}
