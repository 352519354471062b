package source

import (
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/snapshot"
)

// Snapshot implements operator.Snapshotter: the splits that the reader owns, at their positions. Those that nobody has been
// given are the enumerator's to remember.
func (o *reader[T]) Snapshot(cut *operator.Cut) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = operator.RowError(o.ctx, p, nil, nil, 0)
		}
	}()
	splits, err := o.r.Snapshot()
	if err != nil {
		return o.failed("snapshot", err)
	}
	for _, s := range splits {
		cut.Positions = append(cut.Positions, snapshot.Position{Split: s.ID, Subtask: o.ctx.Subtask, Data: s.State})
	}
	return nil
}
