// Package functions says which scalar and aggregate functions SQL has: their names, what arguments they take, and the type of what they
// yield. What they do to values is in package vec. docs/sql/functions.md is generated from here.
//
//	registry.go     the registry, and what signatures share
//	arithmetic.go   numbers, times and intervals under + - * / %
//	predicate.go    comparisons and logic
//	aggregate.go    aggregate functions
//
// The package is pure.
package functions
