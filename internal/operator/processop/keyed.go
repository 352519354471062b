package processop

import (
	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/keyedstate"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/timer"
	"github.com/weir-stream/weir/state"
)

// Keyed is the Runtime of a function that works by key.
type Keyed[K any] struct {
	Runtime
	// Place is the key at work, encoded.
	Place keyedstate.Place

	codec   *codec.KeyCodec[K]
	width   int // of encoded keys, 0 if they vary
	key     K   // the key at work, if decoded
	decoded bool
	arena   keyedstate.Arena

	backend statebackend.Keyed
	store   *keyedstate.Store

	onTimer    func(t int64, processing bool) error
	event      *timer.Timers // nil without onTimer
	processing *timer.Timers
	alarm      func() // cancels the callback for the first processing-time timer
	alarmAt    int64
	fire       struct {
		at         int64
		processing bool
		active     bool
		count      int
	}
}

// NewKeyed returns an operator that works by key. bind makes the function of the subtask; it is called in Open.
func NewKeyed[K, U any](keys *codec.KeyCodec[K], bind func(k *Keyed[K], out *basic.Outlet[U]) (Function, error)) operator.Operator {
	k := &Keyed[K]{codec: keys}
	if w, fixed := keys.FixedWidth(); fixed {
		k.width = w
	}
	return &op[U]{rt: &k.Runtime, keyed: k,
		bind: func(_ *Runtime, out *basic.Outlet[U]) (Function, error) { return bind(k, out) }}
}

// The names of the function's timers among its states.
const (
	eventTimers      = "weir.timers/event"
	processingTimers = "weir.timers/processing"
)

// open is called before the function's Open. What a checkpoint may have is opened whether the function uses it or not.
func (k *Keyed[K]) open(f *Function) error {
	k.onTimer = f.OnTimer
	if k.onTimer != nil {
		k.event, k.processing = timer.New(nil), timer.New(nil)
		k.Op.AddTimers(eventTimers, snapshot.KindEventTimers, 0, k.event)
		k.Op.AddTimers(processingTimers, snapshot.KindProcessingTimer, 0, k.processing)
	}
	_, err := k.Store()
	return err
}

// Store returns the function's state store. The first call opens the backend.
func (k *Keyed[K]) Store() (state.Store, error) {
	if k.store == nil {
		b, err := k.Op.OpenState(k.width)
		if err != nil {
			return nil, err
		}
		k.backend, k.store = b, keyedstate.New(b, &k.Place)
	}
	return k.store, nil
}

// Key returns the key at work, and whether there is one.
func (k *Keyed[K]) Key() (key K, ok bool) {
	if !k.Place.Set {
		return key, false
	}
	if !k.decoded {
		enc := k.Place.Key.Bytes
		if k.width == 0 {
			enc = k.arena.Own(enc)
		}
		if err := k.codec.Decode(enc, &k.key); err != nil {
			panic(err)
		}
		k.decoded = true
	}
	return k.key, true
}

// touchRows is how many rows ahead states are told of their keys: enough to keep a core's misses in flight.
const touchRows = 64

// KeyedRows returns the input of a stream that is keyed by key.
func KeyedRows[K, T any](k *Keyed[K], key func(T) K, f func(row *T) error) Input {
	batch := keyedstate.NewBatch(k.codec)
	var (
		keys   []K
		hashes []uint64
	)
	take := func(i int, row *T) error {
		keys[i] = key(*row)
		return nil
	}
	each := func(i int, row *T) error {
		if i%touchRows == 0 && k.store != nil {
			k.store.Touch(hashes[i:min(i+touchRows, len(hashes))])
		}
		k.Place.At(hashes[i], batch.Bytes(i))
		k.key, k.decoded = keys[i], true
		return f(row)
	}
	return func(b event.Batch) error {
		in := b.(*event.Records[T])
		defer in.Release()
		defer k.leave()
		in.Compact()
		keys, hashes = batch.Keys(len(in.Rows)), in.Hash
		if err := eachRow(&k.Runtime, in, take); err != nil {
			return err
		}
		batch.Encode()
		return k.after(eachRow(&k.Runtime, in, each))
	}
}

// leave ends the work on a key.
func (k *Keyed[K]) leave() {
	k.Place.Leave()
	k.decoded = false
}

// after looks for a failure of the backend behind a batch or a firing.
func (k *Keyed[K]) after(err error) error {
	if err == nil && k.backend != nil {
		err = k.backend.Err()
	}
	return err
}

// AtKeys calls f for every key that has state behind h, with the key at work. f may change any state.
func (k *Keyed[K]) AtKeys(h state.Handle, f func() error) error {
	type place struct {
		hash uint64
		end  int
	}
	var (
		bytes []byte
		all   []place
	)
	state.KeysOf(h, func(hash uint64, key []byte) {
		bytes = append(bytes, key...)
		all = append(all, place{hash, len(bytes)})
	})
	was, key, decoded := k.Place, k.key, k.decoded
	defer func() { k.Place, k.key, k.decoded = was, key, decoded }()
	from := 0
	for _, p := range all {
		k.Place.At(p.hash, bytes[from:p.end:p.end])
		k.decoded = false
		from = p.end
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func (k *Keyed[K]) close() error {
	if k.alarm != nil {
		k.alarm()
		k.alarm = nil
	}
	for _, t := range []*timer.Timers{k.event, k.processing} {
		if t != nil {
			t.Close()
		}
	}
	k.event, k.processing = nil, nil
	if k.backend == nil {
		return nil
	}
	err := k.backend.Close()
	k.backend = nil
	return errs.Wrap(err, "", 0, k.Op.Place(), "closing the state")
}
