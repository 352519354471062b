package lsm

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/statebackend"
)

// tracking knows which rows were written since the last cuts, as long as somebody asks. It belongs to the task's goroutine.
//
// A row that changes is written to the database, sooner or later: when it is evicted, or by the flush of the next cut. The writer
// notes its key in the log of the interval. So the changes since a cut are the rows in the logs since then, as the database's
// snapshot has them; those that it has not are removed.
type tracking struct {
	cuts uint64 // that were taken; they are numbered from 1
	on   bool
	base uint64 // changes since the cut of this number, and later ones, are known
	logs []*changeLog
	log  *changeLog // of this interval, which is not in logs yet; nil if off

	fs  fs.FS
	dir string
	// memory and gather are logMemory and gatherMost, less in tests.
	memory int
	gather int64
}

// marks are what is known of the changes of one state.
type marks struct {
	changed bool   // since the last cut
	mark    uint64 // the number of the cut that the last change was before
	*marksShared
}

// marksShared is what cuts tell their state, from any goroutine.
type marksShared struct {
	asked    atomic.Bool   // somebody wants to know the changes
	complete atomic.Uint64 // the number of the last cut whose checkpoint is complete
}

// cut ends an interval, and gives f what its readers need: the log of the interval, and the older ones that may be asked for.
func (t *tracking) cut(f *flush, states []opened) {
	t.cuts++
	f.log = t.log
	asked, complete := t.cuts == 1, t.cuts
	for _, s := range states {
		asked = asked || s.m.asked.Load()
		complete = min(complete, s.m.complete.Load())
	}
	if t.log != nil {
		t.log.users.Add(1) // f, until it has filled it
		t.log.about = t.log.bytes() + int64(len(f.list))*aboutRow
		t.logs = append(t.logs, t.log)
	}
	total := int64(0)
	for _, l := range t.logs {
		total += l.about
	}
	switch {
	case !asked, total > logMost, len(t.logs) > logsMost:
		t.forget(t.cuts)
		t.base = t.cuts
	case !t.on:
		t.base = t.cuts
	default:
		t.forget(complete)
	}
	t.on, t.log = asked, nil
	if asked {
		t.log = &changeLog{stamp: t.cuts, fs: t.fs, name: path.Join(t.dir, fmt.Sprint("changes-", t.cuts)), most: t.memory}
		t.log.users.Add(1)
	}
	f.logs = slices.Clone(t.logs)
	for _, l := range f.logs {
		l.users.Add(1)
	}
}

// forget drops the logs of the intervals that began before the cut of a number.
func (t *tracking) forget(before uint64) {
	for len(t.logs) > 0 && t.logs[0].stamp < before {
		t.logs[0].leave()
		t.logs = t.logs[1:]
	}
}

// close gives up all logs.
func (t *tracking) close() {
	leaveAll(t.logs)
	t.log.leave()
	t.logs, t.log = nil, nil
}

var (
	_ statebackend.Changing = (*frozen)(nil)
	_ statebackend.Drainer  = (*frozen)(nil)
)

// Mark implements statebackend.Changing.
func (z *frozen) Mark() uint64 {
	z.shared.asked.Store(true)
	return z.mark
}

// Complete implements statebackend.Changing.
func (z *frozen) Complete() {
	for c := &z.shared.complete; ; {
		old := c.Load()
		if old >= z.number || c.CompareAndSwap(old, z.number) {
			return
		}
	}
}

// Drain implements statebackend.Drainer. A cut holds nothing that could be given back on the way.
func (z *frozen) Drain(f statebackend.Visit) { z.Each(keygroup.All(), f) }

// Changes implements statebackend.Changing.
func (z *frozen) Changes(since uint64, groups keygroup.Range, f statebackend.VisitChange) bool {
	if since == z.mark {
		return true
	}
	if !z.tracked || since < z.base || since > z.mark {
		return false
	}
	groups = groups.Intersect(z.l.groups)
	if z.released || groups.Len() == 0 {
		return true
	}
	z.f.run()
	logs := z.f.logs
	for len(logs) > 0 && logs[0].stamp < since {
		logs = logs[1:]
	}
	if slices.ContainsFunc(logs, func(l *changeLog) bool { return l.err != nil }) {
		return false
	}
	if z.Err() != nil {
		return true
	}
	if err := z.changes(logs, groups, f); err != nil {
		z.fail(err)
	}
	return true
}

