package state

import "time"

// ReducingDescriptor declares a state that combines the values added to it.
type ReducingDescriptor[V any] struct {
	value ValueDescriptor[V]
	f     func(have, added V) V
}

// ReducingOf declares a state that combines the values added to it by f.
func ReducingOf[V any](name string, f func(have, added V) V) ReducingDescriptor[V] {
	return ReducingDescriptor[V]{ValueOf[V](name), f}
}

// Migrate is what it is for ValueDescriptor.
func (d ReducingDescriptor[V]) Migrate[Old any](f func(Old) (V, error)) ReducingDescriptor[V] {
	d.value = d.value.Migrate(f)
	return d
}

// TTL is what it is for ValueDescriptor. Adding is a write.
func (d ReducingDescriptor[V]) TTL(after time.Duration, options ...TTLOption) ReducingDescriptor[V] {
	d.value = d.value.TTL(after, options...)
	return d
}

func (d ReducingDescriptor[V]) open(in Store) (Reducing[V], error) {
	v, err := d.value.open(in)
	return Reducing[V]{v, d.f}, err
}

// Reducing is the combination of all values added for the key at work.
type Reducing[V any] struct {
	v Value[V]
	f func(have, added V) V
}

// Add combines a value with what is there. The first one is taken as it is.
func (r Reducing[V]) Add(x V) {
	if have, ok := r.v.Get(); ok {
		x = r.f(have, x)
	}
	r.v.Set(x)
}

// Get returns the combination, and whether anything was added.
func (r Reducing[V]) Get() (V, bool) { return r.v.Get() }

// Clear forgets what was added.
func (r Reducing[V]) Clear() { r.v.Clear() }

func (r Reducing[V]) keys() RawKeys { return r.v.s.raw }

// AggregatingDescriptor declares a state that aggregates rows T in an accumulator A to a result R.
type AggregatingDescriptor[T, A, R any] struct {
	value  ValueDescriptor[A]
	add    func(acc *A, row T)
	result func(acc *A) R
}

// AggregatingOf declares a state that aggregates rows T in an accumulator A, which begins as its zero value and which add
// changes in place, to a result R.
func AggregatingOf[T, A, R any](name string, add func(acc *A, row T), result func(acc *A) R) AggregatingDescriptor[T, A, R] {
	return AggregatingDescriptor[T, A, R]{ValueOf[A](name), add, result}
}

// Migrate is what it is for ValueDescriptor, for accumulators.
func (d AggregatingDescriptor[T, A, R]) Migrate[Old any](f func(Old) (A, error)) AggregatingDescriptor[T, A, R] {
	d.value = d.value.Migrate(f)
	return d
}

// TTL is what it is for ValueDescriptor. Adding is a write.
func (d AggregatingDescriptor[T, A, R]) TTL(after time.Duration, options ...TTLOption) AggregatingDescriptor[T, A, R] {
	d.value = d.value.TTL(after, options...)
	return d
}

func (d AggregatingDescriptor[T, A, R]) open(in Store) (Aggregating[T, A, R], error) {
	v, err := d.value.open(in)
	return Aggregating[T, A, R]{v, d.add, d.result}, err
}

// Aggregating is the aggregate of all rows added for the key at work.
type Aggregating[T, A, R any] struct {
	v      Value[A]
	add    func(acc *A, row T)
	result func(acc *A) R
}

// Add adds a row.
func (a Aggregating[T, A, R]) Add(row T) { a.v.Update(func(acc *A) { a.add(acc, row) }) }

// Get returns the result, and whether anything was added.
func (a Aggregating[T, A, R]) Get() (R, bool) {
	acc, ok := a.v.Get()
	if !ok {
		var none R
		return none, false
	}
	return a.result(&acc), true
}

// Clear forgets what was added.
func (a Aggregating[T, A, R]) Clear() { a.v.Clear() }

func (a Aggregating[T, A, R]) keys() RawKeys { return a.v.s.raw }
