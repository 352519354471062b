package file

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/format"
)

const (
	// bufferBytes holds some batches of rows and stays within a core's cache.
	bufferBytes = 64 << 10
	// fillsPerPoll bounds how long a Poll lasts that finds no row.
	fillsPerPoll = 16
)

// input is one split that is being read, or waits for its first turn.
type input[T any] struct {
	id    string
	state splitState // Pos is kept up to date

	file  connector.File // nil before the first turn
	src   io.Reader      // the file's bytes, uncompressed, from behind what is in buf
	unzip func()         // frees the decompressor
	dec   format.Decoder[T]
	info  connector.FileInfo // when it was opened
	// buf[lo:hi] has been read and not decoded; buf[lo] is at state.Pos.
	buf    []byte
	lo, hi int
	// left is how many bytes of a plain file's range have not been read into buf.
	left int64
	// last is true when nothing follows buf[:hi].
	last bool
	// lines is the number of line ends before the offset at which reading began, or -1 if they have not been counted.
	lines    int64
	begin    int64
	closeErr error
}

// read fills b with rows and reports whether the split has been read to its end.
func (in *input[T]) read(r *reader[T], b *connector.Batch[T]) (finished bool, err error) {
	if in.file == nil {
		if err := in.open(r); err != nil {
			return false, in.failed(err)
		}
	}
	for fills := 0; !b.Full(); fills++ {
		rows, n, err := in.dec.Decode(b.Rows, in.buf[in.lo:in.hi], in.last)
		b.Rows = rows
		in.lo += n
		in.state.Pos += int64(n)
		if err != nil {
			return false, err
		}
		if b.Full() || fills >= fillsPerPoll {
			return false, nil
		}
		if in.last {
			if in.lo < in.hi {
				return false, in.failed(fmt.Errorf("at byte %d: the decoder has left %d bytes at the end", in.state.Pos, in.hi-in.lo))
			}
			return true, in.unchanged(r)
		}
		if err := in.fill(); err != nil {
			return false, in.failed(err)
		}
	}
	return false, nil
}

func (in *input[T]) failed(err error) error { return fmt.Errorf("file: %s: %w", in.state.Path, err) }

// unchanged compares the file with what it was when it was opened.
func (in *input[T]) unchanged(r *reader[T]) error {
	now, err := r.ctx.FS.Stat(in.state.Path)
	if err != nil {
		return nil // it was removed after it had been opened: everything was read nevertheless
	}
	if now.Size != in.info.Size || !now.ModTime.Equal(in.info.ModTime) {
		return in.failed(fmt.Errorf("the file was changed while it was read (%d bytes of %v became %d bytes of %v): write elsewhere and rename into place",
			in.info.Size, in.info.ModTime, now.Size, now.ModTime))
	}
	return nil
}

// fill reads more bytes behind buf[:hi], and makes room for them.
func (in *input[T]) fill() error {
	if in.lo > 0 {
		in.hi = copy(in.buf, in.buf[in.lo:in.hi])
		in.lo = 0
	}
	if in.hi == len(in.buf) {
		// One record fills the buffer. The decoder's limit for records bounds the growth.
		in.buf = append(in.buf, make([]byte, len(in.buf))...)
	}
	room := in.buf[in.hi:]
	isPlain := in.unzip == nil
	if isPlain {
		room = room[:min(int64(len(room)), in.left)]
	}
	// A reader may return 0 bytes without an error, but not for ever.
	for tries := 0; len(room) > 0; tries++ {
		n, err := in.src.Read(room)
		in.hi += n
		in.left -= int64(n)
		if err != nil && err != io.EOF {
			return fmt.Errorf("behind byte %d: %w", max(0, in.state.Pos)+int64(in.hi-in.lo), err)
		}
		if err == io.EOF {
			in.last = true
			if isPlain && in.left > 0 {
				return fmt.Errorf("the file was truncated while it was read: %d bytes of %d are missing", in.left, in.state.Size)
			}
			return nil
		}
		if n > 0 {
			break
		}
		if tries > 100 {
			return io.ErrNoProgress
		}
	}
	in.last = isPlain && in.left == 0
	return nil
}

// open opens the file, reads its head, and goes to the position of the split.
func (in *input[T]) open(r *reader[T]) (err error) {
	s := &in.state
	if in.info, err = r.ctx.FS.Stat(s.Path); err != nil {
		return err
	}
	if in.info.Size != s.Size {
		return fmt.Errorf("the file had %d bytes when it was found and has %d now: write elsewhere and rename into place", s.Size, in.info.Size)
	}
	in.lines, in.last, in.lo, in.hi = -1, false, 0, 0
	in.dec, err = r.format.Decoder(format.DecoderContext{Where: s.Path, Text: r.text, Bad: func(b format.BadRecord) error { return in.bad(r, b) }})
	if err != nil {
		return err
	}
	if in.file, err = r.ctx.FS.Open(s.Path); err != nil {
		return err
	}
	in.buf = r.buffer()
	if compressionOf(s.Path) == plain {
		err = in.openPlain()
	} else {
		err = in.openCompressed()
	}
	if err != nil {
		in.close()
		return err
	}
	in.dec.SetPosition(in.begin, 1)
	return nil
}

