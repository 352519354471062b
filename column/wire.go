package column

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"
)

const (
	wireTimes = 1 << iota
	wireHashes
	wireChanges
)

// AppendWire appends the live rows of b to dst; it compacts b. The form is, all numbers little endian:
//
//	flags (1) | rows (uvarint) | columns (uvarint) | times (8 each) | hashes (8 each) | changes (1 each) | columns
//	column: kind (1) | missing (uvarint) | validity bits, if any is missing | values
//	values: bits, values of fixed width, or offsets (4 each, rows+1) and bytes
func (b *Batch) AppendWire(dst []byte) []byte {
	b.Compact()
	flags := byte(0)
	if len(b.Times) > 0 {
		flags |= wireTimes
	}
	if len(b.Hashes) > 0 {
		flags |= wireHashes
	}
	if len(b.Changes) > 0 {
		flags |= wireChanges
	}
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, uint64(b.rows))
	dst = binary.AppendUvarint(dst, uint64(len(b.vecs)))
	dst = append(dst, memory(b.Times)...)
	dst = append(dst, memory(b.Hashes)...)
	dst = append(dst, memory(b.Changes)...)
	for i := range b.vecs {
		dst = b.vecs[i].appendWire(dst)
	}
	return dst
}

func (v *Vector) appendWire(dst []byte) []byte {
	dst = append(dst, byte(v.kind))
	dst = binary.AppendUvarint(dst, uint64(v.nulls))
	if v.nulls > 0 {
		dst = appendBits(dst, v.valid, v.n)
	}
	switch {
	case v.kind.text():
		dst = append(dst, memory(v.offsets)...)
		return append(dst, v.text...)
	case v.kind == Bool:
		return appendBits(dst, v.data, v.n)
	}
	return append(dst, v.data[:v.n*v.kind.Width()]...)
}

// appendBits appends n bits; those behind them in the last byte are 0 on the wire, whatever they are in memory.
func appendBits(dst, bits []byte, n int) []byte {
	dst = append(dst, bits[:(n+7)/8]...)
	if n&7 != 0 {
		dst[len(dst)-1] &= 1<<(n&7) - 1
	}
	return dst
}

// memory returns the bytes of numbers. On the machines that Weir supports their form in memory is the one on the wire.
func memory[T any](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}

var errShort = errors.New("column: a batch ends before its time")

// ReadWire fills b, which must be empty, with the rows of src, which is not kept. After an error b is empty.
func (b *Batch) ReadWire(src []byte) error {
	err := b.readWire(src)
	if err != nil {
		b.Reset()
	}
	return err
}

func (b *Batch) readWire(src []byte) error {
	if len(src) == 0 {
		return errShort
	}
	flags, src := src[0], src[1:]
	rows, src, err := uvarint(src)
	if err != nil {
		return err
	}
	cols, src, err := uvarint(src)
	if err != nil {
		return err
	}
	if rows > uint64(b.cap) || cols != uint64(len(b.vecs)) || flags >= wireChanges<<1 {
		return fmt.Errorf("column: a batch claims %d rows in %d columns with flags %#x; %d rows in %d columns are expected at most", rows, cols, flags, b.cap, len(b.vecs))
	}
	n := int(rows)
	if flags&wireTimes != 0 {
		if b.Times, src, err = take(b.Times, src, n); err != nil {
			return err
		}
	}
	if flags&wireHashes != 0 {
		if b.Hashes, src, err = take(b.Hashes, src, n); err != nil {
			return err
		}
	}
	if flags&wireChanges != 0 {
		if b.Changes, src, err = take(b.Changes, src, n); err != nil {
			return err
		}
		for _, c := range b.Changes {
			if c > Delete {
				return fmt.Errorf("column: unknown %v", c)
			}
		}
	}
	for i := range b.vecs {
		if src, err = b.vecs[i].readWire(src, n, b.schema.Fields[i]); err != nil {
			return err
		}
	}
	if len(src) != 0 {
		return fmt.Errorf("column: %d bytes behind a batch", len(src))
	}
	b.rows = n
	return nil
}

func (v *Vector) readWire(src []byte, n int, f Field) ([]byte, error) {
	if len(src) == 0 {
		return nil, errShort
	}
	if Kind(src[0]) != v.kind {
		return nil, fmt.Errorf("column: field %q is %v, and %v in the batch", f.Name, v.kind, Kind(src[0]))
	}
	nulls, src, err := uvarint(src[1:])
	if err != nil {
		return nil, err
	}
	if nulls > uint64(n) || nulls > 0 && !f.Nullable {
		return nil, fmt.Errorf("column: field %q misses %d of %d values", f.Name, nulls, n)
	}
	bits := (n + 7) / 8
	if nulls > 0 {
		if v.valid, src, err = take(v.valid[:0], src, bits); err != nil {
			return nil, err
		}
		missing := 0
		for i := range n {
			if !bit(v.valid, i) {
				missing++
			}
		}
		if missing != int(nulls) {
			return nil, fmt.Errorf("column: field %q misses %d values, not %d", f.Name, missing, nulls)
		}
		v.nulls = missing
	}
	v.n = n
	switch {
	case v.kind.text():
		return v.readText(src, n, f)
	case v.kind == Bool:
		return readInto(v.data, src, bits)
	}
	return readInto(v.data, src, n*v.kind.Width())
}

func (v *Vector) readText(src []byte, n int, f Field) (rest []byte, err error) {
	if v.offsets, src, err = take(v.offsets[:0], src, n+1); err != nil {
		v.offsets = append(v.offsets[:0], 0)
		return nil, err
	}
	for i := range n {
		if v.offsets[i+1] < v.offsets[i] {
			return nil, fmt.Errorf("column: the offsets of field %q fall", f.Name)
		}
	}
	size := v.offsets[n]
	if v.offsets[0] != 0 || int(size) > len(src) {
		return nil, fmt.Errorf("column: the offsets of field %q go from %d to %d, and %d bytes follow", f.Name, v.offsets[0], size, len(src))
	}
	v.text = append(v.text, src[:size]...)
	return src[size:], nil
}

func readInto(dst, src []byte, n int) ([]byte, error) {
	if len(src) < n {
		return nil, errShort
	}
	copy(dst, src[:n])
	return src[n:], nil
}

// take appends n numbers of src to dst, which is empty.
func take[T any](dst []T, src []byte, n int) ([]T, []byte, error) {
	var zero T
	size := n * int(unsafe.Sizeof(zero))
	if len(src) < size {
		return dst, nil, errShort
	}
	if cap(dst) < n {
		dst = make([]T, n)
	}
	dst = dst[:n]
	copy(memory(dst), src[:size])
	return dst, src[size:], nil
}

func uvarint(src []byte) (uint64, []byte, error) {
	x, n := binary.Uvarint(src)
	if n <= 0 {
		return 0, nil, errShort
	}
	return x, src[n:], nil
}
