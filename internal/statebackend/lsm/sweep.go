package lsm

import (
	"encoding/binary"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/statebackend"
)

// sweepRows is how many places in the cache a sweep looks at.
const sweepRows = 64

// sweep visits what the database has of groups, and a few rows of the cache, whatever their groups, from where the last
// sweep has ended: some may be nowhere else. What it shows may be out of date.
func (c *common) sweep(kind statebackend.Kind, groups keygroup.Range, f statebackend.Visit) {
	if !c.begin() {
		return
	}
	it, err := c.r.iterator(c.bounds(groups))
	if err == nil {
		err = visit(it, c.layout, kind, c.width, f)
		_ = it.Close()
	}
	if err != nil {
		c.r.failed(err)
		return
	}
	c.sweepCache(kind, f)
}

func (c *common) sweepCache(kind statebackend.Kind, f statebackend.Visit) {
	for range min(sweepRows, c.r.made) {
		c.swept++
		if uint32(c.swept) > c.r.made {
			c.swept = 1
		}
		w := c.r.row(c.swept)
		if w.flags&rowInUse == 0 || w.flags&(rowDead|rowHead) != 0 {
			continue
		}
		row := c.r.keyOf(w)
		if binary.BigEndian.Uint16(row) != c.id {
			continue
		}
		if !show(row, c.r.valueOf(w), c.layout, kind, c.width, f) {
			return
		}
	}
}

// Sweep implements statebackend.Sweeper.
func (v *valueState) Sweep(groups keygroup.Range, f statebackend.Visit) {
	v.sweep(statebackend.KindValue, groups, f)
}

// Sweep implements statebackend.Sweeper.
func (l *listState) Sweep(groups keygroup.Range, f statebackend.Visit) {
	l.sweep(statebackend.KindList, groups, f)
}

// Sweep implements statebackend.Sweeper.
func (m *mapState) Sweep(groups keygroup.Range, f statebackend.Visit) {
	m.sweep(statebackend.KindMap, groups, f)
}
