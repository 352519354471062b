package types

import (
	"bytes"
	"encoding/json/v2"
	"fmt"
)

// Null is a V that may be missing. The zero value is missing. A Null that is not Valid holds the zero V, so that two
// missing values are equal by ==; whoever builds one by hand must keep to that.
type Null[T any] struct {
	// V is the value, or the zero T if Valid is false.
	V T
	// Valid is false when the value is missing.
	Valid bool
}

// Some returns a Null that holds v.
func Some[T any](v T) Null[T] { return Null[T]{V: v, Valid: true} }

// Or returns the value, or fallback if it is missing.
func (n Null[T]) Or(fallback T) T {
	if n.Valid {
		return n.V
	}
	return fallback
}

// Get returns the value and whether there is one.
func (n Null[T]) Get() (v T, ok bool) { return n.V, n.Valid }

// IsZero reports whether the value is missing; encoders ask it for the option omitzero.
func (n Null[T]) IsZero() bool { return !n.Valid }

// String returns the value as fmt prints it, or "null".
func (n Null[T]) String() string {
	if !n.Valid {
		return "null"
	}
	return fmt.Sprint(n.V)
}

// MarshalJSON writes the value, or null.
func (n Null[T]) MarshalJSON() ([]byte, error) {
	if !n.Valid {
		return []byte("null"), nil
	}
	return json.Marshal(n.V, json.Deterministic(true))
}

// UnmarshalJSON reads a value, or null.
func (n *Null[T]) UnmarshalJSON(b []byte) error {
	*n = Null[T]{}
	if bytes.Equal(b, []byte("null")) {
		return nil
	}
	if err := json.Unmarshal(b, &n.V); err != nil {
		return err
	}
	n.Valid = true
	return nil
}
