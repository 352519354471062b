// Package ast is the tree of Weir's SQL, the dialect of Apache Flink 2.3, and its canonical text.
//
// The parser (package parser) makes it; the binder reads it. It is plain data: structs with exported fields, no methods
// that decide anything. There are four families: Statement (what stands between two semicolons), Query (SELECT, VALUES,
// set operations), TableExpr (what FROM may hold) and Expr. Type and the smaller parts (Ident, SelectItem, ColumnDef and
// so on) are Nodes of their own.
//
// Invariants:
//   - Every node embeds Pos, where its first token stands. A binary operator's is that of its left operand.
//   - The tree says what was written, not what it means: a.b.c is one ColumnRef, whatever a turns out to be; names are
//     not resolved, nothing is typed. Only spellings with one meaning fall together: parentheses are dropped, SUBSTRING(a
//     FROM 1) and SUBSTRING(a, 1) are the same FuncCall, DECIMAL, DEC and NUMERIC the same Type, ANY and SOME the same
//     quantifier; a minus before a number belongs to the number.
//   - Flink's names are case-sensitive, so identifiers keep their case; keywords and the names of built-in functions
//     with a syntax of their own are upper case.
//   - A nil pointer, interface or slice is a part that was not written. A slice that must have something is never empty.
//
// String gives a node's canonical text, which parses to an equal tree; Equal compares trees without positions, so two
// nodes are Equal just if their texts are. Walk and Inspect visit all nodes below one, in the order of the text as far
// as it has one.
//
// Nothing here is safe for concurrent writing; a tree that nobody changes may be read by any number of goroutines.
package ast
