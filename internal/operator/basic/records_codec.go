package basic

import (
	"encoding/binary"
	"unsafe"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
)

// recordsCodec is the wire form of Records[T]:
//
//	flags (1) | rows (uvarint) | times (8 bytes each, little endian, if flagTimes) | hashes (8 each, if flagHashes) | rows
//
// Only live rows are written. Times are left out when no row has one.
type recordsCodec[T any] struct {
	rows *codec.Codec[T]
	pool *event.Pool[T]
	owns bool // decoded rows alias the bytes they came from, which must then belong to the batch
}

const (
	flagTimes  = 1 << 0
	flagHashes = 1 << 1
)

// RecordsCodec returns the codec of batches of T.
func RecordsCodec[T any]() (event.Codec, error) {
	c, err := codec.For[T]()
	if err != nil {
		return nil, err
	}
	_, fixed := c.Fixed()
	return &recordsCodec[T]{rows: c, pool: event.NewPool[T](0), owns: !fixed}, nil
}

// Encode implements event.Codec.
func (c *recordsCodec[T]) Encode(dst []byte, b event.Batch) ([]byte, error) {
	in := b.(*event.Records[T])
	in.Compact()
	flags := byte(0)
	for _, t := range in.Times {
		if t != event.NoTime {
			flags |= flagTimes
			break
		}
	}
	if len(in.Hash) > 0 {
		flags |= flagHashes
	}
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, uint64(len(in.Rows)))
	if flags&flagTimes != 0 {
		dst = appendWords(dst, in.Times)
	}
	if flags&flagHashes != 0 {
		dst = appendWords(dst, in.Hash)
	}
	return c.rows.AppendRows(dst, in.Rows, nil), nil
}

// Decode implements event.Codec.
func (c *recordsCodec[T]) Decode(src []byte) (event.Batch, error) {
	if len(src) < 2 {
		return nil, errs.New(errs.CodeWire, errs.ClassFailTask, "", "a batch of %d bytes is too short", len(src))
	}
	flags, src := src[0], src[1:]
	n, used := binary.Uvarint(src)
	if used <= 0 || n > uint64(c.pool.Cap()) {
		return nil, errs.New(errs.CodeWire, errs.ClassFailTask, "", "a batch claims %d rows, at most %d fit", n, c.pool.Cap())
	}
	src = src[used:]
	words := 0
	if flags&flagTimes != 0 {
		words++
	}
	if flags&flagHashes != 0 {
		words++
	}
	if uint64(len(src)) < uint64(words)*8*n {
		return nil, errs.New(errs.CodeWire, errs.ClassFailTask, "", "a batch of %d rows ends within its times", n)
	}
	b := c.pool.Get()
	b.Times = b.Times[:n]
	if flags&flagTimes != 0 {
		src = takeWords(b.Times, src)
	} else {
		for i := range b.Times {
			b.Times[i] = event.NoTime
		}
	}
	if flags&flagHashes != 0 {
		b.Hash = b.Hash[:n]
		src = takeWords(b.Hash, src)
	}
	if c.owns {
		src = append(make([]byte, 0, len(src)), src...)
	}
	rows, _, err := c.rows.DecodeRows(src, int(n), b.Rows)
	if err != nil {
		b.Release()
		return nil, err
	}
	b.Rows = rows
	return b, nil
}

// appendWords appends the memory of 8-byte integers, little endian. On the machines that Weir supports that is their form
// in memory.
func appendWords[W int64 | uint64](dst []byte, words []W) []byte {
	if len(words) == 0 {
		return dst
	}
	return append(dst, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)...)
}

func takeWords[W int64 | uint64](dst []W, src []byte) []byte {
	if len(dst) > 0 {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), len(dst)*8), src)
	}
	return src[len(dst)*8:]
}
