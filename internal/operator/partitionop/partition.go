package partitionop

import (
	"bytes"
	"slices"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/statebackend"
)

// Keys says how rows are keyed. Select is nil on a stream without keys.
type Keys[K, T any] struct {
	Select func(T) K
	Codec  *codec.KeyCodec[K]
}

// base is what both operators are made of.
type base[K, T, U any] struct {
	keys  Keys[K, T]
	limit int64
	ctx   *operator.Context
	em    *basic.Emitter[U]
	state statebackend.Keyed
	own   statebackend.Key // of a stream without keys
	buf   []byte
	key   []byte // of the partition at work

	out     *basic.Outlet[U]
	now     basic.Moment // of the partition at work
	failing any          // the partition that the user function is called for, for messages
}

// failedPartition is how a partition that a function failed at shows in messages.
type failedPartition[K any] struct {
	Key  K
	Rows int
}

func (o *base[K, T, U]) open(ctx *operator.Context, out operator.Collector) (err error) {
	o.ctx, o.em = ctx, basic.NewEmitter[U](out, "", ctx.BatchRows)
	o.out = basic.NewOutlet(o.em, &o.now)
	width := 0
	if o.keys.Select != nil {
		width, _ = o.keys.Codec.FixedWidth()
	}
	o.own.Hash = uint64(keygroup.RangeOf(ctx.Subtask, ctx.Parallelism).From) << (64 - 15)
	o.state, err = ctx.OpenState(width)
	return err
}

// each calls f for every row of a batch, with its key.
func (o *base[K, T, U]) each(b event.Batch, f func(key statebackend.Key, row *T, t int64) error) error {
	in := b.(*event.Records[T])
	defer in.Release()
	in.Compact()
	i := 0
	err := basic.EachRow(o.ctx, in, func(row *T, t int64) error {
		key := o.own
		if o.keys.Select != nil {
			k := o.keys.Select(*row)
			o.buf = o.keys.Codec.Append(o.buf[:0], &k)
			key = statebackend.Key{Hash: in.Hash[i], Bytes: o.buf}
		}
		i++
		return f(key, row, t)
	})
	if err != nil {
		return err
	}
	if have := o.state.Bytes(); have > o.limit {
		return errs.New(errs.CodeLimit, errs.ClassFailJob, o.ctx.Place(),
			"the partition takes %d bytes in memory, which is above its limit of %d: raise it with Memory, spread the rows over more subtasks, or use windows", have, o.limit)
	}
	return o.state.Err()
}

// guard calls f, which emits the results, and names the partition in an error of the user's function.
func (o *base[K, T, U]) guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil || err != nil {
			err = operator.RowError(o.ctx, p, err, o.failing, event.NoTime)
		}
	}()
	if err := f(); err != nil {
		return err
	}
	return o.ctx.EmitWatermark(event.MaxTime)
}

// decodeKey returns the key of a partition; strings in it alias a copy of enc.
func (o *base[K, T, U]) decodeKey(enc []byte) (k K, err error) {
	if o.keys.Select != nil {
		err = o.keys.Codec.Decode(slices.Clone(enc), &k)
	}
	return k, err
}

// HoldsWatermark implements operator.WatermarkHolder.
func (o *base[K, T, U]) HoldsWatermark() {}

// Flush implements operator.Flusher.
func (o *base[K, T, U]) Flush() error { return o.em.Flush() }

func (o *base[K, T, U]) Close() error {
	o.em.Drop()
	if o.state == nil {
		return nil
	}
	err := o.state.Close()
	o.state = nil
	return errs.Wrap(err, "", 0, o.ctx.Place(), "close of the state failed")
}

// WholeConfig describes an operator that gets all rows of a partition at once.
type WholeConfig[K, T, U any] struct {
	Keys Keys[K, T]
	// Limit bounds the bytes of state of a subtask.
	Limit int64
	// Apply is called for each partition with its rows in the order of arrival, and their times. Both slices are borrowed.
	// What is emitted without a time has the latest of the rows'.
	Apply func(key K, rows []T, times []int64, out *basic.Outlet[U]) error
}

// NewWhole returns the operator. Its state is a list of the rows, each behind its time.
func NewWhole[K, T, U any](cfg WholeConfig[K, T, U]) operator.Operator {
	return &whole[K, T, U]{base: base[K, T, U]{keys: cfg.Keys, limit: cfg.Limit}, apply: cfg.Apply}
}

type whole[K, T, U any] struct {
	base[K, T, U]
	apply  func(key K, rows []T, times []int64, out *basic.Outlet[U]) error
	stored basic.Stored[kept[T]]
	list   statebackend.List
	enc    []byte
	rows   []T
	times  []int64
}

// kept is a row as it lies in state.
type kept[T any] struct {
	Time int64
	Row  T
}

func (o *whole[K, T, U]) Open(ctx *operator.Context, out operator.Collector) (err error) {
	if err := o.open(ctx, out); err != nil {
		return err
	}
	if o.stored, err = basic.NewStored[kept[T]](ctx, "a row of the partition"); err != nil {
		return err
	}
	o.list, err = o.state.List(statebackend.Descriptor{Name: "rows", Kind: statebackend.KindList, Width: o.stored.Width(), Values: o.stored.Values(),
		Schema: o.stored.Schema(codec.Table{})})
	return err
}

