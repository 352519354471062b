package column

import "unsafe"

// Raw returns the values of a vector of fixed width as any type of the same width, for whoever moves values and does not look at them.
func Raw[T Fixed](v *Vector) []T {
	var zero T
	if v.kind.place() != int(unsafe.Sizeof(zero)) {
		v.must(kindOf(zero))
	}
	return values[T](v, v.n)
}
