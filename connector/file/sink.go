package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/format"
	"github.com/weir-stream/weir/format/csv"
	"github.com/weir-stream/weir/format/json"
)

// JSONSink writes rows as JSON lines. Names that end in .gz or .zst are compressed.
//
// If the last element of path has an extension, path is one file, and the sink runs with parallelism 1. The file gets its
// name when the input has ended and everything is durable.
//
// Otherwise path is a folder. In a job with checkpoints, or with one of the Roll and Bucket options, it fills with parts
// such as part-0-5b1c02d9e4-7.jsonl, which get their names when the checkpoint that covers them is complete: each row is in
// them exactly once, through failures and restores at any parallelism. In a job without checkpoints and without such an
// option each subtask writes one file such as part-0-of-3.jsonl.
//
// Files without their final name begin with a '.'; readers have to leave them alone, as the sources here do.
func JSONSink[T any](path string, opts ...SinkOption) connector.Sink[T] {
	return To(json.New[T](json.Options{}), path, opts...)
}

// CSVSink writes rows as CSV with a header, as JSONSink does otherwise.
func CSVSink[T any](path string, opts ...SinkOption) connector.Sink[T] {
	return To(csv.New[T](newSinkOptions("", opts).dialect), path, opts...)
}

// To writes rows in any format.
func To[T any](f format.Format[T], path string, opts ...SinkOption) connector.Sink[T] {
	return &sink[T]{format: f, path: path, opts: newSinkOptions(f.Extension(), opts)}
}

type sink[T any] struct {
	format format.Format[T]
	path   string
	opts   sinkOptions
}

// Name implements connector.Sink.
func (s *sink[T]) Name() string { return s.format.Name() + " " + s.path }

// Check implements connector.Checker.
func (s *sink[T]) Check() error {
	if s.path == "" {
		return errors.New("file: the path is empty")
	}
	if _, err := bucketsOf[T](s.opts); err != nil {
		return err
	}
	if s.single() && s.opts.rolling() {
		return fmt.Errorf("file: %s is one file, and the options ask for rolling or buckets: name a folder (end the path with /)", s.path)
	}
	_, err := s.format.Encoder()
	return err
}

func (s *sink[T]) single() bool { return !strings.HasSuffix(s.path, "/") && path.Ext(s.path) != "" }

// MaxParallelism implements connector.MaxParallelism.
func (s *sink[T]) MaxParallelism() int {
	if s.single() {
		return 1
	}
	return 0
}

// Writer implements connector.Sink.
func (s *sink[T]) Writer(ctx connector.WriterContext) (connector.Writer[T], error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	enc, err := s.format.Encoder()
	if err != nil {
		return nil, err
	}
	if s.single() && ctx.Parallelism != 1 {
		return nil, fmt.Errorf("file: %s is one file and the sink has parallelism %d: set Parallelism(1), or name a folder", s.path, ctx.Parallelism)
	}
	if s.twoPhase(ctx) {
		return newParts(s, ctx, enc)
	}
	w := &writer[T]{ctx: ctx, enc: enc, name: path.Clean(s.path)}
	if !s.single() {
		if err := s.otherParts(ctx); err != nil {
			return nil, err
		}
		w.name = path.Join(s.path, fmt.Sprintf("part-%d-of-%d%s", ctx.Subtask, ctx.Parallelism, s.opts.extension))
	}
	if err := w.open(); err != nil {
		return nil, fmt.Errorf("file: %s: %w", w.name, err)
	}
	return w, nil
}

// twoPhase reports whether files are made visible by commits. The rest is one file a subtask, from the first row to the last.
func (s *sink[T]) twoPhase(ctx connector.WriterContext) bool {
	left := ctx.Restored != nil && len(ctx.Restored.AllState)+len(ctx.Restored.AllCommittables) > 0
	return ctx.Checkpoints || s.opts.rolling() || left
}

// Committer implements connector.TwoPhase.
func (s *sink[T]) Committer(ctx connector.WriterContext) (connector.Committer, error) {
	if !s.twoPhase(ctx) {
		return nil, nil
	}
	return newCommitter(ctx, s.path, s.single()), nil
}