func (in *input[T]) openPlain() error {
	s := &in.state
	in.src, in.left = in.file, s.Size
	head, err := in.head()
	if err != nil {
		return err
	}
	end, err := in.align(s.End)
	if err != nil {
		return err
	}
	in.begin = s.Pos
	if in.begin < 0 {
		if in.begin, err = in.align(s.Start); err != nil {
			return err
		}
	}
	in.begin = max(in.begin, head)
	s.Pos = in.begin
	in.lo, in.hi, in.last = 0, 0, false
	in.left = max(0, end-in.begin)
	_, err = in.file.Seek(in.begin, io.SeekStart)
	return err
}

// align returns the start of the first line that begins at offset or behind it.
func (in *input[T]) align(offset int64) (int64, error) {
	if offset == 0 || offset >= in.state.Size {
		return min(offset, in.state.Size), nil
	}
	buf := in.buf[:4<<10]
	for at := offset - 1; ; {
		n, err := in.file.ReadAt(buf[:min(int64(len(buf)), in.state.Size-at)], at)
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			return at + int64(i) + 1, nil
		}
		if at += int64(n); at >= in.state.Size {
			return in.state.Size, nil
		}
		if err == io.EOF {
			return 0, fmt.Errorf("the file was truncated while it was read: %d bytes are left of %d", at, in.state.Size)
		}
		if err != nil {
			return 0, err
		}
	}
}

// head reads the head from the start of src into buf and returns its length.
func (in *input[T]) head() (int64, error) {
	for {
		n, ok, err := in.dec.Head(in.buf[:in.hi], in.last)
		if err != nil {
			return 0, err
		}
		if ok {
			return int64(n), nil
		}
		if in.last {
			return 0, fmt.Errorf("the head of the file is not complete")
		}
		if err := in.fill(); err != nil {
			return 0, err
		}
	}
}

func (in *input[T]) openCompressed() error {
	s := &in.state
	switch compressionOf(s.Path) {
	case gzipped:
		z, err := gzip.NewReader(in.file)
		if err != nil {
			return err
		}
		in.src, in.unzip = z, func() { in.noteClose(z.Close()) }
	case zstandard:
		// One goroutine decodes: the engine has already spread the files over the cores.
		z, err := zstd.NewReader(in.file, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			return err
		}
		in.src, in.unzip = z, z.Close
	}
	head, err := in.head()
	if err != nil {
		return err
	}
	in.lo, in.lines = int(head), int64(bytes.Count(in.buf[:head], []byte{'\n'}))
	at := head
	for at < s.Pos {
		if in.lo == in.hi {
			if in.last {
				return fmt.Errorf("the file ends at byte %d of its content, before byte %d where reading is to go on: it is not the file that it was", at, s.Pos)
			}
			if err := in.fill(); err != nil {
				return err
			}
		}
		n := int(min(int64(in.hi-in.lo), s.Pos-at))
		in.lines += int64(bytes.Count(in.buf[in.lo:in.lo+n], []byte{'\n'}))
		in.lo += n
		at += int64(n)
	}
	in.begin, s.Pos = at, at
	return nil
}

// bad completes the line of a bad record and reports it. Lines before the place where reading began are counted when they
// are first needed.
func (in *input[T]) bad(r *reader[T], b format.BadRecord) error {
	if in.lines < 0 {
		n, err := in.countLines()
		if err != nil {
			return in.failed(err)
		}
		in.lines = n
	}
	if b.Line > 0 {
		b.Line += in.lines
	}
	bad := connector.BadRecord{Where: b.Where, Line: b.Line, Column: b.Column, Offset: b.Offset, Field: b.Field, Value: b.Value, Want: b.Want, Raw: b.Raw}
	if b.Err != nil {
		bad.Cause = b.Err.Error()
	}
	return r.ctx.Bad(bad)
}

func (in *input[T]) countLines() (lines int64, err error) {
	buf := make([]byte, bufferBytes)
	for at := int64(0); at < in.begin; {
		n, err := in.file.ReadAt(buf[:min(int64(len(buf)), in.begin-at)], at)
		lines += int64(bytes.Count(buf[:n], []byte{'\n'}))
		at += int64(n)
		if err != nil && at < in.begin {
			return 0, err
		}
	}
	return lines, nil
}

// close frees what open took; twice does no harm.
func (in *input[T]) close() {
	if in.unzip != nil {
		in.unzip()
		in.unzip = nil
	}
	if in.file != nil {
		in.noteClose(in.file.Close())
		in.file = nil
	}
}

func (in *input[T]) noteClose(err error) {
	if err != nil && in.closeErr == nil {
		in.closeErr = in.failed(err)
	}
}
