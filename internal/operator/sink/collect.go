package sink

import (
	"github.com/weir-stream/weir/internal/bin"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/xsync"
)

const (
	// collectedBlob is the batches of one subtask and epoch that is not known to be complete: the job's id or nothing, epoch,
	// subtask, and each batch behind its length. They stay together at a restore, so that one subtask sends them, in their
	// order. In a savepoint there is the id, and another job does not send them: they were for the program that ran then.
	collectedBlob = "collected"
	// collectedBytesMax bounds the rows that wait for their checkpoint, encoded. Beyond it they leave before it is complete.
	collectedBytesMax = 64 << 20
	// groupsMax is how many epochs and subtasks a Collected remembers before it forgets old ones, groupsAge how many epochs
	// back it remembers at least.
	groupsMax, groupsAge = 4096, 1024
)

// NewCollect returns the operator that sends whole batches to the process that started the job, encoded by
// basic.RecordsCodec, for a Collected there. In a job with checkpoints they leave when their checkpoint is complete, and
// again after a restore, as far as the checkpoint does not know of it.
func NewCollect[T any]() operator.Operator { return &collect[T]{} }

type collect[T any] struct {
	ctx   *operator.Context
	codec event.Codec
	open  [][]byte // since the last cut
	held  []heldRows
	bytes int  // in open and held
	early bool // rows have left before their checkpoint
}

// heldRows are the batches of a group that are cut, and not known to be complete.
type heldRows struct {
	group
	batches [][]byte
}

func (h *heldRows) encode(job string) []byte {
	b := bin.AppendString(nil, job)
	b = bin.AppendUvarint(b, h.epoch)
	b = bin.AppendUvarint(b, uint64(h.subtask))
	for _, rows := range h.batches {
		b = bin.AppendBytes(b, rows)
	}
	return b
}

func decodeHeld(b []byte) (job string, h heldRows, err error) {
	var id []byte
	var subtask uint64
	if id, b, err = bin.Bytes(b); err == nil {
		h.epoch, b, err = bin.Uvarint(b)
	}
	if err == nil {
		subtask, b, err = bin.Uvarint(b)
		h.subtask = int(subtask)
	}
	for len(b) > 0 && err == nil {
		var rows []byte
		rows, b, err = bin.Bytes(b)
		h.batches = append(h.batches, rows)
	}
	return string(id), h, errs.Wrap(err, errs.CodeCorrupt, errs.ClassFailJob, "collect", "rows for the program in the checkpoint are damaged")
}

// collected is a batch of rows with its identity: it is handed to the program once.
type collected struct {
	// group has epoch 0 for rows that leave at once, which have no identity.
	group
	// seq is the batch's place in the group.
	seq  int
	rows []byte
}

func (c *collected) encode() []byte {
	b := make([]byte, 0, len(c.rows)+24)
	b = bin.AppendUvarint(b, c.epoch)
	b = bin.AppendUvarint(b, uint64(c.subtask))
	b = bin.AppendUvarint(b, uint64(c.seq))
	return append(b, c.rows...)
}

func decodeCollected(b []byte) (c collected, err error) {
	var v [3]uint64
	for i := range v {
		if v[i], b, err = bin.Uvarint(b); err != nil {
			return c, errs.Wrap(err, errs.CodeCorrupt, errs.ClassFailJob, "collect", "a batch of rows for the program is damaged")
		}
	}
	return collected{group{v[0], int(v[1])}, int(v[2]), b}, nil
}

func (o *collect[T]) Open(ctx *operator.Context, _ operator.Collector) (err error) {
	o.ctx = ctx
	if o.codec, err = basic.RecordsCodec[T](); err != nil || ctx.Restored == nil {
		return err
	}
	for _, b := range ctx.Restored.Even(collectedBlob, ctx.Subtask, ctx.Parallelism) {
		job, h, err := decodeHeld(b)
		if err != nil {
			return err
		}
		if job != "" && job != ctx.JobID.String() {
			continue
		}
		o.held = append(o.held, h)
		for _, rows := range h.batches {
			o.bytes += len(rows)
		}
	}
	return nil
}

// AfterRestore implements operator.Restorer.
func (o *collect[T]) AfterRestore() error {
	o.ctx.Timers.At(o.ctx.Now(), func(int64) error { return o.release(o.ctx.Restored.Epoch) })
	return nil
}

