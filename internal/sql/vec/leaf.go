package vec

import (
	"fmt"

	"github.com/weir-stream/weir/column"
	"github.com/weir-stream/weir/internal/sql/datatype"
	"github.com/weir-stream/weir/internal/sql/expr"
)

// columnKernel is a column of the batch.
type columnKernel int

func (k columnKernel) eval(f *frame, _ []int32) (*column.Vector, error) {
	return f.b.Vector(int(k)), nil
}

// constant is a literal: one value, and a vector full of it for whoever asks.
type constant struct {
	lit *expr.Literal
	one *column.Vector
	v   column.Vector
	n   int // that v has been filled for
}

func newConstant(l *expr.Literal) (*constant, error) {
	one, err := NewValue(l)
	if err != nil {
		return nil, err
	}
	return &constant{lit: l, one: one, v: column.NewVector(l.Of.Field(""), 0)}, nil
}

// missing reports whether the constant is NULL.
func (k *constant) missing() bool { return k.lit.Value == nil }

func (k *constant) eval(f *frame, _ []int32) (*column.Vector, error) {
	if f.n <= k.n && k.v.Len() == f.n {
		return &k.v, nil
	}
	rows := make([]int32, f.n)
	k.v.Begin(0)
	k.v.Gather(k.one, rows)
	k.n = f.n
	return &k.v, nil
}

// NewValue returns a vector that holds the value of a literal alone.
func NewValue(l *expr.Literal) (*column.Vector, error) {
	v := column.NewVector(l.Of.Field(""), 1)
	if err := AppendValue(&v, l.Of, l.Value); err != nil {
		return nil, err
	}
	return &v, nil
}

// AppendValue appends a value, in the form that expr.Literal describes, to a vector of type t.
func AppendValue(v *column.Vector, t datatype.Type, x any) error {
	if x == nil {
		v.AppendNull()
		return nil
	}
	switch x := x.(type) {
	case bool:
		v.AppendBool(x)
	case string:
		v.AppendString(x)
	case []byte:
		v.AppendBytes(x)
	case float64:
		if v.Kind() == column.Float32 {
			column.Append(v, float32(x))
		} else {
			column.Append(v, x)
		}
	case column.Int128:
		column.Append(v, x)
	case int64:
		return appendInteger(v, x)
	case []any:
		return appendNested(v, t, x)
	case expr.Pairs:
		for i := range x.Keys {
			if err := AppendValue(v.Child(0), t.Of[0], x.Keys[i]); err != nil {
				return err
			}
			of := datatype.Of(datatype.Int)
			if t.Root == datatype.Map {
				of = t.Of[1]
			}
			if err := AppendValue(v.Child(1), of, x.Values[i]); err != nil {
				return err
			}
		}
		v.EndList()
	default:
		return fmt.Errorf("vec: a literal of type %v holds a %T", t, x)
	}
	return nil
}

func appendInteger(v *column.Vector, x int64) error {
	switch v.Kind() {
	case column.Int8:
		column.Append(v, int8(x))
	case column.Int16:
		column.Append(v, int16(x))
	case column.Int32:
		column.Append(v, int32(x))
	case column.Int64:
		column.Append(v, x)
	case column.Wide:
		column.Append(v, column.Int128{Lo: uint64(x), Hi: x >> 63})
	default:
		return fmt.Errorf("vec: an integer in a vector of %v", v.Kind())
	}
	return nil
}

func appendNested(v *column.Vector, t datatype.Type, x []any) error {
	for i := range x {
		child, of := 0, t.Of[0]
		if t.Root == datatype.Row {
			child, of = i, t.Of[i]
		}
		if err := AppendValue(v.Child(child), of, x[i]); err != nil {
			return err
		}
	}
	if t.Root == datatype.Row {
		v.EndStruct()
	} else {
		v.EndList()
	}
	return nil
}

// ValueAt returns value i of a vector of type t in the form that expr.Literal describes.
func ValueAt(v *column.Vector, t datatype.Type, i int) any {
	if v.Null(i) {
		return nil
	}
	switch v.Kind() {
	case column.Bool:
		return v.Bool(i)
	case column.Int8:
		return int64(column.Values[int8](v)[i])
	case column.Int16:
		return int64(column.Values[int16](v)[i])
	case column.Int32:
		return int64(column.Values[int32](v)[i])
	case column.Int64:
		return column.Values[int64](v)[i]
	case column.Float32:
		return float64(column.Values[float32](v)[i])
	case column.Float64:
		return column.Values[float64](v)[i]
	case column.Wide:
		return column.Values[column.Int128](v)[i]
	case column.String:
		return string(v.Text(i))
	case column.Bytes:
		return append([]byte{}, v.Text(i)...)
	case column.Struct:
		out := make([]any, v.Children())
		for k := range out {
			out[k] = ValueAt(v.Child(k), t.Of[k], i)
		}
		return out
	}
	from, to := v.Span(i)
	if v.Kind() == column.List {
		out := make([]any, 0, to-from)
		for e := from; e < to; e++ {
			out = append(out, ValueAt(v.Child(0), t.Of[0], e))
		}
		return out
	}
	of := datatype.Of(datatype.Int)
	if t.Root == datatype.Map {
		of = t.Of[1]
	}
	var p expr.Pairs
	for e := from; e < to; e++ {
		p.Keys = append(p.Keys, ValueAt(v.Child(0), t.Of[0], e))
		p.Values = append(p.Values, ValueAt(v.Child(1), of, e))
	}
	return p
}
