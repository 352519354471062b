package vec

import (
	"strconv"

	"github.com/weir-stream/weir/column"
	"github.com/weir-stream/weir/internal/sql/expr"
)

func init() { register(buildField, "FIELD") }

// field is a field of a ROW. Where no row of the batch is missing it is the child vector itself.
type field struct {
	a     kernel
	index int
	out   column.Vector
}

func buildField(_ *compiler, call *expr.Call, args []kernel) (kernel, error) {
	i, err := strconv.Atoi(call.Options["index"])
	return &field{a: args[0], index: i, out: column.NewVector(call.Of.Field(""), 0)}, err
}

func (k *field) eval(f *frame, sel []int32) (*column.Vector, error) {
	v, err := k.a.eval(f, sel)
	if err != nil {
		return nil, err
	}
	child := v.Child(k.index)
	if v.Nulls() == 0 {
		return child, nil
	}
	k.out.View(child, v)
	return &k.out, nil
}
