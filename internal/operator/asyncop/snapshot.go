package asyncop

import (
	"encoding/binary"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
)

// What is saved are the rows whose results have not been emitted, in their order, and the watermarks between them. After a
// restore they come before any other row, and are called again. The bytes of a subtask:
//
//	| schema | row: 0, time i64, size uvarint, row | watermark: 1, time i64 | ...
const rowsBlob = "rows"

const (
	itemRow       = 0
	itemWatermark = 1
)

// Snapshot implements operator.Snapshotter.
func (o *asyncs[T, U]) Snapshot(cut *operator.Cut) error {
	if !o.UnderWay() {
		return nil
	}
	c, err := codec.For[T]()
	if err != nil {
		return errs.Wrap(err, "", 0, o.ctx.Place(), "rows that wait for an asynchronous call are part of a checkpoint, and these cannot be encoded")
	}
	b := c.Schema().Append(nil)
	var enc []byte
	row := func(v *T, t int64) {
		enc = c.Append(enc[:0], v)
		b = binary.LittleEndian.AppendUint64(append(b, itemRow), uint64(t))
		b = append(binary.AppendUvarint(b, uint64(len(enc))), enc...)
	}
	mark := func(m mark) {
		if m.kind == markWatermark {
			b = binary.LittleEndian.AppendUint64(append(b, itemWatermark), uint64(m.time))
		}
	}
	for _, s := range o.queue.segs {
		for r := s.first; r != nil; r = r.next {
			row(&r.value, r.time)
		}
		mark(s.mark)
	}
	for i := range o.backlog {
		w := &o.backlog[i]
		if w.batch == nil {
			mark(w.mark)
			continue
		}
		for j := w.next; j < len(w.batch.Rows); j++ {
			row(&w.batch.Rows[j], w.batch.Times[j])
		}
	}
	cut.Blob(rowsBlob, o.ctx.Subtask, b)
	return nil
}

// item is a row or a watermark of an earlier run.
type item[T any] struct {
	row  T
	time int64
	mark bool
}

// restore puts what an earlier run had under way in front of everything. With the same parallelism each subtask takes its own;
// with another one the rows are dealt out evenly, and the watermark behind them is the one that all subtasks had reached.
func (o *asyncs[T, U]) restore() error {
	r := o.ctx.Restored
	if r == nil {
		return nil
	}
	same := r.Parallelism == o.ctx.Parallelism
	var items []item[T]
	for _, b := range r.Blobs {
		if b.Name != rowsBlob || same && b.Subtask != o.ctx.Subtask {
			continue
		}
		var err error
		if items, err = readItems(items, b.Data); err != nil {
			return errs.Wrap(err, errs.CodeCorrupt, errs.ClassFailJob, o.ctx.Place(), "the rows that had been under way cannot be restored")
		}
	}
	if !same {
		n := 0
		for _, it := range items {
			if !it.mark {
				items[n] = it
				n++
			}
		}
		items = items[n*o.ctx.Subtask/o.ctx.Parallelism : n*(o.ctx.Subtask+1)/o.ctx.Parallelism : n]
		if r.Watermark != event.NoTime {
			items = append(items[:len(items):len(items)], item[T]{time: r.Watermark, mark: true})
		}
	}
	o.line(items)
	return nil
}

// line puts items into the backlog.
func (o *asyncs[T, U]) line(items []item[T]) {
	pool := event.NewPool[T](o.ctx.BatchRows)
	var in *event.Records[T]
	for i := range items {
		it := &items[i]
		if it.mark {
			o.backlog = append(o.backlog, waiting[T]{mark: mark{kind: markWatermark, time: it.time}})
			in = nil
			continue
		}
		if in == nil || in.Room() == 0 {
			in = pool.Get()
			o.backlog = append(o.backlog, waiting[T]{batch: in})
		}
		in.Append(it.row, it.time)
	}
}

// AfterRestore implements operator.Restorer. Calls start when the task runs.
func (o *asyncs[T, U]) AfterRestore() error {
	if len(o.backlog) > 0 {
		o.ctx.Mailbox.Post(o.fill)
	}
	return nil
}

func readItems[T any](to []item[T], b []byte) ([]item[T], error) {
	damaged := errs.New(errs.CodeCorrupt, errs.ClassFailJob, "", "the bytes are damaged")
	old, b, err := codec.ParseSchema(b)
	if err != nil {
		return nil, err
	}
	c, err := codec.ForSchema[T](old)
	if err != nil {
		return nil, err
	}
	for len(b) > 0 {
		if len(b) < 9 {
			return nil, damaged
		}
		it := item[T]{time: int64(binary.LittleEndian.Uint64(b[1:])), mark: b[0] == itemWatermark}
		kind := b[0]
		b = b[9:]
		if kind == itemRow {
			n, used := binary.Uvarint(b)
			if used <= 0 || n > uint64(len(b)-used) {
				return nil, damaged
			}
			if _, err := c.DecodeCopy(b[used:used+int(n)], &it.row); err != nil {
				return nil, err
			}
			b = b[used+int(n):]
		} else if kind != itemWatermark {
			return nil, damaged
		}
		to = append(to, it)
	}
	return to, nil
}
