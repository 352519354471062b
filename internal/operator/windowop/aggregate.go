package windowop

import (
	"unsafe"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/statebackend/paged"
)

// Aggregate is an incremental aggregation of rows T in an accumulator A to a result R. An accumulator begins as the zero
// value of A; functions change it in place.
type Aggregate[T, A, R any] struct {
	// Add adds a row.
	Add func(acc *A, row T)
	// Merge adds what from has gathered to acc. It must not keep or change from.
	Merge func(acc, from *A)
	// Result reads the result.
	Result func(acc *A) R
}

// accumulators is a table of accumulators by key. Those without pointers are changed in place; others are decoded and
// encoded around each change.
type accumulators[A any] struct {
	*paged.Table
	codec *codec.Codec[A] // nil if accumulators lie in place
	buf   []byte
}

func (t *accumulators[A]) width() int {
	var zero A
	return int(unsafe.Sizeof(zero))
}

// update changes the accumulator of an encoded key.
func (t *accumulators[A]) update(hash uint64, key []byte, f func(acc *A)) error {
	if t.codec == nil {
		p, _ := t.Upsert(hash, key)
		f((*A)(p))
		return nil
	}
	var acc A
	if old, ok := t.GetBytes(hash, key); ok {
		if _, err := t.codec.DecodeCopy(old, &acc); err != nil {
			return err
		}
	}
	f(&acc)
	t.buf = t.codec.Append(t.buf[:0], &acc)
	t.PutBytes(hash, key, t.buf)
	return nil
}

// read returns the accumulator of a key, or nil. It is borrowed until the next call.
func (t *accumulators[A]) read(hash uint64, key []byte, scratch *A) (*A, error) {
	if t.codec == nil {
		return (*A)(t.Lookup(hash, key)), nil
	}
	old, ok := t.GetBytes(hash, key)
	if !ok {
		return nil, nil
	}
	var zero A
	*scratch = zero
	_, err := t.codec.DecodeCopy(old, scratch)
	return scratch, err
}

// each calls f for every key.
func (t *accumulators[A]) each(f func(hash uint64, key []byte, acc *A) error) (err error) {
	if t.codec == nil {
		t.All(func(hash uint64, key []byte, val unsafe.Pointer) bool {
			err = f(hash, key, (*A)(val))
			return err == nil
		})
		return err
	}
	t.AllBytes(func(hash uint64, key, value []byte) bool {
		var acc A
		if _, err = t.codec.DecodeCopy(value, &acc); err == nil {
			err = f(hash, key, &acc)
		}
		return err == nil
	})
	return err
}
