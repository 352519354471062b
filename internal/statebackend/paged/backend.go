package paged

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/statebackend"
)

// Backend keeps the keyed state of one operator in tables. It implements statebackend.Keyed.
type Backend struct {
	cfg        statebackend.Config
	pool       *Pool
	states     []opened
	chunkBytes int // of lists; less in tests
	// onTable, if set by a test, sees every new table.
	onTable func(*Table)
}

type opened struct {
	d     statebackend.Descriptor
	state cuttable
	// tables are what the state is made of, for its size and its end.
	tables []*Table
}

// cuttable is one state of any kind.
type cuttable interface{ cut() statebackend.Frozen }

var _ statebackend.Cutter = (*Backend)(nil)

// NewBackend returns a backend without any state. Memory comes from pool; nil is the pool of the process.
func NewBackend(cfg statebackend.Config, pool *Pool) *Backend {
	if cfg.Groups == (keygroup.Range{}) {
		cfg.Groups = keygroup.All()
	}
	return &Backend{cfg: cfg, pool: pool, chunkBytes: chunkBytesMax}
}

func open[T cuttable](b *Backend, d statebackend.Descriptor, kind statebackend.Kind, make func(layout) (T, []*Table)) (T, error) {
	var none T
	i := slices.IndexFunc(b.states, func(o opened) bool { return o.d.Name == d.Name })
	if i >= 0 {
		if err := statebackend.Check(d, kind, &b.states[i].d); err != nil {
			return none, err
		}
		return b.states[i].state.(T), nil
	}
	if err := statebackend.Check(d, kind, nil); err != nil {
		return none, err
	}
	d.Kind = kind
	d.Schema = slices.Clone(d.Schema)
	s, tables := make(layout{name: d.Name, key: b.cfg.KeyWidth, ns: d.NamespaceWidth})
	for _, t := range tables {
		if b.onTable != nil {
			b.onTable(t)
		}
	}
	b.states = append(b.states, opened{d, s, tables})
	return s, nil
}

// Value opens a value state.
func (b *Backend) Value(d statebackend.Descriptor) (statebackend.Value, error) {
	return open(b, d, statebackend.KindValue, func(l layout) (*valueState, []*Table) {
		v := &valueState{layout: l, width: d.Width, t: b.table(l, d.Width, d.Width == 0)}
		return v, []*Table{v.t}
	})
}

// List opens a list state.
func (b *Backend) List(d statebackend.Descriptor) (statebackend.List, error) {
	return open(b, d, statebackend.KindList, func(l layout) (*listState, []*Table) {
		s := &listState{layout: l, width: d.Width, heads: b.table(l, 0, true), chunks: b.numbered(), max: b.chunkBytes}
		return s, []*Table{s.heads, s.chunks}
	})
}

// Map opens a map state.
func (b *Backend) Map(d statebackend.Descriptor) (statebackend.Map, error) {
	return open(b, d, statebackend.KindMap, func(l layout) (*mapState, []*Table) {
		s := &mapState{layout: l, width: d.Width, ordered: d.Ordered, roots: b.table(l, 0, true), nodes: b.numbered()}
		return s, []*Table{s.roots, s.nodes}
	})
}

func (b *Backend) table(l layout, width int, blobs bool) *Table {
	return New(Config{KeyWidth: l.width(), ValueWidth: width, Blobs: blobs, Groups: b.cfg.Groups, Pool: b.pool})
}

// numbered returns a table for the parts of large states, which are found by number.
func (b *Backend) numbered() *Table {
	return New(Config{KeyWidth: 8, Blobs: true, Pool: b.pool})
}

// Descriptors returns the states in the order of opening.
func (b *Backend) Descriptors() []statebackend.Descriptor {
	var ds []statebackend.Descriptor
	for _, o := range b.states {
		ds = append(ds, o.d)
	}
	return ds
}