var partName = regexp.MustCompile(`^part-\d+-of-(\d+)(\..*)?$`)

// otherParts looks for parts of runs with another parallelism: with them the folder would hold some rows twice.
func (s *sink[T]) otherParts(ctx connector.WriterContext) error {
	if ctx.Subtask != 0 {
		return nil
	}
	infos, err := ctx.FS.List(path.Clean(s.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("file: list %s: %w", s.path, err)
	}
	for _, i := range infos {
		name := path.Base(i.Path)
		m := partName.FindStringSubmatch(name)
		if m == nil || m[1] == fmt.Sprint(ctx.Parallelism) && m[2] == s.opts.extension {
			continue
		}
		if !s.opts.replace {
			return fmt.Errorf("file: the folder %s holds %s of an earlier run, which would be mixed with the new rows: remove it, name another folder, or use the option Replace", s.path, name)
		}
		if err := ctx.FS.Remove(path.Join(s.path, name)); err != nil {
			return fmt.Errorf("file: replace: %w", err)
		}
	}
	return nil
}

// writer writes one file, outside of checkpoints.
type writer[T any] struct {
	ctx  connector.WriterContext
	enc  format.Encoder[T]
	name string
	temp string
	file connector.WriteFile
	zip  io.WriteCloser // nil for plain files
	buf  []byte         // encoded and not written
}

func (w *writer[T]) open() (err error) {
	w.temp = path.Join(path.Dir(w.name), "."+path.Base(w.name)+".inprogress")
	if w.file, err = w.ctx.FS.Create(w.temp); err != nil {
		return misplaced(err)
	}
	switch compressionOf(w.name) {
	case gzipped:
		w.zip = gzip.NewWriter(w.file)
	case zstandard:
		if w.zip, err = zstd.NewWriter(w.file, zstd.WithEncoderConcurrency(1)); err != nil {
			return errors.Join(err, w.Close())
		}
	}
	w.buf = w.enc.AppendHead(w.buf)
	return nil
}

// Write implements connector.Writer.
func (w *writer[T]) Write(rows []T, _ []int64) (err error) {
	if w.buf, err = w.enc.Append(w.buf, rows); err != nil {
		return fmt.Errorf("file: %s: %w", w.name, err)
	}
	if len(w.buf) < bufferBytes {
		return nil
	}
	return w.empty()
}

func (w *writer[T]) empty() error {
	var to io.Writer = w.file
	if w.zip != nil {
		to = w.zip
	}
	if _, err := to.Write(w.buf); err != nil {
		return fmt.Errorf("file: write %s: %w", w.temp, err)
	}
	w.buf = w.buf[:0]
	return nil
}

// Flush implements connector.Writer. The rows reach the file under its temporary name; they become durable in Finish.
func (w *writer[T]) Flush() error { return w.empty() }

// Finish implements connector.Finisher.
func (w *writer[T]) Finish() error {
	err := w.empty()
	if w.zip != nil && err == nil {
		err = w.zip.Close()
		w.zip = nil
	}
	if err == nil {
		err = w.file.Sync()
	}
	if err == nil {
		f := w.file
		w.file = nil
		err = f.Close()
	}
	if err == nil {
		err = w.ctx.FS.Rename(w.temp, w.name)
	}
	if err != nil {
		return fmt.Errorf("file: finish %s: %w", w.name, err)
	}
	w.temp = ""
	return nil
}

// Close implements connector.Writer. A file that was not finished is removed.
func (w *writer[T]) Close() error {
	var errs []error
	if w.zip != nil {
		// Its output goes nowhere that counts; what matters is that it lets go of its memory.
		errs = append(errs, w.zip.Close())
		w.zip = nil
	}
	if w.file != nil {
		errs = append(errs, w.file.Close())
		w.file = nil
	}
	if w.temp != "" {
		errs = append(errs, w.ctx.FS.Remove(w.temp))
		w.temp = ""
	}
	return errors.Join(errs...)
}
