package timer

import (
	"encoding/binary"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/transfer"
)

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
