package vec

import (
	"errors"
	"fmt"
	"math"

	"github.com/weir-stream/weir/column"
	"github.com/weir-stream/weir/internal/sql/datatype"
	"github.com/weir-stream/weir/internal/sql/expr"
)

func init() { register(buildArithmetic, "+", "-", "*", "/", "%") }

// number are the Go types of SQL's integers and floats.
type number interface {
	int8 | int16 | int32 | int64 | float32 | float64
}

// buildArithmetic takes arguments of the result's type. Integers wrap around, as Java's.
func buildArithmetic(_ *compiler, call *expr.Call, args []kernel) (kernel, error) {
	if len(args) != 2 {
		return nil, fmt.Errorf("vec: %s with %d arguments", call.Fn.Name, len(args))
	}
	op := call.Fn.Name[0]
	for _, a := range call.Args {
		if !a.Type().Is(call.Of.Root) {
			return buildMixed(call, args)
		}
	}
	switch call.Of.Root {
	case datatype.TinyInt:
		return newArith[int8](op, call, args), nil
	case datatype.SmallInt:
		return newArith[int16](op, call, args), nil
	case datatype.Int:
		return newArith[int32](op, call, args), nil
	case datatype.BigInt:
		return newArith[int64](op, call, args), nil
	case datatype.Float:
		return newArith[float32](op, call, args), nil
	case datatype.Double:
		return newArith[float64](op, call, args), nil
	}
	return buildMixed(call, args)
}

type arith[T number] struct {
	op   byte
	a, b kernel
	out  column.Vector
}

func newArith[T number](op byte, call *expr.Call, args []kernel) kernel {
	return &arith[T]{op: op, a: args[0], b: args[1], out: column.NewVector(call.Of.Field(""), 0)}
}

func (k *arith[T]) eval(f *frame, sel []int32) (*column.Vector, error) {
	va, err := k.a.eval(f, sel)
	if err != nil {
		return nil, err
	}
	vb, err := k.b.eval(f, sel)
	if err != nil {
		return nil, err
	}
	k.out.Begin(f.n)
	k.out.SetValidity(va, vb)
	out, a, b := column.Values[T](&k.out), column.Values[T](va), column.Values[T](vb)
	if k.op == '/' || k.op == '%' {
		return &k.out, k.divide(f, sel, out, a, b)
	}
	if f.sparse(sel) {
		arithAt(k.op, out, a, b, sel)
	} else {
		arithAll(k.op, out, a, b)
	}
	return &k.out, nil
}

func arithAll[T number](op byte, out, a, b []T) {
	a, b = a[:len(out)], b[:len(out)]
	switch op {
	case '+':
		for i := range out {
			out[i] = a[i] + b[i]
		}
	case '-':
		for i := range out {
			out[i] = a[i] - b[i]
		}
	default:
		for i := range out {
			out[i] = a[i] * b[i]
		}
	}
}

func arithAt[T number](op byte, out, a, b []T, sel []int32) {
	switch op {
	case '+':
		for _, i := range sel {
			out[i] = a[i] + b[i]
		}
	case '-':
		for _, i := range sel {
			out[i] = a[i] - b[i]
		}
	default:
		for _, i := range sel {
			out[i] = a[i] * b[i]
		}
	}
}

var errZero = errors.New("/ by zero")

func (k *arith[T]) divide(f *frame, sel []int32, out, a, b []T) error {
	one := func(i int) error {
		q, ok := quotient(k.op, a[i], b[i])
		if !ok {
			return errZero
		}
		out[i] = q
		return nil
	}
	return f.each(sel, &k.out, one)
}

func quotient[T number](op byte, a, b T) (T, bool) {
	switch x := any(a).(type) {
	case float64:
		y := any(b).(float64)
		if op == '/' {
			return T(x / y), true
		}
		return T(math.Mod(x, y)), true
	case float32:
		y := any(b).(float32)
		if op == '/' {
			return T(x / y), true
		}
		return T(math.Mod(float64(x), float64(y))), true
	}
	if b == 0 {
		return 0, false
	}
	if op == '/' {
		return a / b, true
	}
	return a - a/b*b, true // Go's % is not for floats, which T may be for the compiler
}
