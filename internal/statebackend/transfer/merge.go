package transfer

import (
	"io"
	"iter"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/snapshot"
)

// visitEntry sees an entry, which is borrowed. It returns false to end the visit.
type visitEntry func(e *snapshot.Entry) bool

// feed is the entries of one state in ascending order of groups.
type feed struct {
	state uint32
	each  func(f visitEntry) error
}

// objects writes entries to one data object after the other.
type objects struct {
	w    *snapshot.Writer
	opt  *Options
	last uint64 // the hash of the entry before
}

func newObjects(w io.Writer, delta bool, opt *Options) *objects {
	return &objects{w: snapshot.NewWriter(w, snapshot.Form{Delta: delta, Compression: opt.Compression}), opt: opt}
}

func (o *objects) add(e *snapshot.Entry) error {
	if o.opt.Next != nil && o.w.Size() >= o.opt.ObjectBytes && (e.Hash != o.last || o.w.Size() >= 4*o.opt.ObjectBytes) {
		sum, err := o.w.Close()
		if err != nil {
			return err
		}
		to, err := o.opt.Next(sum)
		if err != nil {
			return err
		}
		o.w.Reset(to)
	}
	o.last = e.Hash
	return o.w.Add(e)
}

// merge writes the entries of all feeds group by group, and inside a group feed by feed.
//
// Each feed runs in a coroutine that writes its entries itself, as long as their groups are not above its turn; nothing is
// copied on the way. Then it waits, with the entry in its hands, until the others have come to that group.
func merge(out *objects, feeds []feed) (snapshot.Summary, error) {
	var failed error
	turns := make([]*turn, 0, len(feeds))
	defer func() {
		for _, t := range turns {
			t.stop()
		}
	}()
	for i := range feeds {
		t := &turn{until: -1}
		if len(feeds) == 1 {
			t.until = keygroup.Count
		}
		t.next, t.stop = iter.Pull(func(yield func(keygroup.Group) bool) {
			stopped := false
			err := feeds[i].each(func(e *snapshot.Entry) bool {
				if g := e.Group(); int(g) > t.until && !yield(g) {
					stopped = true
					return false
				}
				e.State = feeds[i].state
				failed = out.add(e)
				return failed == nil
			})
			if failed == nil && !stopped {
				failed = err
			}
		})
		turns = append(turns, t)
		t.at, t.more = t.next()
	}
	for failed == nil {
		t := nextTurn(turns)
		if t == nil {
			break
		}
		t.at, t.more = t.next()
	}
	if failed != nil {
		return snapshot.Summary{}, failed
	}
	return out.w.Close()
}

// turn is where a feed waits.
type turn struct {
	next  func() (keygroup.Group, bool)
	stop  func()
	at    keygroup.Group
	until int // the last group that it may write
	more  bool
}

// nextTurn returns the feed with the lowest group, the first one of several, and lets it go on until another is due.
func nextTurn(turns []*turn) *turn {
	var t *turn
	for _, o := range turns {
		if o.more && (t == nil || o.at < t.at) {
			t = o
		}
	}
	if t == nil {
		return nil
	}
	t.until = keygroup.Count
	before := true
	for _, o := range turns {
		switch {
		case o == t:
			before = false
		case !o.more:
		case before:
			t.until = min(t.until, int(o.at)-1)
		default:
			t.until = min(t.until, int(o.at))
		}
	}
	return t
}
