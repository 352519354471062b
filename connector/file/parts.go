package file

import (
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"maps"
	"path"
	"slices"
	"syscall"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/format"
)

// parts is the writer of a two-phase sink: a folder of rolling parts, or one file. A part is in progress while rows are
// added, then ended (durable, closed), then, from a Prepare on, pending under another name, and finished by a commit. A
// checkpoint lists the parts in progress with their length: after a restore a new attempt copies that much into a file of
// its own and goes on there, since the old attempt may still be writing to the old one without knowing that it is over.
type parts[T any] struct {
	ctx     connector.WriterContext
	log     *slog.Logger
	opts    sinkOptions
	owner   owner
	enc     format.Encoder[T]
	buckets *buckets[T]
	pack    *packer
	// kind says what bytes the parts hold: only such can be gone on with.
	kind string
	// single is the path of the only file, or "". Folders are below root.
	single, root string

	open    map[string]*part // by bucket
	last    *part            // of open: the one written to last
	ended   []*part
	created int
	// finished says that the single file was complete in an earlier run.
	finished bool

	dirs  map[string]bool // folders with names that are not durable
	known map[string]bool // folders whose own names are durable
	done  *committer      // publishes what needs no checkpoint
}

func newParts[T any](s *sink[T], ctx connector.WriterContext, enc format.Encoder[T]) (connector.Writer[T], error) {
	w := &parts[T]{ctx: ctx, log: logOf(ctx), opts: s.opts, owner: ownerOf(ctx), enc: enc, root: path.Clean(s.path),
		open: map[string]*part{}, dirs: map[string]bool{}, known: map[string]bool{}, done: newCommitter(ctx, s.path, s.single())}
	extension := s.opts.extension
	if s.single() {
		w.single, w.root, extension = w.root, path.Dir(w.root), path.Base(w.root)
	}
	w.kind = fmt.Sprintf("%s %s %08x", s.format.Name(), extension, crc32.Checksum(enc.AppendHead(nil), castagnoli))
	var err error
	if w.buckets, err = bucketsOf[T](s.opts); err != nil {
		return nil, err
	}
	if w.pack, err = newPacker(extension); err != nil {
		return nil, err
	}
	if err = w.resume(); err == nil && w.single != "" && ctx.Restored == nil {
		// Without a row there is a file too.
		_, err = w.partOf("", ctx.Now().UnixMilli())
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func logOf(ctx connector.WriterContext) *slog.Logger {
	if ctx.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return ctx.Log
}

// Write implements connector.Writer.
func (w *parts[T]) Write(rows []T, times []int64) error {
	now := w.ctx.Now().UnixMilli()
	for len(rows) > 0 {
		bucket, n, err := w.run(rows, times, now)
		if err != nil {
			return err
		}
		p, err := w.partOf(bucket, now)
		if err != nil {
			return err
		}
		if p.buf, err = w.enc.Append(p.buf, rows[:n]); err != nil {
			return fmt.Errorf("file: %s: %w", p.Final, err)
		}
		p.next += int64(n)
		p.Last = now
		rows, times = rows[n:], times[n:]
		if len(p.buf) >= w.pack.full() {
			if err := p.spill(w.pack); err != nil {
				return err
			}
		}
		if w.single == "" && p.Size+int64(len(p.buf)) >= w.opts.size {
			if err := w.roll(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// run returns the bucket of the first row and how many rows from it on have the same.
func (w *parts[T]) run(rows []T, times []int64, now int64) (bucket string, n int, err error) {
	if bucket, err = w.buckets.of(rows[0], times[0], now); err != nil {
		return "", 0, fmt.Errorf("%w (at row %.400s)", err, fmt.Sprintf("%+v", rows[0]))
	}
	if w.buckets.by == nil && !w.buckets.eventTime {
		return bucket, len(rows), nil
	}
	for n = 1; n < len(rows); n++ {
		b, err := w.buckets.of(rows[n], times[n], now)
		if err != nil || b != bucket {
			break // an error comes again when the row is the first
		}
	}
	return bucket, n, nil
}

// partOf returns the part in progress of a bucket.
func (w *parts[T]) partOf(bucket string, now int64) (*part, error) {
	if p := w.last; p != nil && p.Bucket == bucket {
		return p, nil
	}
	p := w.open[bucket]
	if p == nil {
		if len(w.open) >= openMax {
			if err := w.roll(w.oldest()); err != nil {
				return nil, err
			}
		}
		final := w.single
		if final == "" {
			final = path.Join(w.root, bucket, fmt.Sprintf("%s-%d-%s-%d%s", w.opts.prefix, w.ctx.Subtask, w.owner.attempt, w.created, w.opts.extension))
		}
		p = &part{partState: partState{Stem: w.owner.stem(final), Final: final, Replace: w.single != "", Bucket: bucket, Kind: w.kind, Begun: now, Last: now}}
		if err := w.create(p); err != nil {
			return nil, err
		}
		p.buf = w.enc.AppendHead(p.buf)
		w.created++
		w.open[bucket] = p
	}
	w.last = p
	return p, nil
}

// misplaced says of an error of making a file whether it would be there the next time, too.
func misplaced(err error) error {
	err = fmt.Errorf("file: %w", err)
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENAMETOOLONG) {
		return connector.Permanent(fmt.Errorf("%w: name another path, or move away what is there", err))
	}
	return err
}

func (w *parts[T]) create(p *part) (err error) {
	if p.file, err = w.ctx.FS.Create(p.Stem + inProgress); err != nil {
		return misplaced(err)
	}
	w.dirs[path.Dir(p.Final)] = true
	return nil
}

// oldest returns the part that was not written to for the longest time.
func (w *parts[T]) oldest() *part {
	var oldest *part
	for _, p := range w.open {
		if oldest == nil || p.Last < oldest.Last || p.Last == oldest.Last && p.Final < oldest.Final {
			oldest = p
		}
	}
	return oldest
}

// roll ends a part. In a job without checkpoints it is published at once.
func (w *parts[T]) roll(p *part) error {
	if err := w.end(p); err != nil || w.ctx.Checkpoints {
		return err
	}
	w.ended = w.ended[:len(w.ended)-1]
	return w.done.publish(p.partState)
}

func (w *parts[T]) end(p *part) error {
	if err := p.end(w.pack); err != nil {
		return err
	}
	delete(w.open, p.Bucket)
	if w.last == p {
		w.last = nil
	}
	w.ended = append(w.ended, p)
	return nil
}

// aged reports whether a part is to end by the time.
func (w *parts[T]) aged(p *part, now int64) bool {
	return w.single == "" && (w.opts.interval > 0 && now-p.Begun >= w.opts.interval.Milliseconds() ||
		w.opts.inactive > 0 && now-p.Last >= w.opts.inactive.Milliseconds())
}

// inOrder returns the parts in progress in an order that does not change.
func (w *parts[T]) inOrder() (out []*part) {
	for _, b := range slices.Sorted(maps.Keys(w.open)) {
		out = append(out, w.open[b])
	}
	return out
}

// TickEvery implements connector.Ticker.
func (w *parts[T]) TickEvery() time.Duration {
	every := time.Duration(0)
	for _, d := range []time.Duration{w.opts.interval, w.opts.inactive} {
		if d > 0 && (every == 0 || d < every) {
			every = d
		}
	}
	if w.single != "" || every == 0 {
		return 0
	}
	return max(every/4, 10*time.Millisecond)
}

// Tick implements connector.Ticker.
func (w *parts[T]) Tick() error {
	now := w.ctx.Now().UnixMilli()
	for _, p := range w.inOrder() {
		if w.aged(p, now) {
			if err := w.roll(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// Flush implements connector.Writer. Nobody reads a part before it is committed, so that rows wait for a full buffer.
func (w *parts[T]) Flush() error { return nil }

// Prepare implements connector.Preparer.
func (w *parts[T]) Prepare(at connector.Barrier) (out connector.Prepared, err error) {
	now := w.ctx.Now().UnixMilli()
	all := at.Final || w.single == "" && (at.Savepoint || w.opts.eachCheckpoint)
	for _, p := range w.inOrder() {
		if all || w.aged(p, now) {
			err = w.end(p)
		} else {
			err = p.sync(w.pack)
		}
		if err != nil {
			return out, err
		}
	}
	ending := pending
	if at.Savepoint {
		ending = savepoint
	}
	for len(w.ended) > 0 {
		p := w.ended[0]
		if err := w.ctx.FS.Rename(p.Stem+inProgress, p.Stem+ending); err != nil {
			return out, fmt.Errorf("file: prepare %s: %w", p.Final, err)
		}
		w.ended = w.ended[1:]
		w.dirs[path.Dir(p.Final)] = true
		out.Committables = append(out.Committables, connector.Committable{Data: p.encode(), Range: p.text()})
	}
	if err := w.syncDirs(); err != nil {
		return out, err
	}
	for _, p := range w.inOrder() {
		p.listed = true
		out.State = append(out.State, p.encode())
	}
	if w.finished = w.finished || at.Final && w.single != ""; w.finished {
		out.State = append(out.State, (&partState{Stem: w.owner.stem(w.single), Final: w.single, Complete: true}).encode())
	}
	return out, nil
}

// syncDirs makes the names of all files durable, and those of the folders above them.
func (w *parts[T]) syncDirs() error {
	for _, dir := range slices.Sorted(maps.Keys(w.dirs)) {
		if err := syncDir(w.ctx.FS, dir); err != nil {
			return err
		}
		for d := dir; !w.known[d] && d != "." && d != "/" && d != w.root; d = path.Dir(d) {
			w.known[d] = true
			if err := syncDir(w.ctx.FS, path.Dir(d)); err != nil {
				return err
			}
		}
		if !w.known[w.root] && w.root != "." && w.root != "/" {
			w.known[w.root] = true
			if err := syncDir(w.ctx.FS, path.Dir(w.root)); err != nil {
				return err
			}
		}
	}
	clear(w.dirs)
	if len(w.known) > 8*openMax {
		clear(w.known) // they are synced once more
	}
	return nil
}

// syncDir makes the names in a folder durable, where the file system has a call for that.
func syncDir(fsys connector.FileSystem, dir string) error {
	if s, ok := fsys.(connector.DirSyncer); ok {
		if err := s.SyncDir(dir); err != nil {
			return fmt.Errorf("file: sync the folder %s: %w", dir, err)
		}
	}
	return nil
}

// Close implements connector.Writer. Parts that no checkpoint can list are removed.
func (w *parts[T]) Close() error {
	var errs []error
	for _, p := range append(w.inOrder(), w.ended...) {
		errs = append(errs, p.drop(w.ctx.FS))
	}
	clear(w.open)
	w.last, w.ended = nil, nil
	w.pack.close()
	return errors.Join(errs...)
}
