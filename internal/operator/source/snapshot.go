package source

import (
	"encoding/binary"
	"maps"
	"slices"
	"strconv"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/planted"
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
	if planted.Is(planted.PositionBehind) {
		o.behind, splits = splits, o.behind
	}
	for _, s := range splits {
		cut.Positions = append(cut.Positions, snapshot.Position{Split: s.ID, Subtask: o.ctx.Subtask, Data: s.State})
	}
	if o.watermarks() {
		cut.Blob(marksBlob, o.ctx.Subtask, o.saveMarks())
	}
	return nil
}

// marksBlob says how far the splits of a reader, or the rows of an assigner, have come in event time. Without it a split would
// begin with its next row, and rows would be late, or not, that were not before.
const marksBlob = "watermarks"

// savedMark is what is known of a split's event time.
type savedMark struct {
	watermark int64
	idle      bool
}

func appendMark(dst []byte, name string, m savedMark) []byte {
	dst = append(binary.AppendUvarint(dst, uint64(len(name))), name...)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(m.watermark))
	if m.idle {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// readMarks adds what appendMark wrote to into.
func readMarks(b []byte, into map[string]savedMark) error {
	for len(b) > 0 {
		n, used := binary.Uvarint(b)
		if used <= 0 || n > uint64(len(b)) || len(b)-used-int(n) < 9 {
			return errs.New(errs.CodeCorrupt, errs.ClassFailJob, "", "the watermarks of the splits in the checkpoint are damaged")
		}
		name, rest := string(b[used:used+int(n)]), b[used+int(n):]
		into[name] = savedMark{int64(binary.LittleEndian.Uint64(rest)), rest[8] != 0}
		b = rest[9:]
	}
	return nil
}

func (o *reader[T]) saveMarks() (b []byte) {
	for _, name := range slices.Sorted(maps.Keys(o.ids)) {
		w, idle := o.marks.Save(o.ids[name])
		b = appendMark(b, name, savedMark{w, idle})
	}
	return b
}

// restoreMarks reads how far the splits of all readers had come. Any of them may be given to this one.
func (o *reader[T]) restoreMarks() error {
	if o.ctx.Restored == nil || planted.Is(planted.WatermarkForgotten) {
		return nil
	}
	o.saved = map[string]savedMark{}
	for _, b := range o.ctx.Restored.Union(marksBlob) {
		if err := readMarks(b, o.saved); err != nil {
			return errs.Wrap(err, "", 0, o.ctx.Place(), "restore")
		}
	}
	return nil
}

// Snapshot implements operator.Snapshotter: how far the subtask has come.
func (o *assigner[T]) Snapshot(cut *operator.Cut) error {
	if o.opt.NoWatermarks {
		return nil
	}
	w, idle := o.marks.Save(o.split)
	cut.Blob(marksBlob, o.ctx.Subtask, appendMark(nil, strconv.Itoa(o.ctx.Subtask), savedMark{w, idle}))
	return nil
}

// restoreMark goes on from where the subtask was, or at another parallelism from the least of all.
func (o *assigner[T]) restoreMark() error {
	r := o.ctx.Restored
	all := map[string]savedMark{}
	for _, b := range r.Union(marksBlob) {
		if err := readMarks(b, all); err != nil {
			return errs.Wrap(err, "", 0, o.ctx.Place(), "restore")
		}
	}
	if r == nil || len(all) < r.Parallelism {
		return nil
	}
	least := savedMark{event.MaxTime, true}
	for _, m := range all {
		least.watermark, least.idle = min(least.watermark, m.watermark), least.idle && m.idle
	}
	if r.Parallelism == o.ctx.Parallelism {
		least = all[strconv.Itoa(o.ctx.Subtask)]
	}
	o.marks.Restore(o.split, least.watermark, least.idle)
	return nil
}
