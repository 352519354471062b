package functions

import (
	"strings"

	"github.com/weir-stream/weir/internal/sql/datatype"
	"github.com/weir-stream/weir/internal/sql/expr"
)

// Aggregate is an aggregate function.
type Aggregate struct {
	Name string
	// Resolve gives the type of the result and those that the arguments are cast to. grouped says that there is a GROUP BY, so that no
	// group is empty.
	Resolve func(args []expr.Expr, grouped bool) (datatype.Type, []datatype.Type, error)
}

var aggregates = map[string]*Aggregate{}

func init() {
	for _, a := range []*Aggregate{
		{"COUNT", func([]expr.Expr, bool) (datatype.Type, []datatype.Type, error) {
			return datatype.Of(datatype.BigInt).WithNull(false), nil, nil
		}},
		{"SUM", onNumber("SUM", false)}, {"SUM0", onNumber("SUM0", false)}, {"AVG", onNumber("AVG", true)},
		{"MIN", sameType("MIN")}, {"MAX", sameType("MAX")},
		{"FIRST_VALUE", sameType("FIRST_VALUE")}, {"LAST_VALUE", sameType("LAST_VALUE")}, {"SINGLE_VALUE", sameType("SINGLE_VALUE")},
	} {
		aggregates[a.Name] = a
	}
}

// FindAggregate returns the aggregate function of that name, in any case of letters, or nil.
func FindAggregate(name string) *Aggregate { return aggregates[strings.ToUpper(name)] }

// sameType is for functions that yield one of the values; a group without any yields nothing.
func sameType(name string) func([]expr.Expr, bool) (datatype.Type, []datatype.Type, error) {
	return func(args []expr.Expr, grouped bool) (datatype.Type, []datatype.Type, error) {
		if err := count(name, args, 1, 1); err != nil {
			return datatype.Type{}, nil, err
		}
		t := args[0].Type()
		return t.WithNull(t.Nullable || !grouped), nil, nil
	}
}

// onNumber is for SUM, of the argument's type but for decimals, and AVG.
func onNumber(name string, avg bool) func([]expr.Expr, bool) (datatype.Type, []datatype.Type, error) {
	return func(args []expr.Expr, grouped bool) (datatype.Type, []datatype.Type, error) {
		if err := count(name, args, 1, 1); err != nil {
			return datatype.Type{}, nil, err
		}
		t := args[0].Type()
		if !t.Numeric() {
			return datatype.Type{}, nil, refuse(name, args, "a number")
		}
		null := t.Nullable || !grouped
		if t.Root == datatype.Decimal {
			scale := t.Scale
			if avg {
				scale = max(6, scale)
			}
			return datatype.DecimalOf(datatype.MaxPrecision, scale).WithNull(null), nil, nil
		}
		return t.WithNull(null), nil, nil
	}
}
