package state

import (
	"fmt"
	"slices"

	"github.com/weir-stream/weir/internal/codec"
)

// migrations are functions from earlier versions of the values of a state, in the order of registering.
type migrations []func(*codec.Values) (*codec.Values, error)

// migrating returns old with a further function. What is wrong with it shows when the state is opened.
func migrating[V, Old any](old migrations, f func(Old) (V, error)) migrations {
	return append(slices.Clip(old), func(v *codec.Values) (*codec.Values, error) { return codec.Migrating(v, f) })
}

// valuesOf describes values of V and how earlier ones become such.
func valuesOf[V any](from migrations) (*codec.Values, error) {
	v, err := codec.ValuesOf[V]()
	if err == nil {
		own := *v
		own.Migratable = true
		v = &own
	}
	for _, add := range from {
		if err == nil {
			v, err = add(v)
		}
	}
	return v, err
}

// opening names the state that cannot be opened.
func opening(name string, err error) error { return fmt.Errorf("state %q: %w", name, err) }
