// Package vec computes on vectors: it compiles bound expressions into programs of kernels and knows what every function of SQL does to
// values.
//
//	program.go    compiled expressions; frames; selections
//	leaf.go       columns and constants
//	number.go     arithmetic of integers and floats
//	compare.go    comparisons, and conditions as selections
//	logic.go      AND, OR, NOT, IS ..., CASE, COALESCE
//
// A kernel computes the rows of a selection (nil: all rows) and returns a vector as long as the batch; what it holds for other rows is
// undefined. A kernel never fails for a row that is not selected, nor for one whose arguments are missing unless the function says so.
// A Program and the vectors that it returns belong to one goroutine, the vectors until the next call.
package vec
