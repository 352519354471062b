package bench

import "unsafe"

func ptr[T any](v *T) unsafe.Pointer { return unsafe.Pointer(v) }
