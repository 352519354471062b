package objstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/weir-stream/weir/internal/errs"
)

// The codes of errors that stores return.
const (
	// CodeNotFound: no object has the name.
	CodeNotFound errs.Code = "object.not-found"
	// CodeExists: PutIfAbsent found an object of the name.
	CodeExists errs.Code = "object.exists"
	// CodeUnavailable, of class Retry: the store did not do the request, or did it and the answer was lost.
	CodeUnavailable errs.Code = "object.unavailable"
	// CodeNoSpace, of class Retry: the store is full. Nothing was written.
	CodeNoSpace errs.Code = "object.no-space"
	// CodeContent: the bytes that a writer gave are not those it announced. Nothing was written.
	CodeContent errs.Code = "object.content"
	// CodeName: the name is not allowed, or an object of it would be a directory of another's.
	CodeName errs.Code = "object.name"
	// CodeRange: a read starts before the object or behind its end.
	CodeRange errs.Code = "object.range"
)

// Is reports whether the outermost code of err is code.
func Is(err error, code errs.Code) bool { return err != nil && errs.CodeOf(err) == code }

// Info describes an object.
type Info struct {
	Name string
	Size int64
}

// Content is what an object is to consist of.
type Content struct {
	// Reader yields the bytes. It is read on the caller's goroutine, once, to its end, and no longer after the return.
	Reader io.Reader
	// Size is the number of bytes that Reader must yield, or -1 if the writer does not know.
	Size int64
	// CRC is the CRC-32C that the bytes must have, if Checked.
	CRC     uint32
	Checked bool
}

// Written is what a store has written.
type Written struct {
	Size int64
	CRC  uint32 // CRC-32C of all bytes
}

// Store keeps objects. Every method may be called from any goroutine, may block for as long as the device or network
// does, and returns soon after ctx ends, with an error that answers to errors.Is(err, ctx.Err()); then nothing is known
// about whether a write took place.
//
// Names are those that CheckName accepts. Of two names a and a/b only one may be in use: a store may refuse the second
// one. Names that differ only in the case of letters should be avoided: a directory of some systems cannot tell them apart.
//
// Reads see every write that returned before they began (strong consistency), also from other processes.
type Store interface {
	// Put writes an object and replaces one of the same name. When it returns nil the object is durable and visible, at
	// once and whole. On an error the old object is untouched and nothing of the new one is visible; only after an error of
	// code CodeUnavailable either may be there. A reader of the old object goes on to read the old one or fails.
	Put(ctx context.Context, name string, c Content) (Written, error)
	// PutIfAbsent is Put that never replaces: if an object of the name is there it returns CodeExists, for all but one of
	// several callers at once. After CodeUnavailable a second try may find the object of the first one: see Claim.
	PutIfAbsent(ctx context.Context, name string, c Content) (Written, error)
	// Get reads n bytes from off, or to the end if n is negative or reaches beyond it. The reader yields all of them or
	// an error other than io.EOF. The caller closes it, and owns what it reads. An off of the size is no error.
	Get(ctx context.Context, name string, off, n int64) (io.ReadCloser, error)
	// Stat describes an object, or returns CodeNotFound.
	Stat(ctx context.Context, name string) (Info, error)
	// List yields the objects whose names start with prefix (any string, it need not end at a slash), ascending by the
	// bytes of the names. An object that is written or deleted meanwhile may be yielded or not; every other one is, once.
	// An error is the last thing yielded.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]
	// Delete removes an object for good, durably. That there is none is no error.
	Delete(ctx context.Context, name string) error
}

const (
	nameBytesMax = 900 // of S3's 1,024, so that a prefix fits before it
	partBytesMax = 80  // escaped to three bytes each it is still a file name
)