// Bytes returns the memory of all tables.
func (b *Backend) Bytes() int64 {
	var n int64
	for _, o := range b.states {
		for _, t := range o.tables {
			n += t.Bytes()
		}
	}
	return n
}

// Cut implements statebackend.Cutter. It takes a moment for each segment of the tables.
func (b *Backend) Cut() ([]statebackend.Part, error) {
	parts := make([]statebackend.Part, len(b.states))
	for i, o := range b.states {
		parts[i] = statebackend.Part{State: statebackend.StateOf(o.d), Data: o.state.cut()}
	}
	return parts, nil
}

// Err returns nil: memory does not fail.
func (b *Backend) Err() error { return nil }

// Close gives the memory of all tables back.
func (b *Backend) Close() error {
	for _, o := range b.states {
		for _, t := range o.tables {
			t.Close()
		}
	}
	b.states = nil
	return nil
}

// layout composes a key and a namespace into the key of a table and takes that apart again.
//
// It is the two one after the other. When both vary in size, four bytes with the size of the key follow.
type layout struct {
	name    string
	key, ns int // width; 0 for a key and VariableNamespace for a namespace mean that it varies
	buf     []byte
}

// width returns the KeyWidth of the table.
func (l *layout) width() int {
	if l.key == 0 || l.ns < 0 {
		return 0
	}
	return l.key + l.ns
}

// compose returns the hash and the key under which the pair is stored. The key is borrowed until the next compose.
//
// The hash keeps the key's group and mixes the namespace into the rest.
func (l *layout) compose(key statebackend.Key, ns []byte) (uint64, []byte) {
	if l.ns >= 0 && len(ns) != l.ns {
		panic(fmt.Sprintf("state %s: namespace of %d bytes, declared %d", l.name, len(ns), l.ns))
	}
	if l.ns == 0 {
		return key.Hash, key.Bytes
	}
	if l.key != 0 && len(key.Bytes) != l.key {
		panic(fmt.Sprintf("state %s: key of %d bytes, declared %d", l.name, len(key.Bytes), l.key))
	}
	l.buf = append(append(l.buf[:0], key.Bytes...), ns...)
	if l.key == 0 && l.ns < 0 {
		l.buf = binary.LittleEndian.AppendUint32(l.buf, uint32(len(key.Bytes)))
	}
	return inGroup(key.Hash, nsHash(ns)), l.buf
}

// split is the inverse of compose. The results point into b. A key whose stored hash is 1 may have had the hash 0.
func (l *layout) split(hash uint64, b []byte) (statebackend.Key, []byte) {
	if l.ns == 0 {
		return statebackend.Key{Hash: hash, Bytes: b}, nil
	}
	n := l.key
	switch {
	case n != 0:
	case l.ns > 0:
		n = len(b) - l.ns
	default:
		end := len(b) - 4
		n, b = int(binary.LittleEndian.Uint32(b[end:])), b[:end:end]
	}
	ns := b[n:]
	return statebackend.Key{Hash: inGroup(hash, nsHash(ns)), Bytes: b[:n:n]}, ns
}

// inGroup mixes x into all bits of hash that do not name its group. Doing it twice gives the hash back.
func inGroup(hash, x uint64) uint64 { return hash ^ x>>keygroup.Bits }

// nsHash spreads a namespace over 64 bits. It is not part of any format and may change.
func nsHash(ns []byte) uint64 {
	h := uint64(len(ns))*0x9E3779B97F4A7C15 + 0x8EBC6AF09C88C6E3
	for ; len(ns) >= 8; ns = ns[8:] {
		h = fold(h^binary.LittleEndian.Uint64(ns), 0x589965CC75374CC3)
	}
	var tail uint64
	for i, c := range ns {
		tail |= uint64(c) << (8 * i)
	}
	return fold(h^tail, 0x1D8E4E27C47D124F)
}

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// valueState implements statebackend.Value.
type valueState struct {
	layout
	width int
	t     *Table
	mark  uint64   // of the last cut
	batch struct { // the composed keys of one call of Refs
		hashes  []uint64
		buf     []byte
		offsets []uint32
	}
}

