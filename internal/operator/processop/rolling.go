package processop

import (
	"slices"
	"unsafe"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/keyedstate"
	"github.com/weir-stream/weir/internal/statebackend"
)

// RollingConfig describes an operator that folds each row into an accumulator of its key and emits one row for it.
type RollingConfig[K, T, A, U any] struct {
	// Key selects a row's key, Keys encodes it.
	Key  func(T) K
	Keys *codec.KeyCodec[K]
	// Step adds a row to the accumulator of its key, which is the zero value if the row is the key's first, and returns what
	// is emitted.
	Step func(key *K, acc *A, first bool, row *T) U
}

// NewRolling returns the operator. Accumulators of fixed width are looked up for a whole batch at once.
func NewRolling[K, T, A, U any](cfg RollingConfig[K, T, A, U]) operator.Operator {
	return &rolling[K, T, A, U]{cfg: cfg}
}

type rolling[K, T, A, U any] struct {
	cfg   RollingConfig[K, T, A, U]
	rt    Runtime
	em    *basic.Emitter[U]
	state statebackend.Keyed
	accs  statebackend.Value
	many  statebackend.BatchValue // nil if the backend has none, or accumulators vary in size
	codec *codec.Codec[A]
	width int
	keys  *keyedstate.Batch[K]
	refs  []unsafe.Pointer
	first []bool
	buf   []byte
}

func (o *rolling[K, T, A, U]) Open(ctx *operator.Context, out operator.Collector) (err error) {
	o.rt.Op, o.em, o.keys = ctx, basic.NewEmitter[U](out, "", ctx.BatchRows), keyedstate.NewBatch(o.cfg.Keys)
	if o.codec, err = codec.For[A](); err != nil {
		return errs.Wrap(err, "", 0, ctx.Place(), "the accumulator cannot be kept as state")
	}
	o.width, _ = o.codec.Fixed()
	keyWidth, _ := o.cfg.Keys.FixedWidth()
	if o.state, err = ctx.OpenState(keyWidth); err != nil {
		return err
	}
	values, err := codec.ValuesOf[A]()
	if err != nil {
		return err
	}
	o.accs, err = o.state.Value(statebackend.Descriptor{Name: "acc", Width: o.width, Values: values, Schema: codec.Table{Value: values.Schema}.Append(nil)})
	if err == nil && o.width > 0 {
		o.many, _ = o.accs.(statebackend.BatchValue)
	}
	return err
}

func (o *rolling[K, T, A, U]) Process(_ int, b event.Batch) error {
	in := b.(*event.Records[T])
	defer in.Release()
	in.Compact()
	keys := o.keys.Keys(len(in.Rows))
	err := eachRow(&o.rt, in, func(i int, row *T) error {
		keys[i] = o.cfg.Key(*row)
		return nil
	})
	if err != nil {
		return err
	}
	o.keys.Encode()
	if o.many == nil {
		err = o.one(in, keys)
	} else {
		err = o.batch(in, keys)
	}
	if err == nil {
		err = o.state.Err()
	}
	return err
}

// batch looks up all accumulators of a batch and changes them in place.
func (o *rolling[K, T, A, U]) batch(in *event.Records[T], keys []K) error {
	n := len(keys)
	o.refs, o.first = slices.Grow(o.refs[:0], n)[:n], slices.Grow(o.first[:0], n)[:n]
	refs, first, step := o.refs, o.first, o.cfg.Step
	o.keys.Refs(o.many, in.Hash, refs, first)
	return eachRow(&o.rt, in, func(i int, row *T) error {
		return o.em.Emit(step(&keys[i], (*A)(refs[i]), first[i], row), in.Times[i])
	})
}

// one decodes and encodes the accumulator of each row.
func (o *rolling[K, T, A, U]) one(in *event.Records[T], keys []K) error {
	return eachRow(&o.rt, in, func(i int, row *T) error {
		key := statebackend.Key{Hash: in.Hash[i], Bytes: o.keys.Bytes(i)}
		var acc A
		old, ok := o.accs.Get(key, nil)
		if ok {
			if _, err := o.codec.DecodeCopy(old, &acc); err != nil {
				return err
			}
		}
		u := o.cfg.Step(&keys[i], &acc, !ok, row)
		o.buf = o.codec.Append(o.buf[:0], &acc)
		o.accs.Put(key, nil, o.buf)
		return o.em.Emit(u, in.Times[i])
	})
}

func (o *rolling[K, T, A, U]) Watermark(int64) error { return nil }

// Flush implements operator.Flusher.
func (o *rolling[K, T, A, U]) Flush() error { return o.em.Flush() }

func (o *rolling[K, T, A, U]) Close() error {
	o.em.Drop()
	if o.state == nil {
		return nil
	}
	err := o.state.Close()
	o.state = nil
	return err
}
