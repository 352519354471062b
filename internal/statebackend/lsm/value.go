package lsm

import (
	"fmt"
	"unsafe"

	"github.com/weir-stream/weir/internal/statebackend"
)

// common is what all kinds of state have.
type common struct {
	*layout
	*marks
	r     *rows
	width int
	held  []rowID
	swept rowID // where the last sweep has ended
}

// begin is called at the start of each access. It reports false if the backend has failed.
func (c *common) begin() bool {
	for _, id := range c.held {
		c.r.row(id).flags &^= rowHeld
	}
	c.held = c.held[:0]
	if c.r.fail.is.Load() {
		return false
	}
	c.r.makeRoom()
	return true
}

// hold keeps a row, and with it what was borrowed from it, until the next access to the state.
func (c *common) hold(id rowID) {
	c.r.row(id).flags |= rowHeld
	c.held = append(c.held, id)
}

// let ends the last hold.
func (c *common) let() {
	last := len(c.held) - 1
	c.r.row(c.held[last]).flags &^= rowHeld
	c.held = c.held[:last]
}

// get returns the value of a row, borrowed.
func (c *common) get(key []byte) ([]byte, bool) {
	id := c.r.load(key)
	w := c.r.row(id)
	if w.flags&rowDead != 0 {
		return nil, false
	}
	c.hold(id)
	return c.r.valueOf(w), true
}

// change and kill are those of rows.
func (c *common) change(id rowID, val, keep int) []byte {
	c.changed = true
	return c.r.change(id, val, keep)
}

func (c *common) kill(id rowID) {
	c.changed = true
	c.r.kill(id)
}

func (c *common) check(value []byte) {
	if c.width > 0 && len(value) != c.width {
		panic(fmt.Sprintf("state %s: %d bytes, declared %d", c.name, len(value), c.width))
	}
}

// valueState implements statebackend.Value.
type valueState struct {
	common
	none []uint64 // what Ref returns when the backend has failed
}

func (v *valueState) Get(key statebackend.Key, ns []byte) ([]byte, bool) {
	if !v.begin() {
		return nil, false
	}
	return v.get(v.prefix(key, ns))
}

func (v *valueState) Put(key statebackend.Key, ns, value []byte) {
	v.check(value)
	if !v.begin() {
		return
	}
	id := v.r.blind(v.prefix(key, ns), len(value))
	copy(v.change(id, len(value), 0), value)
}

func (v *valueState) Ref(key statebackend.Key, ns []byte) (unsafe.Pointer, bool) {
	if v.width == 0 {
		panic(fmt.Sprintf("state %s: values vary in size, so they cannot be used in place", v.name))
	}
	if !v.begin() {
		v.none = make([]uint64, v.width/8+1)
		return unsafe.Pointer(unsafe.SliceData(v.none)), true
	}
	return v.ref(v.prefix(key, ns))
}

func (v *valueState) ref(row []byte) (unsafe.Pointer, bool) {
	id := v.r.load(row)
	created := v.r.row(id).flags&rowDead != 0
	b := v.change(id, v.width, v.width)
	if created {
		clear(b)
	}
	v.hold(id)
	return unsafe.Pointer(unsafe.SliceData(b)), created
}

func (v *valueState) Clear(key statebackend.Key, ns []byte) bool {
	return v.begin() && v.remove(v.prefix(key, ns))
}

// remove kills a row and reports whether it was alive.
func (c *common) remove(row []byte) bool {
	id := c.r.load(row)
	alive := c.r.row(id).flags&rowDead == 0
	c.kill(id)
	return alive
}

func (v *valueState) All(f func(key statebackend.Key, ns, value []byte) bool) {
	v.all(statebackend.KindValue, func(key statebackend.Key, ns, _, value []byte) bool { return f(key, ns, value) })
}

// Len visits everything.
func (v *valueState) Len() (n int) {
	v.All(func(statebackend.Key, []byte, []byte) bool { n++; return true })
	return n
}

// all writes what is in the cache and visits the database.
func (c *common) all(kind statebackend.Kind, f statebackend.Visit) {
	if !c.begin() {
		return
	}
	c.r.writeAll()
	it, err := c.r.iterator(c.bounds(c.groups))
	if err == nil {
		err = visit(it, c.layout, kind, c.width, f)
		_ = it.Close()
	}
	if err != nil {
		c.r.failed(err)
	}
}