// changes goes through groups in parts whose keys can be sorted in memory.
func (z *frozen) changes(logs []*changeLog, groups keygroup.Range, f statebackend.VisitChange) error {
	from, to := z.l.bounds(groups)
	it, err := z.f.snap.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return err
	}
	defer it.Close()
	total := int64(0)
	for _, l := range logs {
		total += l.bytes()
	}
	parts := min(int(total/z.gather)+1, groups.Len())
	var rows changedRows
	for i := range parts {
		part := keygroup.Range{From: groups.From + keygroup.Group(i*groups.Len()/parts), To: groups.From + keygroup.Group((i+1)*groups.Len()/parts)}
		if err := rows.gather(logs, z.l.id, part); err != nil {
			return err
		}
		v := changesVisit{rows: &rows, it: it, l: &z.l, kind: z.kind, width: z.width, f: f}
		if more, err := v.all(); err != nil || !more {
			return err
		}
	}
	return nil
}

// changedRows are rows of logs, in order, each once.
type changedRows struct {
	buf   []byte
	order []changedRow
}

type changedRow struct {
	hash  uint64 // the first bytes of the row behind the state
	at    uint32
	size  uint32
	whole bool
}

func (c *changedRows) row(r *changedRow) []byte { return c.buf[r.at : r.at+r.size : r.at+r.size] }

func (c *changedRows) gather(logs []*changeLog, state uint16, groups keygroup.Range) error {
	c.buf, c.order = c.buf[:0], c.order[:0]
	for _, l := range logs {
		if err := l.each(func(row []byte, whole bool) {
			hash := binary.BigEndian.Uint64(row[stateBytes:])
			if binary.BigEndian.Uint16(row) != state || !groups.ContainsHash(hash) {
				return
			}
			c.order = append(c.order, changedRow{hash, uint32(len(c.buf)), uint32(len(row)), whole})
			c.buf = append(c.buf, row...)
		}); err != nil {
			return err
		}
	}
	compare := func(a, b changedRow) int {
		if a.hash != b.hash {
			return cmp.Compare(a.hash, b.hash)
		}
		if d := bytes.Compare(c.row(&a), c.row(&b)); d != 0 || a.whole == b.whole {
			return d
		}
		if a.whole {
			return -1
		}
		return 1
	}
	slices.SortFunc(c.order, compare)
	c.order = slices.CompactFunc(c.order, func(a, b changedRow) bool { return compare(a, b) == 0 })
	return nil
}

// changesVisit shows what the snapshot has of changed rows.
type changesVisit struct {
	rows  *changedRows
	it    *pebble.Iterator
	l     *layout
	kind  statebackend.Kind
	width int
	f     statebackend.VisitChange
}

// all reports whether f wants more.
func (v *changesVisit) all() (bool, error) {
	var done []byte // rows that begin with it were shown
	for i := range v.rows.order {
		r := &v.rows.order[i]
		row := v.rows.row(r)
		if done != nil && bytes.HasPrefix(row, done) {
			continue
		}
		more, err := true, error(nil)
		_, _, rest := v.l.split(row)
		switch {
		case r.whole:
			done = row
			more, err = v.whole(row, row)
		case v.kind == statebackend.KindList:
			// Whatever changes in a list, its tail does.
			if binary.BigEndian.Uint32(rest) == tailRow {
				more, err = v.whole(row[:len(row)-len(rest)], row)
			}
		default:
			more, err = v.one(row)
		}
		if err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// whole shows that all of a key and namespace was removed, and then what there is.
func (v *changesVisit) whole(prefix, row []byte) (bool, error) {
	key, ns, _ := v.l.split(row)
	if !v.f(key, ns, nil, nil, true) {
		return false, nil
	}
	ok := v.it.SeekGE(prefix)
	for ; ok && bytes.HasPrefix(v.it.Key(), prefix); ok = v.it.Next() {
		value, err := v.it.ValueAndErr()
		if err != nil {
			return false, err
		}
		if !show(v.it.Key(), value, v.l, v.kind, v.width, v.unit) {
			return false, nil
		}
	}
	return true, v.it.Error()
}

// one shows a value or an entry of a map.
func (v *changesVisit) one(row []byte) (bool, error) {
	if v.it.SeekPrefixGE(row) && bytes.Equal(v.it.Key(), row) {
		value, err := v.it.ValueAndErr()
		if err != nil {
			return false, err
		}
		return show(row, value, v.l, v.kind, v.width, v.unit), nil
	}
	if err := v.it.Error(); err != nil {
		return false, err
	}
	key, ns, user := v.l.split(row)
	if v.kind == statebackend.KindValue {
		user = nil
	}
	return v.f(key, ns, user, nil, true), nil
}

func (v *changesVisit) unit(key statebackend.Key, ns, user, value []byte) bool {
	return v.f(key, ns, user, value, false)
}
