// Package parser makes trees (package ast) of text in the SQL dialect of Apache Flink 2.3, by a hand-written lexer and
// recursive descent, with precedence climbing for operators. What it accepts is written down in docs/sql/grammar.md.
//
// Parse takes one statement, ParseScript any number with semicolons between them, of which each succeeds or fails by
// itself. Errors are of type *Error: place, what was found, what was expected, the line with carets, and a suggestion
// where a keyword was misspelt.
//
// Invariants:
//   - No input makes it panic or run for longer than in proportion to its length. What nests deeper than depthMax or has
//     more than linksMax operators is refused, so that those who walk the tree may recurse.
//   - What parses is printed by ast.String to a text that parses to an equal tree.
//   - After the first error a parser stands at the end of its statement: all that it does from then on finds the end and
//     builds parts that nobody sees. So no error is handed up by hand, and no node below another is nil by accident.
//
// It is pure: no files, no clock, no state between calls. All functions may be called by many goroutines at once.
package parser
