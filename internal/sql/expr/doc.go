// Package expr has bound scalar expressions: names are resolved to columns, every node has its type, and conversions that SQL makes by
// itself are written out as casts. What a function does to values is in package vec, by the function's name.
//
//	expr.go       the nodes
//	function.go   functions and how they are found
//
// Expressions never change once built; whoever rewrites one builds another. The package is pure.
package expr
