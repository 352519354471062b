package weir

import (
	"errors"
	"fmt"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/operator"
)

// KeyedStream is a stream whose rows are grouped by a key: all rows of a key go to the same subtask of the consumer, which
// may keep state for it.
type KeyedStream[K, T any] struct {
	Stream[T]
	key   func(T) K
	codec *codec.KeyCodec[K] // nil if K has no stable encoding, which is among the plan's problems
}

// Keyed is a value with the key that it belongs to.
type Keyed[K, V any] struct {
	Key   K `json:"key"`
	Value V `json:"value"`
}

// KeyBy groups the stream by a key. The key's type must have a stable encoding: integers, strings, bools, floats (-0 is 0,
// every NaN is one key), arrays and structs of those, time.Time; pointers, maps, interfaces and functions have none.
func (s Stream[T]) KeyBy[K any](key func(T) K) KeyedStream[K, T] {
	s.notNil(key == nil, "KeyBy")
	kc, err := codec.KeyFor[K]()
	if err != nil {
		s.env.problem("graph.key.unstable", fmt.Sprintf("%s cannot be a key: %s", typeName[K](), keyWhy(err)),
			"return a string, an integer, or a struct of such fields from the function passed to KeyBy")
	}
	k, at := KeyedStream[K, T]{Stream: s, key: key, codec: kc}, here()
	k.part = graph.Partition{Kind: graph.Keyed, Explicit: true, Type: typeName[K](), Fn: operator.HasherMaker(func() operator.Hasher {
		return newHasher(key, kc, at)
	})}
	if kc != nil {
		k.part.KeySchema = kc.Schema().Append(nil)
	}
	return k
}

// keyWhy is what is wrong with a type of key, without the code, which the plan's problem has itself.
func keyWhy(err error) string {
	if e, ok := errors.AsType[*errs.Error](err); ok && e.Err != nil {
		return e.Err.Error()
	}
	return err.Error()
}

// newHasher returns the function that fills in a batch's key hashes at the producer. It keeps its scratch keys, so each
// producing task needs its own.
func newHasher[K, T any](key func(T) K, kc *codec.KeyCodec[K], at graph.Position) operator.Hasher {
	keys := make([]K, 0, event.MaxRows)
	row := 0
	return func(b event.Batch) {
		in := b.(*event.Records[T])
		in.Compact()
		defer rowPanic("KeyBy", at, in, &row)
		n := len(in.Rows)
		keys = keys[:n]
		for i := range in.Rows {
			row = i
			keys[i] = key(in.Rows[i])
		}
		in.Hash = in.Hash[:n]
		kc.HashAll(keys, in.Hash)
	}
}