var _ statebackend.BatchValue = (*valueState)(nil)

func (v *valueState) Get(key statebackend.Key, ns []byte) ([]byte, bool) {
	hash, k := v.compose(key, ns)
	if v.width == 0 {
		return v.t.GetBytes(hash, k)
	}
	p := v.t.Lookup(hash, k)
	if p == nil {
		return nil, false
	}
	return unsafe.Slice((*byte)(p), v.width), true
}

func (v *valueState) Put(key statebackend.Key, ns, value []byte) {
	hash, k := v.compose(key, ns)
	if v.width == 0 {
		v.t.PutBytes(hash, k, value)
		return
	}
	checkWidth(v.name, v.width, value)
	p, _ := v.t.Upsert(hash, k)
	copy(unsafe.Slice((*byte)(p), v.width), value)
}

func checkWidth(name string, width int, b []byte) {
	if width > 0 && len(b) != width {
		panic(fmt.Sprintf("state %s: %d bytes, declared %d", name, len(b), width))
	}
}

func (v *valueState) Ref(key statebackend.Key, ns []byte) (unsafe.Pointer, bool) {
	v.checkFixed()
	hash, k := v.compose(key, ns)
	return v.t.Upsert(hash, k)
}

func (v *valueState) checkFixed() {
	if v.width == 0 {
		panic(fmt.Sprintf("state %s: values vary in size, so they cannot be used in place", v.name))
	}
}

func (v *valueState) Refs64(hashes, keys []uint64, out []unsafe.Pointer, created []bool) {
	v.checkFixed()
	if v.key != 8 || v.ns != 0 {
		panic(fmt.Sprintf("state %s: Refs64 on keys of %d and namespaces of %d bytes", v.name, v.key, v.ns))
	}
	v.t.UpsertBatch64(hashes, keys, out, created)
}

func (v *valueState) Refs(hashes []uint64, buf []byte, offsets []uint32, ns []byte, out []unsafe.Pointer, created []bool) {
	v.checkFixed()
	if v.ns == 0 {
		v.t.UpsertBatch(hashes, buf, offsets, out, created)
		return
	}
	b := &v.batch
	b.hashes, b.buf, b.offsets = b.hashes[:0], b.buf[:0], append(b.offsets[:0], 0)
	for i, h := range hashes {
		hash, k := v.compose(statebackend.Key{Hash: h, Bytes: buf[offsets[i]:offsets[i+1]]}, ns)
		b.hashes = append(b.hashes, hash)
		b.buf = append(b.buf, k...)
		b.offsets = append(b.offsets, uint32(len(b.buf)))
	}
	v.t.UpsertBatch(b.hashes, b.buf, b.offsets, out, created)
}

func (v *valueState) Clear(key statebackend.Key, ns []byte) bool {
	return v.t.Delete(v.compose(key, ns))
}

func (v *valueState) All(f func(key statebackend.Key, ns, value []byte) bool) {
	if v.width == 0 {
		v.t.AllBytes(func(hash uint64, k, value []byte) bool {
			key, ns := v.split(hash, k)
			return f(key, ns, value)
		})
		return
	}
	v.t.All(func(hash uint64, k []byte, p unsafe.Pointer) bool {
		key, ns := v.split(hash, k)
		return f(key, ns, unsafe.Slice((*byte)(p), v.width))
	})
}

func (v *valueState) Len() int { return v.t.Len() }

// Touch implements statebackend.Toucher.
func (v *valueState) Touch(hashes []uint64) {
	if v.ns != 0 {
		return
	}
	v.t.touchAll(hashes)
}

// Expect implements statebackend.Expecter.
func (v *valueState) Expect(keysPerGroup float64) { v.t.expectPerGroup(keysPerGroup) }

func (t *Table) expectPerGroup(keys float64) {
	t.Expect(int(keys * float64(t.cfg.Groups.Len())))
}
