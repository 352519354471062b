// Package logical has the relational algebra of queries, and the binder that makes it of their trees: it looks up names, gives every
// expression its type, and says what is wrong with line and column.
//
//	node.go       the algebra
//	error.go      what is wrong, and where
//	scope.go      names that can be seen
//	bind.go       the binder; whole queries, set operations, ORDER BY
//	select.go     SELECT: projection, grouping, windows
//	from.go       FROM: tables, views, joins, table functions
//	expression.go expressions
//	literal.go    literals and written types
//
// The package is pure but for the catalog that it looks names up in.
package logical
