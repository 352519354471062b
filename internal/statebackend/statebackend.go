package statebackend

import (
	"bytes"
	"unsafe"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/keygroup"
)

// Key is the key that an access is for: its stable encoding and the hash of that. Bytes is borrowed for the call.
type Key struct {
	Hash  uint64
	Bytes []byte
}

// Kind says what a state keeps for each key and namespace.
type Kind uint8

// The kinds that backends know. Reducing and aggregating state are values to a backend.
const (
	KindValue Kind = iota + 1
	KindList
	KindMap
)

// String returns the word for the kind that messages use.
func (k Kind) String() string {
	switch k {
	case KindValue:
		return "value"
	case KindList:
		return "list"
	case KindMap:
		return "map"
	}
	return "unknown kind"
}

// VariableNamespace is the NamespaceWidth of a state whose namespaces differ in size.
const VariableNamespace = -1

// Descriptor names one state of one operator and says how it is laid out.
type Descriptor struct {
	// Name is unique in the operator.
	Name string
	// Kind is what is kept for each key.
	Kind Kind
	// Width is the size in bytes of every value, list element or map value, or 0 if they vary. A value of fixed width can
	// be used in place.
	Width int
	// NamespaceWidth is the size of every namespace in bytes, 0 for a state that has none, or VariableNamespace. Every
	// access must pass a namespace of that size.
	NamespaceWidth int
	// Schema describes the table: a codec.Table in its binary form. The backend only keeps it, for snapshots.
	Schema []byte
	// Values is how values of former schemas are read at a restore; nil if all bytes are the engine's own. The backend only
	// keeps it.
	Values *codec.Values
	// Ordered says that maps are often read in order, in part at least: ranges of a large map must not cost more than what they show.
	// Without it a backend may keep large maps in a form that is faster to change.
	Ordered bool
	// Expiry says how values, list elements or map entries expire; nil if they do not. Backends know nothing of it: package
	// expiry stands before them.
	Expiry *Expiry
}

// Expiry says how what a state keeps expires. Ages are counted in ms from the last write.
type Expiry struct {
	// After is the age at which something has expired, above 0.
	After int64
	// OnRead counts the age from the last read or write.
	OnRead bool
	// ShowExpired shows what has expired and was not removed yet, once.
	ShowExpired bool
	// EventTime measures in event time, by the watermark, and not in processing time.
	EventTime bool
}

// Sweeper is a Value, List or Map that can be visited in parts, by whoever looks for what has expired. Unlike All it may leave
// out what has changed lately, as long as it shows everything at some time.
type Sweeper interface {
	Sweep(groups keygroup.Range, f Visit)
}

// Config is what every backend needs to know about the operator whose state it keeps.
type Config struct {
	// KeyWidth is the size of every encoded key in bytes, or 0 if keys vary.
	KeyWidth int
	// Groups are the key groups that the subtask owns; the zero value means all. Access to another group is a bug and
	// may panic.
	Groups keygroup.Range
}

// Keyed is the keyed state of one operator in one task. All of it, and everything opened from it, belongs to the task's
// goroutine.
//
// Opening a name that is open returns the same state. Opening it with another descriptor is an error of class User.
//
// Accesses return no error. A backend that does I/O and fails answers as if the key were absent, refuses all further
// writes, and says why in Err. The task looks at Err after each batch and each firing of timers, and before a snapshot.
type Keyed interface {
	Value(Descriptor) (Value, error)
	List(Descriptor) (List, error)
	Map(Descriptor) (Map, error)
	// Descriptors returns the states that were opened, in the order of opening.
	Descriptors() []Descriptor
	// Bytes returns the memory in use, at least roughly.
	Bytes() int64
	// Err returns the first failure, or nil.
	Err() error
	// Close frees everything. Nothing opened from it may be used afterwards. It may be called twice.
	Close() error
}

// For Value, List and Map: a returned slice or pointer is borrowed until the next call on the same state, except for All,
// Each and Range, where it is borrowed until the callback returns. It must not be written unless the comment says so. An
// argument is borrowed for the call, and must not point into the same state. A callback must not call the same state.
// All visits every key and namespace, in no particular order, until the callback returns false.

