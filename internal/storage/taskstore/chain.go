package taskstore

import (
	"slices"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
)

const (
	// chainMost bounds the deltas of a chain: each is read at a restore.
	chainMost = 11
	// rewriteAt: a chain is written anew when its deltas have this part of the base's bytes.
	rewriteNum, rewriteDen = 1, 2
)

// chain is how the keyed state of one operator of a task is written over the epochs: whole, then changes over that. Task.mu
// guards it.
type chain struct {
	names    []string // of the states; their ids in records are one more than their place, for the life of the task
	complete link     // of the last complete epoch
}

// link is what an epoch has written and listed.
type link struct {
	written bool
	objects []snapshot.Object
	marks   map[string]uint64 // of the cut, by state; nil if a state has none
	states  int
	deltas  int // epochs that have written changes over the base
	cuts    []statebackend.Changing
}

// number returns the id of a state of the i-th operator in records.
func (t *Task) number(op int, state string) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &t.chains[op]
	i := slices.Index(c.names, state)
	if i < 0 {
		i = len(c.names)
		c.names = append(c.names, state)
	}
	return uint32(i + 1)
}

// plan is how an epoch writes the keyed state of an operator.
type plan struct {
	base    []snapshot.Object // listed again, nil if all is written
	since   map[string]uint64 // the marks of the cut that base has
	marks   map[string]uint64 // of this cut
	nothing bool              // has changed since
	deltas  int               // in base
	cuts    []statebackend.Changing
}

// plan chooses what the i-th operator writes.
func (t *Task) plan(i int, parts []statebackend.Part, full bool) plan {
	var p plan
	if !t.u.cfg.Incremental {
		return p
	}
	for _, part := range parts {
		c, ok := part.Data.(statebackend.Changing)
		if !ok {
			return plan{}
		}
		if p.marks == nil {
			p.marks = map[string]uint64{}
		}
		p.marks[part.State.Name] = c.Mark()
		p.cuts = append(p.cuts, c)
	}
	if full {
		return p
	}
	t.mu.Lock()
	last := t.chains[i].complete
	t.mu.Unlock()
	if !last.written || last.marks == nil || last.states != len(parts) || last.tooLong() {
		return p
	}
	same := true
	for name, mark := range p.marks {
		before, ok := last.marks[name]
		if !ok {
			return p
		}
		same = same && before == mark
	}
	if same {
		p.base, p.since, p.deltas, p.nothing = last.objects, last.marks, last.deltas, true
		return p
	}
	if len(last.objects) > 0 && changesKnown(parts, last.marks) {
		p.base, p.since, p.deltas = last.objects, last.marks, last.deltas+1
	}
	return p
}

func (l *link) tooLong() bool {
	var base, deltas int64
	for _, o := range l.objects {
		if o.Kind == snapshot.ObjectDelta {
			deltas += o.Size
		} else {
			base += o.Size
		}
	}
	return l.deltas >= chainMost || deltas*rewriteDen > base*rewriteNum
}

// changesKnown reports whether every state can say what has changed.
func changesKnown(parts []statebackend.Part, since map[string]uint64) bool {
	for _, p := range parts {
		c := p.Data.(statebackend.Changing)
		if !c.Changes(since[p.State.Name], keygroup.Range{}, func(statebackend.Key, []byte, []byte, []byte, bool) bool { return true }) {
			return false
		}
	}
	return true
}
