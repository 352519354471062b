package snapshot

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"

	"github.com/weir-stream/weir/internal/errs"
)

const (
	magicRows     = "WEIRROWS"
	rowsFrameHead = 16
	// RowsBatchMax bounds one batch of rows in flight.
	RowsBatchMax = 256 << 20
)

// RowsWriter writes an object of ObjectRows: encoded batches that a barrier has overtaken.
type RowsWriter struct {
	w   io.Writer
	sum Summary
	err error
}

// NewRowsWriter starts an object on w.
func NewRowsWriter(w io.Writer) *RowsWriter {
	s := &RowsWriter{w: w}
	s.write(binary.LittleEndian.AppendUint64([]byte(magicRows), 2))
	return s
}

func (s *RowsWriter) write(b []byte) {
	if s.err != nil {
		return
	}
	n, err := s.w.Write(b)
	s.sum.Size += int64(n)
	s.sum.CRC = crc32.Update(s.sum.CRC, castagnoli, b[:n])
	s.err = err
}

// Add appends a batch of a gate and channel, whose order is kept.
func (s *RowsWriter) Add(gate, channel int, batch []byte) error {
	if len(batch) > RowsBatchMax || gate < 0 || channel < 0 || gate > math.MaxInt32 || channel > math.MaxInt32 {
		return errs.New(errs.CodeBug, errs.ClassBug, "snapshot", "rows of gate %d, channel %d in %d bytes", gate, channel, len(batch))
	}
	le := binary.LittleEndian
	head := le.AppendUint32(nil, uint32(gate))
	head = le.AppendUint32(head, uint32(channel))
	head = le.AppendUint32(head, uint32(len(batch)))
	head = le.AppendUint32(head, crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, batch))
	s.write(head)
	s.write(batch)
	s.sum.Entries++
	s.sum.RawBytes += int64(len(batch))
	return s.err
}

// Close returns the summary. It does not close the io.Writer.
func (s *RowsWriter) Close() (Summary, error) { return s.sum, s.err }

// ReadRows calls f with every batch of an object of ObjectRows, which it has whole in b. The batch points into b.
func ReadRows(b []byte, f func(gate, channel int, batch []byte) error) error {
	le := binary.LittleEndian
	if len(b) < headBytes || string(b[:8]) != magicRows {
		return corrupt("not an object of rows: it starts with %.8q", b)
	}
	if v := le.Uint64(b[8:]); v != 2 {
		return checkRowsVersion(v)
	}
	for at := headBytes; at < len(b); {
		rest := b[at:]
		if len(rest) < rowsFrameHead || uint64(len(rest)-rowsFrameHead) < uint64(le.Uint32(rest[8:])) {
			return corrupt("the rows at %d are cut short", at)
		}
		n := int(le.Uint32(rest[8:]))
		batch := rest[rowsFrameHead : rowsFrameHead+n : rowsFrameHead+n]
		if crc32.Update(crc32.Checksum(rest[:12], castagnoli), castagnoli, batch) != le.Uint32(rest[12:]) {
			return corrupt("the rows at %d fail their checksum", at)
		}
		if err := f(int(le.Uint32(rest)), int(le.Uint32(rest[4:])), batch); err != nil {
			return err
		}
		at += rowsFrameHead + n
	}
	return nil
}

// checkRowsVersion: there were no objects of rows before version 2.
func checkRowsVersion(v uint64) error {
	if err := checkVersion("object of rows", v, manifestVersion); err != nil {
		return err
	}
	return corrupt("an object of rows of version %d", v)
}