// Value keeps at most one value for each key and namespace.
type Value interface {
	// Get returns the value, and whether there is one.
	Get(key Key, ns []byte) ([]byte, bool)
	// Put sets the value.
	Put(key Key, ns, value []byte)
	// Ref returns the place of the value, Width bytes aligned to 8, which may be read and written until the next call on
	// this state. A missing value is created as zeros. Only for states with Width > 0.
	Ref(key Key, ns []byte) (val unsafe.Pointer, created bool)
	// Clear removes the value and reports whether there was one.
	Clear(key Key, ns []byte) bool
	All(f func(key Key, ns, value []byte) bool)
	// Len returns the number of values.
	Len() int
}

// BatchValue is a Value that can serve many keys at once, which hides the latency of memory. All pointers of one call are
// valid together. created may be nil.
type BatchValue interface {
	Value
	// Refs64 is Ref for keys of KeyWidth 8 without a namespace; a key is its eight bytes, least significant first.
	Refs64(hashes, keys []uint64, out []unsafe.Pointer, created []bool)
	// Refs is Ref for the keys buf[offsets[i]:offsets[i+1]] and one namespace.
	Refs(hashes []uint64, buf []byte, offsets []uint32, ns []byte, out []unsafe.Pointer, created []bool)
}

// Toucher is a Value or Map that can be told which keys will be asked for next, so that their misses of memory overlap. It is only a
// hint, for states without a namespace.
type Toucher interface {
	Touch(hashes []uint64)
}

// Expecter is a Value, List or Map that can prepare for the keys that a restore is going to put.
type Expecter interface {
	// Expect says about how many keys there will be in each key group. It is only a hint.
	Expect(keysPerGroup float64)
}

// List keeps a sequence of elements for each key and namespace.
type List interface {
	// Append adds an element at the end.
	Append(key Key, ns, element []byte)
	// Put replaces the whole sequence. No elements is the same as Clear.
	Put(key Key, ns []byte, elements [][]byte)
	// Each calls f with the elements in their order until it returns false.
	Each(key Key, ns []byte, f func(element []byte) bool)
	// Count returns the number of elements.
	Count(key Key, ns []byte) int
	// Clear removes the sequence and reports whether there was one.
	Clear(key Key, ns []byte) bool
	// All visits the elements of a sequence one after the other, in their order.
	All(f func(key Key, ns, element []byte) bool)
	// Len returns the number of sequences that are not empty.
	Len() int
}

// Map keeps a sorted map for each key and namespace. Its entries are in the order of the bytes of their keys.
type Map interface {
	Get(key Key, ns, entry []byte) ([]byte, bool)
	Put(key Key, ns, entry, value []byte)
	// Remove removes one entry and reports whether it was there.
	Remove(key Key, ns, entry []byte) bool
	// Range calls f with the entries from <= entry < to in ascending order until it returns false; nil means no bound.
	Range(key Key, ns, from, to []byte, f func(entry, value []byte) bool)
	// Count returns the number of entries.
	Count(key Key, ns []byte) int
	// Clear removes the map and reports whether there was one.
	Clear(key Key, ns []byte) bool
	// All visits the entries of a map one after the other, in ascending order.
	All(f func(key Key, ns, entry, value []byte) bool)
}

// Check returns an error if d cannot be opened. was is the descriptor under which the name is open already, or nil.
func Check(d Descriptor, kind Kind, was *Descriptor) error {
	op := "state " + d.Name
	switch {
	case d.Name == "":
		return errs.New(errs.CodeSchema, errs.ClassUser, "", "a state has no name: give each state of an operator its own")
	case d.Kind != 0 && d.Kind != kind:
		return errs.New(errs.CodeSchema, errs.ClassBug, op, "described as %v and opened as %v", d.Kind, kind)
	case d.Width < 0 || d.NamespaceWidth < VariableNamespace:
		return errs.New(errs.CodeSchema, errs.ClassBug, op, "negative width in %+v", d)
	case was == nil:
		return nil
	case was.Kind != kind:
		return errs.New(errs.CodeSchema, errs.ClassUser, op,
			"opened as %v and before as %v in the same operator: give the two states different names", kind, was.Kind)
	case was.Width != d.Width || was.NamespaceWidth != d.NamespaceWidth || !bytes.Equal(was.Schema, d.Schema):
		return errs.New(errs.CodeSchema, errs.ClassUser, op,
			"opened twice in the same operator with different types: give the two states different names")
	}
	return nil
}
