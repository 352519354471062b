// Package datatype has the types of SQL: what Flink calls its logical types, how they are written, and the physical form that
// values of each have in a column.
//
//	type.go      Type, its constructors, printing, comparing
//	promote.go   the type that two types have together
//	form.go      the physical form
//
// Types are values and never change. The package imports nothing of the module but column.
package datatype
