// Package exec carries out physical plans: it has the operators of SQL, which take and emit batches of columns.
//
//	calc.go   filters and projections
//
// An operator owns the batch that it is given and may take its vectors apart. Batches go out with the selection that they came with, or
// a smaller one.
package exec
