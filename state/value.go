package state

import (
	"time"
	"unsafe"

	"github.com/weir-stream/weir/internal/codec"
)

// ValueDescriptor declares a state of one V a key.
type ValueDescriptor[V any] struct {
	name string
	from migrations
	ttl  *TTL
}

// ValueOf declares a state of one V a key.
func ValueOf[V any](name string) ValueDescriptor[V] { return ValueDescriptor[V]{name: name} }

// Migrate returns the declaration with a function that makes values of an earlier version of the program into those of
// this one, for changes that go beyond what a restore does by itself (docs/ops/upgrading.md). It is called when the state
// is restored, once for each value whose written form was that of Old. Several versions have a function each.
//
// f may be called in several goroutines at once. Its error ends the restore and names the state and the key.
func (d ValueDescriptor[V]) Migrate[Old any](f func(Old) (V, error)) ValueDescriptor[V] {
	d.from = migrating(d.from, f)
	return d
}

// TTL returns the declaration of a state whose values expire: a value that was not written for so long is gone. Milliseconds
// count; what is below is cut off. The package's documentation says more.
func (d ValueDescriptor[V]) TTL(after time.Duration, options ...TTLOption) ValueDescriptor[V] {
	d.ttl = ttlOf(after, options)
	return d
}

func (d ValueDescriptor[V]) open(in Store) (Value[V], error) {
	c, err := newCells[V](d.from)
	if err != nil {
		return Value[V]{}, opening(d.name, err)
	}
	raw, err := in.OpenValue(c.spec(d.name, d.ttl, codec.Table{}))
	return Value[V]{&value[V]{cells: c, raw: raw}}, err
}

// Value is a state of one V for the key at work.
type Value[V any] struct{ s *value[V] }

type value[V any] struct {
	cells[V]
	raw RawValue
	// work is what Update decodes into, zero between updates; nil while it is in use.
	work *V
}

// Get returns the value, and whether there is one.
func (v Value[V]) Get() (V, bool) {
	s := v.s
	b, ok := s.raw.Get()
	if !ok {
		var zero V
		return zero, false
	}
	if s.width > 0 {
		return *(*V)(unsafe.Pointer(unsafe.SliceData(b))), true
	}
	return s.decode(b), true
}

// Or returns the value, or def if there is none.
func (v Value[V]) Or(def V) V {
	if have, ok := v.Get(); ok {
		return have
	}
	return def
}

// Set sets the value.
func (v Value[V]) Set(x V) {
	s := v.s
	if s.width > 0 {
		p, _ := s.raw.Ref()
		*(*V)(p) = x
		return
	}
	s.raw.Put(s.encode(&x))
}

// Update lets f change the value; a missing one is made first, as the zero value. f must not keep the pointer, and must
// not use the same state.
func (v Value[V]) Update(f func(*V)) {
	s := v.s
	if s.width > 0 {
		p, _ := s.raw.Ref()
		f((*V)(p))
		return
	}
	x := s.work
	if x == nil { // never used, or f uses this state against the rule, or it panicked
		x = new(V)
	}
	s.work = nil
	if b, ok := s.raw.Get(); ok {
		s.decodeTo(b, x)
	}
	f(x)
	s.raw.Put(s.encode(x))
	var zero V
	*x, s.work = zero, x
}

// Clear removes the value.
func (v Value[V]) Clear() { v.s.raw.Clear() }

func (v Value[V]) keys() RawKeys { return v.s.raw }

// cells encodes the values of a state.
type cells[V any] struct {
	codec  *codec.Codec[V]
	values *codec.Values
	width  int // 0 = values vary in size, or have none
	buf    []byte
}

func newCells[V any](from migrations) (cells[V], error) {
	c, err := codec.For[V]()
	if err != nil {
		return cells[V]{}, err
	}
	values, err := valuesOf[V](from)
	if err != nil {
		return cells[V]{}, err
	}
	width, _ := c.Fixed()
	return cells[V]{codec: c, values: values, width: width}, nil
}

// spec describes a state; t has what else there is to say of its table.
func (c *cells[V]) spec(name string, ttl *TTL, t codec.Table) Spec {
	t.Value = c.values.Schema
	return Spec{Name: name, Width: c.width, Schema: t.Append(nil), Values: c.values, TTL: ttl}
}

// encode returns the bytes of x, valid until the next call.
func (c *cells[V]) encode(x *V) []byte {
	c.buf = c.codec.Append(c.buf[:0], x)
	return c.buf
}

// decode returns the value of bytes that are borrowed. The engine wrote them, so that a failure is a broken page.
func (c *cells[V]) decode(b []byte) (x V) {
	c.decodeTo(b, &x)
	return x
}

func (c *cells[V]) decodeTo(b []byte, x *V) {
	if _, err := c.codec.DecodeCopy(b, x); err != nil {
		panic(err)
	}
}
