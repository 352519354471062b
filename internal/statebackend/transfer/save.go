package transfer

import (
	"io"

	"github.com/weir-stream/weir/internal/background"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
)

// DefaultBudget is what is gathered in memory at a time of parts that have to be sorted.
const DefaultBudget = 64 << 20

// Options say how parts are written. The zero value is the way that can be tried again.
type Options struct {
	// Drain, which only one try can have, lets parts that can be drained give back what was visited as it goes.
	Drain bool
	// Budget replaces DefaultBudget.
	Budget int
	// Compression is what is tried on the blocks of objects.
	Compression snapshot.Compression
	// Next, if it is set, lets several objects be written: it takes the summary of one that has ObjectBytes, and returns where the
	// next one goes. An entry of another key begins it, or any one once an object has four times as much.
	Next        func(snapshot.Summary) (io.Writer, error)
	ObjectBytes int64
}

// SaveParts writes what the parts held to w as one data object, or several, all at once if they are ordered. It returns the summary
// of the last one. One that is not is visited
// once to add up the bytes of its groups, and once more for every run of groups that has at most its share of the budget (or
// is one group), to sort that in memory.
func SaveParts(w io.Writer, parts []statebackend.Part, groups keygroup.Range, opt Options) (snapshot.Summary, error) {
	if opt.Budget <= 0 {
		opt.Budget = DefaultBudget
	}
	feeds := make([]feed, len(parts))
	for i, p := range parts {
		each := func(f visitEntry) error {
			return statebackend.Each(p.Data, groups, visitOf(f))
		}
		d, drains := p.Data.(statebackend.Drainer)
		if opt.Drain && drains {
			each = func(f visitEntry) error {
				visit := visitOf(f)
				d.Drain(func(k statebackend.Key, ns, user, value []byte) bool {
					return !groups.ContainsHash(k.Hash) || visit(k, ns, user, value)
				})
				return statebackend.Failure(p.Data)
			}
		}
		if _, ordered := p.Data.(statebackend.Ordered); !ordered {
			each = sorted(each, groups, opt.Budget/len(parts))
		}
		feeds[i] = feed{state: p.State.ID, each: each}
	}
	return merge(newObjects(w, false, &opt), feeds)
}

// visitOf makes entries of units. The entry is the same for all. Between them it gives way to the stream.
func visitOf(f visitEntry) statebackend.Visit {
	var e snapshot.Entry
	var pace background.Pace
	return func(k statebackend.Key, ns, user, value []byte) bool {
		pace.Point()
		e = snapshot.Entry{Hash: k.Hash, Key: k.Bytes, Namespace: ns, UserKey: user, Value: value}
		return f(&e)
	}
}

// SaveChanges writes what has changed in the parts since the cuts that since has the marks of, by the names of the states, as a
// delta. Every part must be Changing and know that.
func SaveChanges(w io.Writer, parts []statebackend.Part, since map[string]uint64, groups keygroup.Range, opt Options) (snapshot.Summary, error) {
	feeds := make([]feed, len(parts))
	for i, p := range parts {
		each := func(f visitEntry) error {
			var e snapshot.Entry
			var pace background.Pace
			c, ok := p.Data.(statebackend.Changing)
			mark, known := since[p.State.Name]
			if !ok || !known || !c.Changes(mark, groups, func(k statebackend.Key, ns, user, value []byte, removed bool) bool {
				pace.Point()
				e = snapshot.Entry{Hash: k.Hash, Key: k.Bytes, Namespace: ns, UserKey: user, Value: value, Removed: removed}
				return f(&e)
			}) {
				return errs.New(errs.CodeBug, errs.ClassBug, "state "+p.State.Name, "what has changed since mark %d is not known", mark)
			}
			return statebackend.Failure(p.Data)
		}
		if _, ordered := p.Data.(statebackend.Ordered); !ordered {
			each = sorted(each, groups, DefaultBudget/len(parts))
		}
		feeds[i] = feed{state: p.State.ID, each: each}
	}
	return merge(newObjects(w, true, &opt), feeds)
}
