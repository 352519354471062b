package ast

import "reflect"

// Visitor is what Walk calls.
type Visitor interface {
	// Visit is called for a node before those below it. They are visited with the visitor that it returns, or not at all
	// if that is nil.
	Visit(n Node) Visitor
}

// Walk visits n and all nodes below it, in the order of the text as far as it has one.
func Walk(v Visitor, n Node) {
	if v = v.Visit(n); v == nil {
		return
	}
	for _, c := range Children(n) {
		Walk(v, c)
	}
}

// inspector makes a Visitor of a function.
type inspector func(Node) bool

// Visit calls the function.
func (f inspector) Visit(n Node) Visitor {
	if f(n) {
		return f
	}
	return nil
}

// Inspect calls f for n and all nodes below it; where f returns false, what lies below that node is left out.
func Inspect(n Node, f func(Node) bool) { Walk(inspector(f), n) }

// Children returns the nodes directly below n, in the order of their fields.
func Children(n Node) []Node {
	v := reflect.ValueOf(n).Elem()
	var out []Node
	for i := range v.NumField() {
		out = appendNodes(out, v.Field(i))
	}
	return out
}

// appendNodes adds the nodes that a field holds.
func appendNodes(out []Node, f reflect.Value) []Node {
	switch f.Kind() {
	case reflect.Pointer, reflect.Interface:
		if f.IsNil() {
			return out
		}
		if n, ok := f.Interface().(Node); ok {
			return append(out, n)
		}
	case reflect.Slice:
		for i := range f.Len() {
			out = appendNodes(out, f.Index(i))
		}
	}
	return out
}

// Equal reports whether two trees are the same but for their positions. A nil and an empty slice are equal.
func Equal(a, b Node) bool { return equalValues(reflect.ValueOf(a), reflect.ValueOf(b)) }

var posType = reflect.TypeOf(Pos{})

// equalValues compares two fields.
func equalValues(a, b reflect.Value) bool {
	if a.IsValid() != b.IsValid() {
		return false
	}
	if !a.IsValid() {
		return true
	}
	if a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return equalValues(a.Elem(), b.Elem())
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !equalValues(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		if a.Type() == posType {
			return true
		}
		for i := range a.NumField() {
			if !equalValues(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	default:
		return a.Interface() == b.Interface()
	}
}
