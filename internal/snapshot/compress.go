package snapshot

import (
	"encoding/binary"
	"runtime"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"github.com/weir-stream/weir/internal/errs"
)

// Compression is a way to compress blocks. A block that does not become shorter is stored as it is.
type Compression uint8

// The compressions. Their numbers are those of the header of version 3.
const (
	// CompressNone stores blocks as they are.
	CompressNone Compression = 0
	// CompressS2 takes a nanosecond a byte, and objects of version 3.
	CompressS2 Compression = 1
	// CompressZstd takes four, for a third less than S2.
	CompressZstd Compression = 2
)

const (
	// A block pays if compressing it saves one part in paysPart. After one that does not, plainBlocks are stored as they are.
	paysPart    = 32
	plainBlocks = 15
)

// The flags in the header of version 3.
const headDelta = 1

// head is the header of an object, of the lowest version that can hold it.
func (f Form) head() []byte {
	var rest [4]byte
	version := uint32(1)
	if f.Delta {
		version = 2
	}
	if f.Compression == CompressS2 {
		version = 3
		rest[0] = byte(f.Compression)
		if f.Delta {
			rest[1] = headDelta
		}
	}
	return append(binary.LittleEndian.AppendUint32([]byte(magicHead), version), rest[:]...)
}

// parseHead is the inverse of head.
func parseHead(b []byte) (Form, error) {
	if string(b[:8]) != magicHead {
		return Form{}, corrupt("not a data object: it starts with %q", b[:8])
	}
	version := binary.LittleEndian.Uint32(b[8:])
	if err := checkVersion("data object", uint64(version), Version); err != nil {
		return Form{}, err
	}
	f := Form{Compression: CompressZstd}
	if version < 3 {
		f.Delta = version == 2
		if binary.LittleEndian.Uint32(b[12:]) != 0 {
			return f, corrupt("the data object is damaged at its start")
		}
		return f, nil
	}
	f.Compression, f.Delta = Compression(b[12]), b[13] == headDelta
	if f.Compression != CompressS2 || b[13]&^headDelta != 0 || b[14] != 0 || b[15] != 0 {
		return f, corrupt("the data object is compressed in the unknown way %d, or damaged at its start", b[12])
	}
	return f, nil
}

// encoder is shared by all Writers: it holds a state for each core, of a megabyte.
var encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithEncoderCRC(false))
})

// decoder is shared by all Readers: it holds a state for each core.
var decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(blockRawMax))
})

// pack compresses the block, or leaves it as it is if that is not shorter.
func (p *packing) pack(c Compression) {
	p.packed = p.records
	if c != CompressNone {
		p.space = c.append(grow(p.space[:0], blockHead), p.records[blockHead:])
		stored := len(p.space) - blockHead
		if stored > 0 && stored < p.size() && p.size() <= stored*ratioMax {
			p.packed = p.space
		}
	}
	le := binary.LittleEndian
	le.PutUint32(p.packed[0:], uint32(len(p.packed)-blockHead))
	le.PutUint32(p.packed[4:], uint32(p.size()))
	le.PutUint32(p.packed[8:], blockSum(p.packed))
}

// append appends b in compressed form, or anything longer than b if it cannot be compressed.
func (c Compression) append(dst, b []byte) []byte {
	if c == CompressS2 {
		at := len(dst)
		most := s2.MaxEncodedLen(len(b))
		if most < 0 {
			return append(dst, b...)
		}
		dst = append(dst, make([]byte, most)...)
		return dst[:at+len(s2.Encode(dst[at:], b))]
	}
	enc, err := encoder()
	if err != nil { // it has no options that it could refuse
		return append(dst, b...)
	}
	return enc.EncodeAll(b, dst)
}

// expand decompresses b to exactly the length of into, in its place.
func (c Compression) expand(into, b []byte) error {
	failed := func(err error) error { return corrupt("it cannot be decompressed to %d bytes: %v", len(into), err) }
	if c == CompressS2 {
		n, err := s2.DecodedLen(b)
		if err != nil || n != len(into) {
			return failed(err)
		}
		if _, err = s2.Decode(into, b); err != nil {
			return failed(err)
		}
		return nil
	}
	dec, err := decoder()
	if err != nil {
		return errs.Wrap(err, errs.CodeBug, errs.ClassBug, "snapshot", "zstd")
	}
	if out, err := dec.DecodeAll(b, into[:0:len(into)]); err != nil || len(out) != len(into) {
		return failed(err)
	}
	return nil
}
