package vec

import (
	"cmp"
	"fmt"

	"github.com/weir-stream/weir/column"
	"github.com/weir-stream/weir/internal/sql/expr"
)

func init() { register(buildCompare, "=", "<>", "<", "<=", ">", ">=") }

// relation is a comparison as the set of outcomes for which it holds.
type relation uint8

const (
	less relation = 1 << iota
	equal
	greater
)

var relations = map[string]relation{"=": equal, "<>": less | greater, "<": less, "<=": less | equal, ">": greater, ">=": greater | equal}

// buildCompare takes arguments of one physical form whose order is that of their values.
func buildCompare(_ *compiler, call *expr.Call, args []kernel) (kernel, error) {
	r := relations[call.Fn.Name]
	form := call.Args[0].Type().Kind()
	if form != call.Args[1].Type().Kind() {
		return nil, fmt.Errorf("vec: %v cannot be compared with %v", call.Args[0].Type(), call.Args[1].Type())
	}
	switch form {
	case column.Int8:
		return newCompare[int8](r, args), nil
	case column.Int16:
		return newCompare[int16](r, args), nil
	case column.Int32:
		return newCompare[int32](r, args), nil
	case column.Int64:
		return newCompare[int64](r, args), nil
	case column.Float32:
		return newCompare[float32](r, args), nil
	case column.Float64:
		return newCompare[float64](r, args), nil
	}
	order, err := orderOf(call.Args[0].Type())
	if err != nil {
		return nil, err
	}
	return &compareAny{r: r, a: args[0], b: args[1], order: order, out: boolVector()}, nil
}

func boolVector() column.Vector {
	return column.NewVector(column.Field{Kind: column.Bool, Nullable: true}, 0)
}

// compare compares numbers. Floats compare as in Java: with NaN nothing holds but <>.
type compare[T number] struct {
	r    relation
	a, b kernel
	out  column.Vector
}

func newCompare[T number](r relation, args []kernel) kernel {
	a, b := args[0], args[1]
	if _, ok := a.(*constant); ok { // the constant stands on the right
		a, b = b, a
		r = r&equal | r&less<<2 | r&greater>>2
	}
	return &compare[T]{r: r, a: a, b: b, out: boolVector()}
}

func (k *compare[T]) eval(f *frame, sel []int32) (*column.Vector, error) {
	va, vb, err := both(f, k.a, k.b, sel)
	if err != nil {
		return nil, err
	}
	k.out.Begin(f.n)
	k.out.SetValidity(va, vb)
	a, b, bits := column.Values[T](va), column.Values[T](vb), k.out.Bits()
	clear(bits)
	for i := range a {
		if holds(k.r, a[i], b[i]) {
			bits[i>>3] |= 1 << (i & 7)
		}
	}
	return &k.out, nil
}

func holds[T cmp.Ordered](r relation, a, b T) bool {
	switch r {
	case equal:
		return a == b
	case less | greater:
		return a != b
	case less:
		return a < b
	case less | equal:
		return a <= b
	case greater:
		return a > b
	}
	return a >= b
}

func both(f *frame, a, b kernel, sel []int32) (va, vb *column.Vector, err error) {
	if va, err = a.eval(f, sel); err == nil {
		vb, err = b.eval(f, sel)
	}
	return va, vb, err
}

// choose implements chooser. A comparison with a constant is one loop that appends without a branch.
func (k *compare[T]) choose(f *frame, sel, out []int32) ([]int32, error) {
	va, err := k.a.eval(f, sel)
	if err != nil {
		return nil, err
	}
	if c, ok := k.b.(*constant); ok && va.Nulls() == 0 && !c.missing() {
		x := column.Values[T](c.one)[0]
		if sel == nil {
			return selectAll(k.r, column.Values[T](va), x, out), nil
		}
		return selectAt(k.r, column.Values[T](va), x, sel, out), nil
	}
	vb, err := k.b.eval(f, sel)
	if err != nil {
		return nil, err
	}
	a, b := column.Values[T](va), column.Values[T](vb)
	if sel == nil {
		for i := range int32(f.n) {
			if holds(k.r, a[i], b[i]) && !va.Null(int(i)) && !vb.Null(int(i)) {
				out = append(out, i)
			}
		}
		return out, nil
	}
	for _, i := range sel {
		if holds(k.r, a[i], b[i]) && !va.Null(int(i)) && !vb.Null(int(i)) {
			out = append(out, i)
		}
	}
	return out, nil
}

func selectAll[T number](r relation, a []T, x T, out []int32) []int32 {
	out = out[:len(a)]
	n := 0
	switch r {
	case equal:
		for i, v := range a {
			out[n] = int32(i)
			n += one(v == x)
		}
	case less | greater:
		for i, v := range a {
			out[n] = int32(i)
			n += one(v != x)
		}
	case less:
		for i, v := range a {
			out[n] = int32(i)
			n += one(v < x)
		}
	case less | equal:
		for i, v := range a {
			out[n] = int32(i)
			n += one(v <= x)
		}
	case greater:
		for i, v := range a {
			out[n] = int32(i)
			n += one(v > x)
		}
	default:
		for i, v := range a {
			out[n] = int32(i)
			n += one(v >= x)
		}
	}
	return out[:n]
}

func selectAt[T number](r relation, a []T, x T, sel, out []int32) []int32 {
	for _, i := range sel {
		if holds(r, a[i], x) {
			out = append(out, i)
		}
	}
	return out
}

// one is 1 for true, without a branch.
func one(b bool) int {
	var x int
	if b {
		x = 1
	}
	return x
}

// compareAny compares values of other forms by a function.
type compareAny struct {
	r     relation
	a, b  kernel
	order func(a *column.Vector, i int, b *column.Vector, j int) int
	out   column.Vector
}

func (k *compareAny) eval(f *frame, sel []int32) (*column.Vector, error) {
	va, vb, err := both(f, k.a, k.b, sel)
	if err != nil {
		return nil, err
	}
	k.out.Begin(f.n)
	k.out.SetValidity(va, vb)
	_ = f.each(sel, &k.out, func(i int) error {
		k.out.SetBool(i, k.holds(k.order(va, i, vb, i)))
		return nil
	})
	return &k.out, nil
}

func (k *compareAny) holds(c int) bool {
	return k.r&(equal<<0) != 0 && c == 0 || k.r&less != 0 && c < 0 || k.r&greater != 0 && c > 0
}

// choose implements chooser.
func (k *compareAny) choose(f *frame, sel, out []int32) ([]int32, error) {
	va, err := k.a.eval(f, sel)
	if err != nil {
		return nil, err
	}
	vb, step := (*column.Vector)(nil), 1
	if c, ok := k.b.(*constant); ok && !c.missing() {
		vb, step = c.one, 0
	} else if vb, err = k.b.eval(f, sel); err != nil {
		return nil, err
	}
	text := va.Kind() == column.String && (k.r == equal || k.r == less|greater)
	test := func(i int) bool {
		j := i * step
		if va.Null(i) || vb.Null(j) {
			return false
		}
		if text {
			return column.SameText(va, i, vb, j) == (k.r == equal)
		}
		return k.holds(k.order(va, i, vb, j))
	}
	if sel == nil {
		for i := range f.n {
			if test(i) {
				out = append(out, int32(i))
			}
		}
		return out, nil
	}
	for _, i := range sel {
		if test(int(i)) {
			out = append(out, i)
		}
	}
	return out, nil
}

func compareWide(a, b column.Int128) int {
	if c := cmp.Compare(a.Hi, b.Hi); c != 0 {
		return c
	}
	return cmp.Compare(a.Lo, b.Lo)
}