// CheckName returns an error unless name consists of parts joined by single slashes, in valid UTF-8 without control
// characters, no part empty, ".", ".." or longer than 80 bytes, and no more than 900 bytes in all.
func CheckName(name string) error {
	bad := func(why string) error {
		return errs.New(CodeName, errs.ClassBug, fmt.Sprintf("object %.100q", name), "the name is refused: %s", why)
	}
	if len(name) > nameBytesMax {
		return bad(fmt.Sprintf("longer than %d bytes", nameBytesMax))
	}
	if !utf8.ValidString(name) {
		return bad("not UTF-8")
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
		return bad("a control character")
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "" || part == "." || part == "..":
			return bad("a part that is empty, . or ..")
		case len(part) > partBytesMax:
			return bad(fmt.Sprintf("a part longer than %d bytes", partBytesMax))
		}
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum returns the CRC-32C of b.
func Checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// Bytes is the Content of b, which is borrowed until the write returns.
func Bytes(b []byte) Content { return Summed(b, Checksum(b)) }

// Summed is Bytes for whoever knows the checksum that b must have.
func Summed(b []byte, crc uint32) Content {
	return Content{Reader: &held{*bytes.NewReader(b), b}, Size: int64(len(b)), CRC: crc, Checked: true}
}

// held reads bytes that are in memory as a whole.
type held struct {
	bytes.Reader
	b []byte
}

// Held returns all bytes of c, for a store that has a better way for them than to copy pieces. ok is false if they are not in
// memory. An error is as that of Copy.
func (c Content) Held(name string) (b []byte, w Written, ok bool, err error) {
	h, ok := c.Reader.(*held)
	if !ok || int64(h.Len()) != h.Size() || h.Size() != c.Size || !c.Checked {
		return nil, w, false, nil
	}
	w = Written{Size: c.Size, CRC: Checksum(h.b)}
	return h.b, w, true, c.check(w, name)
}

const copyBytes = 256 << 10

// Copy writes c to w for the implementation of a store: it looks at ctx between pieces, and returns an error of code
// CodeContent unless the bytes are those announced.
func (c Content) Copy(ctx context.Context, name string, w io.Writer) (Written, error) {
	var got Written
	size := int64(copyBytes)
	if c.Size >= 0 {
		size = min(size, c.Size+1) // one more, to meet bytes that should not be there
	}
	buf := make([]byte, size)
	for {
		if err := ctx.Err(); err != nil {
			return got, err
		}
		n, err := c.Reader.Read(buf)
		if n > 0 {
			got.Size += int64(n)
			got.CRC = crc32.Update(got.CRC, castagnoli, buf[:n])
			if c.Size >= 0 && got.Size > c.Size {
				break
			}
			if _, err := w.Write(buf[:n]); err != nil {
				return got, err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return got, sourceFailed(err, name)
		}
	}
	return got, c.check(got, name)
}

// check returns an error unless what was written is what was announced.
func (c Content) check(got Written, name string) error {
	op := "object " + name
	if c.Size >= 0 && got.Size != c.Size {
		return errs.New(CodeContent, errs.ClassBug, op, "announced with %d bytes, given %d or more", c.Size, got.Size)
	}
	if c.Checked && got.CRC != c.CRC {
		return errs.New(CodeContent, errs.ClassFailTask, op,
			"announced with checksum %08x, given %08x: the bytes changed on their way, write them again", c.CRC, got.CRC)
	}
	return nil
}

// sourceFailed keeps the code of an error that has one.
func sourceFailed(err error, name string) error {
	code, class := CodeContent, errs.ClassRetry
	if errs.CodeOf(err) != "" {
		code, class = errs.CodeOf(err), errs.ClassOf(err)
	}
	return errs.Wrap(err, code, class, "object "+name, "the source of its bytes failed")
}

// ReadAll reads a whole object of at most limit bytes.
func ReadAll(ctx context.Context, s Store, name string, limit int64) ([]byte, error) {
	info, err := s.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	if info.Size > limit {
		return nil, errs.New(errs.CodeLimit, errs.ClassFailJob, "object "+name,
			"has %d bytes; at most %d are read here", info.Size, limit)
	}
	r, err := s.Get(ctx, name, 0, info.Size)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(r, limit))
	return b, errors.Join(err, r.Close())
}

// readerAt reads ranges of one object.
type readerAt struct {
	ctx  context.Context
	s    Store
	name string
}

// ReaderAt reads ranges of an object, each by a Get with ctx, from any goroutine.
func ReaderAt(ctx context.Context, s Store, name string) io.ReaderAt { return &readerAt{ctx, s, name} }

// ReadAt implements io.ReaderAt.
func (r *readerAt) ReadAt(p []byte, off int64) (int, error) {
	body, err := r.s.Get(r.ctx, r.name, off, int64(len(p)))
	if err != nil {
		return 0, err
	}
	n, err := io.ReadFull(body, p)
	closeErr := body.Close()
	if err == io.ErrUnexpectedEOF { // of ReadFull: the object ends here; a store's own carries a code
		err = io.EOF
	}
	if err == nil || closeErr == nil {
		return n, cmp.Or(err, closeErr)
	}
	return n, errors.Join(err, closeErr)
}
