package expr

import (
	"fmt"
	"strings"

	"github.com/weir-stream/weir/internal/sql/datatype"
)

// Expr is a bound expression over the columns of one input row (of two, left before right, in the condition of a join).
type Expr interface {
	// Type is that of the value.
	Type() datatype.Type
	// String prints the expression for plans, with columns by their names.
	String() string
}

// Column is a column of the input.
type Column struct {
	Index int
	Name  string
	Of    datatype.Type
}

// Literal is a constant. Value is nil if it is missing, or by the type's physical form: bool; int64 for all integers, dates, times,
// short decimals and intervals; float64 for both floats (of a FLOAT, a float32's value); column.Int128; string for text; []byte;
// []any for ARRAY and ROW; Pairs for MAP and MULTISET.
type Literal struct {
	Value any
	Of    datatype.Type
}

// Pairs is the value of a MAP or MULTISET.
type Pairs struct{ Keys, Values []any }

// Call applies a function.
type Call struct {
	Fn   *Function
	Args []Expr
	Of   datatype.Type
	// Options are words of the syntax that are no values, such as the unit of EXTRACT or "ERROR ON EMPTY", by a name that the function knows.
	Options map[string]string
}

// Cast converts. CAST fails for what cannot be converted, TRY_CAST yields a missing value.
type Cast struct {
	Arg Expr
	Of  datatype.Type
	Try bool
	// Implicit says that nobody wrote it.
	Implicit bool
}

// Case yields the value behind the first condition that is true. A value is computed only for the rows that take it.
type Case struct {
	When, Then []Expr
	// Else is never nil.
	Else Expr
	Of   datatype.Type
}

// Type implements Expr.
func (e *Column) Type() datatype.Type { return e.Of }

// Type implements Expr.
func (e *Literal) Type() datatype.Type { return e.Of }

// Type implements Expr.
func (e *Call) Type() datatype.Type { return e.Of }

// Type implements Expr.
func (e *Cast) Type() datatype.Type { return e.Of }

// Type implements Expr.
func (e *Case) Type() datatype.Type { return e.Of }

// String implements Expr.
func (e *Column) String() string { return e.Name }

// String implements Expr.
func (e *Literal) String() string {
	switch v := e.Value.(type) {
	case nil:
		return "NULL"
	case string:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	}
	return fmt.Sprint(e.Value)
}

// String implements Expr.
func (e *Call) String() string {
	args := list(e.Args)
	if len(e.Args) == 2 && e.Fn.Infix {
		return "(" + e.Args[0].String() + " " + e.Fn.Name + " " + e.Args[1].String() + ")"
	}
	return e.Fn.Name + "(" + args + ")"
}

// String implements Expr.
func (e *Cast) String() string {
	word := "CAST"
	if e.Try {
		word = "TRY_CAST"
	}
	return fmt.Sprintf("%s(%v AS %v)", word, e.Arg, e.Of.WithNull(true))
}

// String implements Expr.
func (e *Case) String() string {
	var b strings.Builder
	b.WriteString("CASE")
	for i := range e.When {
		fmt.Fprintf(&b, " WHEN %v THEN %v", e.When[i], e.Then[i])
	}
	fmt.Fprintf(&b, " ELSE %v END", e.Else)
	return b.String()
}

func list(args []Expr) string {
	s := make([]string, len(args))
	for i, a := range args {
		s[i] = a.String()
	}
	return strings.Join(s, ", ")
}

// Children returns the expressions directly inside e.
func Children(e Expr) []Expr {
	switch e := e.(type) {
	case *Call:
		return e.Args
	case *Cast:
		return []Expr{e.Arg}
	case *Case:
		var all []Expr
		for i := range e.When {
			all = append(all, e.When[i], e.Then[i])
		}
		return append(all, e.Else)
	}
	return nil
}

// Rewrite rebuilds e from the bottom up: f is given each node with its children already rewritten, and returns what takes its place.
func Rewrite(e Expr, f func(Expr) Expr) Expr {
	switch x := e.(type) {
	case *Call:
		c := *x
		c.Args = rewriteAll(x.Args, f)
		return f(&c)
	case *Cast:
		c := *x
		c.Arg = Rewrite(x.Arg, f)
		return f(&c)
	case *Case:
		c := *x
		c.When, c.Then, c.Else = rewriteAll(x.When, f), rewriteAll(x.Then, f), Rewrite(x.Else, f)
		return f(&c)
	}
	return f(e)
}

func rewriteAll(args []Expr, f func(Expr) Expr) []Expr {
	out := make([]Expr, len(args))
	for i, a := range args {
		out[i] = Rewrite(a, f)
	}
	return out
}

// Any reports whether f holds for e or an expression inside it.
func Any(e Expr, f func(Expr) bool) bool {
	if f(e) {
		return true
	}
	for _, c := range Children(e) {
		if Any(c, f) {
			return true
		}
	}
	return false
}
