package functions

import (
	"github.com/weir-stream/weir/internal/sql/datatype"
	"github.com/weir-stream/weir/internal/sql/expr"
)

var arithmetic = []*expr.Function{
	{Name: "+", Infix: true, Resolve: plus}, {Name: "-", Infix: true, Resolve: minus}, {Name: "*", Infix: true, Resolve: times},
	{Name: "/", Infix: true, Resolve: divide}, {Name: "%", Infix: true, Resolve: modulo}, {Name: "NEGATE", Resolve: negate},
}

type resolved = func(args []expr.Expr, options map[string]string) (datatype.Type, []datatype.Type, error)

var _ resolved = plus

// numbers resolves an operator on two numbers: decimals by the given rule, others in their common type.
func numbers(name string, args []expr.Expr, decimal func(a, b datatype.Type) datatype.Type) (datatype.Type, []datatype.Type, error) {
	a, b := args[0].Type(), args[1].Type()
	if a.Root == datatype.Null {
		a = b
	}
	if b.Root == datatype.Null {
		b = a
	}
	if !a.Numeric() || !b.Numeric() {
		return datatype.Type{}, nil, refuse(name, args, "numbers")
	}
	null := anyNull(args)
	if (a.Root == datatype.Decimal || b.Root == datatype.Decimal) && !a.Approximate() && !b.Approximate() {
		if a.Integer() {
			a = datatype.DecimalOfInteger(a)
		}
		if b.Integer() {
			b = datatype.DecimalOfInteger(b)
		}
		return decimal(a, b).WithNull(null), []datatype.Type{a, b}, nil
	}
	t, _ := datatype.Common(a, b)
	return t.WithNull(null), []datatype.Type{t, t}, nil
}

func sum(a, b datatype.Type) datatype.Type {
	s := max(a.Scale, b.Scale)
	return capped(max(a.Length-a.Scale, b.Length-b.Scale)+s+1, s)
}

// capped is DECIMAL(p, s) with at most 38 digits; the whole part is kept, and 6 digits behind the point at least.
func capped(p, s int) datatype.Type {
	if p > datatype.MaxPrecision {
		s = max(datatype.MaxPrecision-(p-s), min(s, 6))
		p = datatype.MaxPrecision
	}
	return datatype.DecimalOf(p, s)
}

// temporal resolves a time and an interval, whichever comes first.
func temporal(args []expr.Expr) (datatype.Type, bool) {
	a, b := args[0].Type(), args[1].Type()
	switch {
	case a.Temporal() && b.Interval():
		return a.WithNull(anyNull(args)), true
	case a.Interval() && b.Temporal():
		return b.WithNull(anyNull(args)), true
	case a.Interval() && b.Root == a.Root:
		return a.WithNull(anyNull(args)), true
	}
	return datatype.Type{}, false
}

func plus(args []expr.Expr, _ map[string]string) (datatype.Type, []datatype.Type, error) {
	if t, ok := temporal(args); ok {
		return t, nil, nil
	}
	return numbers("+", args, sum)
}

func minus(args []expr.Expr, _ map[string]string) (datatype.Type, []datatype.Type, error) {
	if t, ok := temporal(args); ok && !args[1].Type().Temporal() {
		return t, nil, nil
	}
	return numbers("-", args, sum)
}

func times(args []expr.Expr, _ map[string]string) (datatype.Type, []datatype.Type, error) {
	a, b := args[0].Type(), args[1].Type()
	if a.Interval() && b.Numeric() {
		return a.WithNull(anyNull(args)), nil, nil
	}
	if b.Interval() && a.Numeric() {
		return b.WithNull(anyNull(args)), nil, nil
	}
	return numbers("*", args, func(a, b datatype.Type) datatype.Type { return capped(a.Length+b.Length+1, a.Scale+b.Scale) })
}

func divide(args []expr.Expr, _ map[string]string) (datatype.Type, []datatype.Type, error) {
	return numbers("/", args, func(a, b datatype.Type) datatype.Type {
		s := max(6, a.Scale+b.Length+1)
		return capped(a.Length-a.Scale+b.Scale+s, s)
	})
}

func modulo(args []expr.Expr, _ map[string]string) (datatype.Type, []datatype.Type, error) {
	return numbers("%", args, func(a, b datatype.Type) datatype.Type {
		s := max(a.Scale, b.Scale)
		return capped(min(a.Length-a.Scale, b.Length-b.Scale)+s, s)
	})
}

func negate(args []expr.Expr, _ map[string]string) (datatype.Type, []datatype.Type, error) {
	if t := args[0].Type(); t.Numeric() || t.Interval() {
		return t, nil, nil
	}
	return datatype.Type{}, nil, refuse("-", args, "a number or an interval")
}
