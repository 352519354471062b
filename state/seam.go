package state

import "unsafe"

// Spec describes a state to a Store.
type Spec struct {
	// Name is unique in the operator.
	Name string
	// Width is the size in bytes of each value, list element or map value, 0 if they vary.
	Width int
	// Schema describes the encoding of what is kept.
	Schema []byte
	// Ordered says that large maps are often read in part.
	Ordered bool
	// Values is for the engine: how values of former schemas are read.
	Values any
	// TTL is how long things are kept, nil for ever.
	TTL *TTL
}

// Store is where a function's state lies: the engine implements it, handles are built on it. Opening a name again gives
// the same state, or an error if the spec or the kind differs. It belongs to the goroutine of its task, and so does all
// that is opened from it.
type Store interface {
	// OpenValue opens a state of one value a key.
	OpenValue(Spec) (RawValue, error)
	// OpenList opens a state of a sequence a key.
	OpenList(Spec) (RawList, error)
	// OpenMap opens a state of a sorted map a key.
	OpenMap(Spec) (RawMap, error)
}

// For RawValue, RawList and RawMap: every call means the key at work and panics if there is none. A returned slice or
// pointer is borrowed until the next call on the same state; arguments are borrowed for the call. A callback must not
// call the same state.

// RawValue keeps at most one value for each key.
type RawValue interface {
	// Get returns the value, and whether there is one.
	Get() ([]byte, bool)
	// Put sets the value.
	Put(value []byte)
	// Ref returns the place of the value, aligned to 8, and creates it as zeros if there is none. Only if Width > 0.
	Ref() (val unsafe.Pointer, created bool)
	// Clear removes the value.
	Clear()
	RawKeys
}

// RawList keeps a sequence of elements for each key.
type RawList interface {
	// Append adds an element at the end.
	Append(element []byte)
	// Put replaces the sequence.
	Put(elements [][]byte)
	// Each calls f with the elements in order until it returns false.
	Each(f func(element []byte) bool)
	// Count returns the number of elements.
	Count() int
	// Clear removes the sequence.
	Clear()
	RawKeys
}

// RawMap keeps a map for each key, in the order of the bytes of its entries' keys.
type RawMap interface {
	// Get returns the value of an entry, and whether there is one.
	Get(entry []byte) ([]byte, bool)
	// Put sets an entry.
	Put(entry, value []byte)
	// Remove removes an entry and reports whether it was there.
	Remove(entry []byte) bool
	// Each calls f with the entries in order until it returns false.
	Each(f func(entry, value []byte) bool)
	// Count returns the number of entries.
	Count() int
	// Clear removes the map.
	Clear()
	RawKeys
}

// RawKeys lists the keys of a state.
type RawKeys interface {
	// Keys calls f once for each key that has state here, in no particular order. key is borrowed for the call.
	Keys(f func(hash uint64, key []byte))
}

// Handle is any opened keyed state.
type Handle interface{ keys() RawKeys }

// KeysOf lists the keys that have state behind a handle. The engine calls it.
func KeysOf(h Handle, f func(hash uint64, key []byte)) { h.keys().Keys(f) }

// Descriptor declares a state whose handle is an H: ValueOf, ListOf, MapOf, ReducingOf and AggregatingOf make them.
type Descriptor[H any] interface {
	open(Store) (H, error)
}

// Open opens a state in a store. Functions use the State method of their context instead.
func Open[H any](in Store, d Descriptor[H]) (H, error) { return d.open(in) }