func (o *whole[K, T, U]) Process(_ int, b event.Batch) error {
	var v kept[T]
	return o.each(b, func(key statebackend.Key, row *T, t int64) error {
		v.Time, v.Row = t, *row
		o.enc = o.stored.Append(o.enc[:0], &v)
		o.list.Append(key, nil, o.enc)
		return nil
	})
}

// Watermark implements operator.Operator.
func (o *whole[K, T, U]) Watermark(t int64) error {
	if t != event.MaxTime {
		return nil
	}
	return o.guard(func() (err error) {
		var v kept[T]
		o.list.All(func(key statebackend.Key, _, enc []byte) bool {
			// All rows of a partition come one after the other.
			if len(o.rows) > 0 && !bytes.Equal(key.Bytes, o.key) {
				if err = o.partition(); err != nil {
					return false
				}
			}
			o.key = append(o.key[:0], key.Bytes...)
			if err = o.stored.Decode(enc, &v); err != nil {
				return false
			}
			o.rows, o.times = append(o.rows, v.Row), append(o.times, v.Time)
			return true
		})
		if err != nil || len(o.rows) == 0 {
			return err
		}
		return o.partition()
	})
}

// partition hands the rows that have been gathered to the user's function.
func (o *whole[K, T, U]) partition() error {
	k, err := o.decodeKey(o.key)
	if err != nil {
		return err
	}
	o.failing = failedPartition[K]{k, len(o.rows)}
	o.now.Time = slices.Max(o.times)
	if err := o.apply(k, o.rows, o.times, o.out); err != nil {
		return err
	}
	o.failing = nil
	clear(o.rows)
	o.rows, o.times = o.rows[:0], o.times[:0]
	return o.now.Err
}

// FoldConfig describes an operator that keeps an accumulator for each partition.
type FoldConfig[K, T, A, U any] struct {
	Keys Keys[K, T]
	// Limit bounds the bytes of state of a subtask.
	Limit int64
	// Add adds a row to the accumulator, which is zero at first.
	Add func(acc *A, row T)
	// Result makes the row that is emitted. Its time is the latest of the partition's rows.
	Result func(key K, acc *A) U
}

// NewFold returns the operator. Its state is a value for each key: the latest time and the accumulator.
func NewFold[K, T, A, U any](cfg FoldConfig[K, T, A, U]) operator.Operator {
	return &fold[K, T, A, U]{base: base[K, T, U]{keys: cfg.Keys, limit: cfg.Limit}, cfg: cfg}
}

type fold[K, T, A, U any] struct {
	base[K, T, U]
	cfg    FoldConfig[K, T, A, U]
	stored basic.Stored[kept[A]]
	value  statebackend.Value
	enc    []byte
}

func (o *fold[K, T, A, U]) Open(ctx *operator.Context, out operator.Collector) (err error) {
	if err := o.open(ctx, out); err != nil {
		return err
	}
	if o.stored, err = basic.NewStored[kept[A]](ctx, "the accumulator"); err != nil {
		return err
	}
	o.value, err = o.state.Value(statebackend.Descriptor{Name: "accumulator", Kind: statebackend.KindValue, Width: o.stored.Width(), Values: o.stored.Values(),
		Schema: o.stored.Schema(codec.Table{})})
	return err
}

func (o *fold[K, T, A, U]) Process(_ int, b event.Batch) error {
	if o.stored.Width() > 0 {
		return o.each(b, func(key statebackend.Key, row *T, t int64) error {
			p, created := o.value.Ref(key, nil)
			acc := (*kept[A])(p)
			if created {
				acc.Time = t
			}
			acc.Time = max(acc.Time, t)
			o.cfg.Add(&acc.Row, *row)
			return nil
		})
	}
	return o.each(b, func(key statebackend.Key, row *T, t int64) error {
		acc := kept[A]{Time: t}
		if enc, ok := o.value.Get(key, nil); ok {
			if err := o.stored.Decode(enc, &acc); err != nil {
				return err
			}
		}
		acc.Time = max(acc.Time, t)
		o.cfg.Add(&acc.Row, *row)
		o.enc = o.stored.Append(o.enc[:0], &acc)
		o.value.Put(key, nil, o.enc)
		return nil
	})
}

// Watermark implements operator.Operator.
func (o *fold[K, T, A, U]) Watermark(t int64) error {
	if t != event.MaxTime {
		return nil
	}
	return o.guard(func() (err error) {
		o.value.All(func(key statebackend.Key, _, enc []byte) bool {
			var acc kept[A]
			if err = o.stored.Decode(enc, &acc); err != nil {
				return false
			}
			var k K
			if k, err = o.decodeKey(key.Bytes); err != nil {
				return false
			}
			o.failing, o.now.Time = k, acc.Time
			o.out.Emit(o.cfg.Result(k, &acc.Row))
			err = o.now.Err
			return err == nil
		})
		return err
	})
}
