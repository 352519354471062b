package vec

import (
	"bytes"
	"cmp"
	"fmt"
	"math"

	"github.com/weir-stream/weir/column"
	"github.com/weir-stream/weir/internal/sql/datatype"
)

// orderFunc compares value i of a with value j of b; both are there.
type orderFunc func(a *column.Vector, i int, b *column.Vector, j int) int

// orderOf returns the order of a type's values, as comparisons and ORDER BY have it. Maps and multisets have none, but equal ones
// compare as 0.
func orderOf(t datatype.Type) (orderFunc, error) {
	switch t.Kind() {
	case column.Bool:
		return func(a *column.Vector, i int, b *column.Vector, j int) int { return one(a.Bool(i)) - one(b.Bool(j)) }, nil
	case column.Int8:
		return orderNumbers[int8], nil
	case column.Int16:
		return orderNumbers[int16], nil
	case column.Int32:
		return orderNumbers[int32], nil
	case column.Int64:
		return orderNumbers[int64], nil
	case column.Float32:
		return orderFloats[float32], nil
	case column.Float64:
		return orderFloats[float64], nil
	case column.Wide:
		return func(a *column.Vector, i int, b *column.Vector, j int) int {
			return compareWide(column.Values[column.Int128](a)[i], column.Values[column.Int128](b)[j])
		}, nil
	case column.String:
		return column.CompareText, nil
	case column.Bytes:
		return func(a *column.Vector, i int, b *column.Vector, j int) int { return bytes.Compare(a.Text(i), b.Text(j)) }, nil
	case column.List:
		return orderLists(t)
	case column.Struct:
		return orderRows(t)
	}
	return nil, fmt.Errorf("vec: values of type %v have no order", t)
}

func orderNumbers[T number](a *column.Vector, i int, b *column.Vector, j int) int {
	return cmp.Compare(column.Values[T](a)[i], column.Values[T](b)[j])
}

// orderFloats is Java's Double.compare: NaN is above everything and equal to itself, -0.0 below 0.0.
func orderFloats[T float32 | float64](a *column.Vector, i int, b *column.Vector, j int) int {
	x, y := float64(column.Values[T](a)[i]), float64(column.Values[T](b)[j])
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	case x == y && x != 0:
		return 0
	case x != x || y != y:
		return one(x != x) - one(y != y)
	}
	return one(math.Signbit(y)) - one(math.Signbit(x))
}

// orderLists goes by the first elements that differ, and then by length; missing elements come first.
func orderLists(t datatype.Type) (orderFunc, error) {
	elem, err := orderOf(t.Of[0])
	if err != nil {
		return nil, err
	}
	return func(a *column.Vector, i int, b *column.Vector, j int) int {
		from, to := a.Span(i)
		from2, to2 := b.Span(j)
		for k := range min(to-from, to2-from2) {
			if c := orderNulls(elem, a.Child(0), from+k, b.Child(0), from2+k); c != 0 {
				return c
			}
		}
		return (to - from) - (to2 - from2)
	}, nil
}

func orderRows(t datatype.Type) (orderFunc, error) {
	fields := make([]orderFunc, len(t.Of))
	for k := range fields {
		var err error
		if fields[k], err = orderOf(t.Of[k]); err != nil {
			return nil, err
		}
	}
	return func(a *column.Vector, i int, b *column.Vector, j int) int {
		for k, order := range fields {
			if c := orderNulls(order, a.Child(k), i, b.Child(k), j); c != 0 {
				return c
			}
		}
		return 0
	}, nil
}

// orderNulls puts missing values first.
func orderNulls(order orderFunc, a *column.Vector, i int, b *column.Vector, j int) int {
	switch x, y := a.Null(i), b.Null(j); {
	case x && y:
		return 0
	case x:
		return -1
	case y:
		return 1
	}
	return order(a, i, b, j)
}
