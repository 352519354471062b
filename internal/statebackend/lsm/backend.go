package lsm

import (
	"errors"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/statebackend"
)

// Backend keeps the keyed state of one operator of one task. It implements statebackend.Keyed.
type Backend struct {
	cfg    statebackend.Config
	rows   *rows
	life   *life
	states []opened
	closed bool
	chunk  int // of lists; less in tests
	many   int // entries of a map; less in tests
}

type opened struct {
	d     statebackend.Descriptor
	state any
	l     *layout
	m     *marks
}

var _ statebackend.Keyed = (*Backend)(nil)

// life counts who uses a database: the backend, and each cut that was not released. The last one closes it.
type life struct {
	mu    sync.Mutex
	users int
	end   func() error
}

func (l *life) hold() {
	l.mu.Lock()
	l.users++
	l.mu.Unlock()
}

func (l *life) leave() error {
	l.mu.Lock()
	l.users--
	last := l.users == 0
	l.mu.Unlock()
	if last {
		return l.end()
	}
	return nil
}

// maxStates keeps the mark of heads out of the ids of states, and tombstones out of the next state.
const maxStates = 0x7ffe

func open[T any](b *Backend, d statebackend.Descriptor, kind statebackend.Kind, make func(common) T) (T, error) {
	var none T
	if i := slices.IndexFunc(b.states, func(o opened) bool { return o.d.Name == d.Name }); i >= 0 {
		if err := statebackend.Check(d, kind, &b.states[i].d); err != nil {
			return none, err
		}
		return b.states[i].state.(T), nil
	}
	if err := statebackend.Check(d, kind, nil); err != nil {
		return none, err
	}
	if len(b.states) >= maxStates {
		return none, errs.New(errs.CodeLimit, errs.ClassUser, "state "+d.Name, "an operator may have %d states", maxStates)
	}
	d.Kind = kind
	d.Schema = slices.Clone(d.Schema)
	l := &layout{name: d.Name, id: uint16(len(b.states) + 1), key: b.cfg.KeyWidth, ns: d.NamespaceWidth, groups: b.cfg.Groups}
	m := &marks{marksShared: &marksShared{}}
	s := make(common{layout: l, marks: m, r: b.rows, width: d.Width})
	b.states = append(b.states, opened{d, s, l, m})
	return s, nil
}

// Value opens a value state.
func (b *Backend) Value(d statebackend.Descriptor) (statebackend.Value, error) {
	return open(b, d, statebackend.KindValue, func(c common) statebackend.Value { return &valueState{common: c} })
}

// List opens a list state.
func (b *Backend) List(d statebackend.Descriptor) (statebackend.List, error) {
	return open(b, d, statebackend.KindList, func(c common) statebackend.List { return &listState{common: c, chunk: b.chunk} })
}

// Map opens a map state.
func (b *Backend) Map(d statebackend.Descriptor) (statebackend.Map, error) {
	return open(b, d, statebackend.KindMap, func(c common) statebackend.Map { return &mapState{common: c, many: b.many} })
}

// Descriptors returns the states in the order of opening.
func (b *Backend) Descriptors() []statebackend.Descriptor {
	var ds []statebackend.Descriptor
	for _, o := range b.states {
		ds = append(ds, o.d)
	}
	return ds
}

// Bytes returns the size of the cache of rows.
func (b *Backend) Bytes() int64 { return b.rows.bytes() }

// Err returns the first failure of the disk.
func (b *Backend) Err() error { return b.rows.fail.get() }

// Close gives everything back, except what cuts need that were not released: the last of these closes the database.
func (b *Backend) Close() error {
	if b.closed {
		return nil
	}
	b.closed = true
	var err error
	for _, o := range b.states {
		if m, ok := o.state.(*mapState); ok {
			err = errors.Join(err, m.closeIter())
		}
	}
	b.rows.track.close()
	err = errors.Join(err, b.life.leave())
	if b.rows.fail.is.Load() {
		err = nil // it was reported; what follows from it does not matter
	}
	*b = Backend{closed: true, life: b.life, rows: newRows(nil, &failure{}, nil)}
	return err
}

// iterator returns an iterator over rows of the database.
func (r *rows) iterator(from, to []byte) (*pebble.Iterator, error) {
	return r.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
}

// openBackend opens an empty database in dir, which exists.
func openBackend(cfg statebackend.Config, opts *pebble.Options, fsys fs.FS, fail *failure, dir string, limit func() int64, end func()) (*Backend, error) {
	if cfg.Groups == (keygroup.Range{}) {
		cfg.Groups = keygroup.All()
	}
	db, err := pebble.Open(dir, opts)
	if err == nil {
		if err = fail.get(); err != nil {
			_ = db.Close()
		}
	}
	if err != nil {
		end()
		return nil, errs.Wrap(err, errs.CodeIO, errs.ClassFailTask, dir, "the state store cannot be opened")
	}
	l := &life{users: 1, end: func() error {
		err := db.Close()
		end()
		if fail.is.Load() {
			return nil
		}
		return errs.Wrap(err, errs.CodeIO, errs.ClassFailTask, dir, "the state store cannot be closed")
	}}
	b := &Backend{cfg: cfg, rows: newRows(db, fail, limit), life: l, chunk: chunkSize, many: manyEntries}
	b.rows.track = tracking{fs: fsys, dir: dir, memory: logMemory, gather: gatherMost}
	return b, nil
}
