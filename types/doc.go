// Package types holds logical types that rows, columns, formats and connectors share. It imports nothing of the module.
//
// Null is a value that may be missing. It is two words side by side and holds no pointer of its own, so that a struct of
// Null fields can live in batches and in encoded state like any other fixed-width struct.
package types
