package vec_test

import (
	"fmt"
	"testing"

	"github.com/weir-stream/weir/column"
	"github.com/weir-stream/weir/internal/sql/datatype"
	"github.com/weir-stream/weir/internal/sql/expr"
	"github.com/weir-stream/weir/internal/sql/vec"
)

var (
	bigint = datatype.Of(datatype.BigInt)
	truth  = datatype.Of(datatype.Boolean)
	text   = datatype.String()
)

func call(name string, of datatype.Type, args ...expr.Expr) expr.Expr {
	return &expr.Call{Fn: &expr.Function{Name: name}, Args: args, Of: of}
}

func lit(x any, of datatype.Type) expr.Expr { return &expr.Literal{Value: x, Of: of} }

// table is a batch of the columns a, b (BIGINT), s (STRING) with rows of small nasty values.
func table(t *testing.T) (*column.Batch, [3]expr.Expr) {
	t.Helper()
	schema, err := column.NewSchema(bigint.Field("a"), bigint.Field("b"), text.Field("s"))
	if err != nil {
		t.Fatal(err)
	}
	b := column.New(schema, 8)
	for _, r := range [][3]any{{int64(1), int64(2), "x"}, {int64(5), int64(0), ""}, {nil, int64(7), "a long string that is not inline"}, {int64(-3), nil, nil}} {
		for i, of := range []datatype.Type{bigint, bigint, text} {
			if err := vec.AppendValue(b.Vector(i), of, r[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.EndRow(); err != nil {
			t.Fatal(err)
		}
	}
	return b, [3]expr.Expr{&expr.Column{Index: 0, Name: "a", Of: bigint}, &expr.Column{Index: 1, Name: "b", Of: bigint}, &expr.Column{Index: 2, Name: "s", Of: text}}
}

// The values are by hand, with three truth values.
func TestExpressions(t *testing.T) {
	b, c := table(t)
	positive := call(">", truth, c[0], lit(int64(0), bigint))
	for _, x := range []struct {
		e    expr.Expr
		want string
	}{
		{call("+", bigint, c[0], c[1]), "[3 5 <nil> <nil>]"},
		{call("*", bigint, c[0], lit(int64(-2), bigint)), "[-2 -10 <nil> 6]"},
		{call("<", truth, c[0], c[1]), "[true false <nil> <nil>]"},
		{call(">", truth, lit(int64(2), bigint), c[0]), "[true false <nil> true]"},
		{call("=", truth, c[2], lit("x", text)), "[true false false <nil>]"},
		{call("AND", truth, positive, call(">", truth, c[1], lit(int64(1), bigint))), "[true false <nil> false]"},
		{call("OR", truth, positive, call(">", truth, c[1], lit(int64(1), bigint))), "[true true true <nil>]"},
		{call("NOT", truth, positive), "[false false <nil> true]"},
		{call("IS NULL", truth, c[2]), "[false false false true]"},
		{call("IS NOT TRUE", truth, positive), "[false false true true]"},
		// The division is computed only where b is not zero.
		{&expr.Case{When: []expr.Expr{call("=", truth, c[1], lit(int64(0), bigint))}, Then: []expr.Expr{lit(int64(-1), bigint)},
			Else: call("/", bigint, lit(int64(14), bigint), c[1]), Of: bigint}, "[7 -1 2 <nil>]"},
		{&expr.Case{When: []expr.Expr{positive}, Then: []expr.Expr{c[2]}, Else: lit("none", text), Of: text}, "[x  none none]"},
	} {
		p, err := vec.Compile(x.e, &vec.Env{})
		if err != nil {
			t.Errorf("%v: %v", x.e, err)
			continue
		}
		v, err := p.Eval(b, nil)
		if err != nil {
			t.Errorf("%v: %v", x.e, err)
			continue
		}
		var got []any
		for i := range v.Len() {
			got = append(got, vec.ValueAt(v, x.e.Type(), i))
		}
		if fmt.Sprint(got) != x.want {
			t.Errorf("%v = %v, want %s", x.e, got, x.want)
		}
		if x.e.Type().Root != datatype.Boolean {
			continue
		}
		sel, err := p.Select(b, []int32{0, 1, 3}, nil)
		if err != nil {
			t.Error(err)
		}
		var want []int32
		for _, i := range []int32{0, 1, 3} {
			if got[i] == true {
				want = append(want, i)
			}
		}
		if fmt.Sprint(sel) != fmt.Sprint(want) {
			t.Errorf("%v selects %v, want %v", x.e, sel, want)
		}
	}
}

// A division by zero fails only for rows that are asked for.
func TestZero(t *testing.T) {
	b, c := table(t)
	p, err := vec.Compile(call("/", bigint, c[0], c[1]), &vec.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Eval(b, nil); err == nil {
		t.Error("5 / 0 has a value")
	}
	if _, err := p.Eval(b, []int32{0, 2, 3}); err != nil {
		t.Error(err)
	}
}
