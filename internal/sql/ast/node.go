package ast

import "fmt"

// Pos is a place in the text that was parsed.
type Pos struct {
	// Offset counts bytes from the beginning of the text, from 0.
	Offset int32
	// Line counts from 1; 0 in a node that no text stands behind.
	Line int32
	// Column counts characters (not bytes) from 1.
	Column int32
}

// Position returns where a node begins.
func (p Pos) Position() Pos { return p }

// String returns "line 3, column 7".
func (p Pos) String() string { return fmt.Sprintf("line %d, column %d", p.Line, p.Column) }

// Node is any part of the tree.
type Node interface {
	// Position returns where the node begins in the text.
	Position() Pos
}

// Statement is what stands between two semicolons of a script.
type Statement interface {
	Node
	statement()
}

// Query is anything that yields a table: *Select, *Values, *SetOp, *ExplicitTable, or a *QueryExpr around one of these.
type Query interface {
	Node
	query()
}

// TableExpr is what FROM may hold.
type TableExpr interface {
	Node
	tableExpr()
}

// Expr is a scalar expression, an aggregate call, or an argument of a function that is no value (a table, a descriptor, a
// unit of time).
type Expr interface {
	Node
	expr()
}

// AlterAction is what ALTER TABLE does.
type AlterAction interface {
	Node
	alterAction()
}

// Pattern is a part of the row pattern in MATCH_RECOGNIZE.
type Pattern interface {
	Node
	pattern()
}

// Ident is one simple name, without its backticks.
type Ident struct {
	Pos
	Name string
}

// ObjectName names a table, view, function or column by up to as many parts as were written, outermost first.
type ObjectName struct {
	Pos
	Parts []*Ident
}

// Last returns the innermost part's name.
func (n *ObjectName) Last() string { return n.Parts[len(n.Parts)-1].Name }

// Strings returns the names of all parts.
func (n *ObjectName) Strings() []string {
	parts := make([]string, len(n.Parts))
	for i, p := range n.Parts {
		parts[i] = p.Name
	}
	return parts
}

// Option is one 'key' = 'value' of WITH, SET, a hint and the like.
type Option struct {
	Pos
	Key, Value string
}
