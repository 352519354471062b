package timer

import (
	"encoding/binary"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/transfer"
)

// Source lets the timers be saved as the state st, whose Kind is one of timers.
func (s *Timers) Source(st snapshot.State) transfer.Source {
	return transfer.Source{State: st, All: func(f transfer.Visit) {
		var at [8]byte
		s.All(func(key statebackend.Key, ns []byte, t int64) bool {
			binary.BigEndian.PutUint64(at[:], uint64(t)^1<<63)
			return f(key, ns, at[:], nil)
		})
	}}
}

// Sink returns what registers saved timers. One that is overdue fires at the next Advance. The key groups must be those that
// the set is for.
func (s *Timers) Sink() transfer.Sink {
	return func(e *snapshot.Entry) error {
		if len(e.UserKey) != 8 || len(e.Value) != 0 {
			return errs.New(errs.CodeCorrupt, errs.ClassFailJob, "snapshot", "an entry that should be a timer has a time of %d bytes", len(e.UserKey))
		}
		t := int64(binary.BigEndian.Uint64(e.UserKey) ^ 1<<63)
		s.Register(statebackend.Key{Hash: e.Hash, Bytes: e.Key}, e.Namespace, t)
		return nil
	}
}