func (o *collect[T]) Process(_ int, b event.Batch) error {
	defer b.Release()
	buf, err := o.codec.Encode(nil, b) // a new buffer each time: it is kept, or handed over
	if err != nil {
		return err
	}
	if !o.ctx.Checkpoints {
		return o.send(collected{rows: buf})
	}
	if o.open = append(o.open, buf); o.bytes+len(buf) > collectedBytesMax {
		return o.overflow(len(buf))
	}
	o.bytes += len(buf)
	return nil
}

// overflow sends the rows that wait, in their order, so that memory stays bounded.
func (o *collect[T]) overflow(more int) error {
	if !o.early {
		o.early = true
		o.ctx.Log.Warn("more rows wait for their checkpoint than may be held: they go to the program before it is complete, and after a failure once more; take checkpoints more often",
			"operator", o.ctx.Operator, "bytes", o.bytes+more)
	}
	return o.releaseAll()
}

// releaseAll sends all rows that are held, in their order, whatever becomes of the epochs.
func (o *collect[T]) releaseAll() error {
	if err := o.release(everything); err != nil {
		return err
	}
	for _, rows := range o.open {
		if err := o.send(collected{rows: rows}); err != nil {
			return err
		}
	}
	o.open, o.bytes = nil, 0
	return nil
}

// Snapshot implements operator.Snapshotter.
func (o *collect[T]) Snapshot(cut *operator.Cut) error {
	if len(o.open) > 0 {
		o.held = append(o.held, heldRows{group{cut.Barrier.Epoch, o.ctx.Subtask}, o.open})
		o.open = nil
	}
	job := ""
	if p := cut.Barrier.Purpose; p == event.PurposeSavepoint || p == event.PurposeStop {
		job = o.ctx.JobID.String()
	}
	for i := range o.held {
		cut.Blob(collectedBlob, o.ctx.Subtask, o.held[i].encode(job))
	}
	return nil
}

// CheckpointComplete implements operator.CompletionListener.
func (o *collect[T]) CheckpointComplete(epoch uint64) error { return o.release(epoch) }

// CheckpointAborted implements operator.CompletionListener. The rows leave with the next epoch that completes.
func (o *collect[T]) CheckpointAborted(uint64) error { return nil }

// Finish implements operator.Finisher.
func (o *collect[T]) Finish() error {
	if o.ctx.FinalCheckpoint {
		return nil
	}
	return o.releaseAll()
}

// release sends what is held of epochs up to upTo. Restored groups of several subtasks are not in the order of epochs.
func (o *collect[T]) release(upTo uint64) error {
	kept := o.held[:0]
	for _, h := range o.held {
		if h.epoch > upTo {
			kept = append(kept, h)
			continue
		}
		for i, rows := range h.batches {
			o.bytes -= len(rows)
			if err := o.send(collected{h.group, i, rows}); err != nil {
				return err
			}
		}
	}
	clear(o.held[len(kept):])
	o.held = kept
	return nil
}

func (o *collect[T]) send(c collected) error { return o.ctx.Side(c.encode()) }

func (o *collect[T]) Watermark(int64) error { return nil }
func (o *collect[T]) Close() error          { return nil }

// Collected takes the payloads of NewCollect in the process that started the job, and hands each batch to the program once,
// for as long as that process lives. Its methods may be called from any goroutine.
type Collected struct {
	mu struct {
		xsync.Mutex
		next   map[group]int // the batch of each group that comes next
		newest uint64
	}
}

// group is the batches of one subtask and epoch. Whoever sends them begins with the first one.
type group struct {
	epoch   uint64
	subtask int
}

// Take decodes a payload, nil if the program has the rows already.
func (c *Collected) Take(payload []byte) (rows []byte, err error) {
	b, err := decodeCollected(payload)
	if err != nil || b.epoch == 0 {
		return b.rows, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.next == nil {
		c.mu.next = map[group]int{}
	}
	if b.seq < c.mu.next[b.group] {
		return nil, nil
	}
	c.mu.next[b.group] = b.seq + 1
	if c.mu.newest = max(c.mu.newest, b.epoch); len(c.mu.next) > groupsMax {
		for g := range c.mu.next {
			if g.epoch+groupsAge < c.mu.newest {
				delete(c.mu.next, g)
			}
		}
	}
	return b.rows, nil
}
