package functions

import (
	"github.com/weir-stream/weir/internal/sql/datatype"
	"github.com/weir-stream/weir/internal/sql/expr"
)

var predicates = append(comparisons(),
	&expr.Function{Name: "AND", Infix: true, Resolve: logic("AND")}, &expr.Function{Name: "OR", Infix: true, Resolve: logic("OR")},
	&expr.Function{Name: "NOT", Resolve: logic("NOT")},
	&expr.Function{Name: "IS NULL", Resolve: isNull}, &expr.Function{Name: "IS NOT NULL", Resolve: isNull},
	&expr.Function{Name: "IS TRUE", Resolve: isTruth("IS TRUE")}, &expr.Function{Name: "IS NOT TRUE", Resolve: isTruth("IS NOT TRUE")},
	&expr.Function{Name: "IS FALSE", Resolve: isTruth("IS FALSE")}, &expr.Function{Name: "IS NOT FALSE", Resolve: isTruth("IS NOT FALSE")},
	&expr.Function{Name: "IS UNKNOWN", Resolve: isTruth("IS UNKNOWN")}, &expr.Function{Name: "IS NOT UNKNOWN", Resolve: isTruth("IS NOT UNKNOWN")})

func comparisons() []*expr.Function {
	var out []*expr.Function
	for _, name := range []string{"=", "<>", "<", "<=", ">", ">="} {
		out = append(out, &expr.Function{Name: name, Infix: true, Resolve: func(args []expr.Expr, _ map[string]string) (datatype.Type, []datatype.Type, error) {
			return compared(name, args)
		}})
	}
	return out
}

// compared casts both sides to their common type; a string beside a number or a time is read as one.
func compared(name string, args []expr.Expr) (datatype.Type, []datatype.Type, error) {
	a, b := args[0].Type(), args[1].Type()
	t, ok := datatype.Common(a, b)
	if !ok {
		switch {
		case a.Text() && (b.Numeric() || b.Temporal() || b.Root == datatype.Boolean):
			t = b
		case b.Text() && (a.Numeric() || a.Temporal() || a.Root == datatype.Boolean):
			t = a
		default:
			return datatype.Type{}, nil, refuse(name, args, "two values of comparable types")
		}
	}
	if t.Text() {
		t = datatype.String()
	}
	return datatype.Of(datatype.Boolean).WithNull(anyNull(args)), []datatype.Type{t, t}, nil
}

func logic(name string) resolved {
	return func(args []expr.Expr, _ map[string]string) (datatype.Type, []datatype.Type, error) {
		want := make([]datatype.Type, len(args))
		for i, a := range args {
			if !a.Type().Is(datatype.Boolean, datatype.Null) {
				return datatype.Type{}, nil, refuse(name, args, "BOOLEAN")
			}
			want[i] = datatype.Of(datatype.Boolean)
		}
		return datatype.Of(datatype.Boolean).WithNull(anyNull(args)), want, nil
	}
}

func isNull([]expr.Expr, map[string]string) (datatype.Type, []datatype.Type, error) {
	return datatype.Of(datatype.Boolean).WithNull(false), nil, nil
}

func isTruth(name string) resolved {
	return func(args []expr.Expr, _ map[string]string) (datatype.Type, []datatype.Type, error) {
		if !args[0].Type().Is(datatype.Boolean, datatype.Null) {
			return datatype.Type{}, nil, refuse(name, args, "BOOLEAN")
		}
		return datatype.Of(datatype.Boolean).WithNull(false), []datatype.Type{datatype.Of(datatype.Boolean)}, nil
	}
}
