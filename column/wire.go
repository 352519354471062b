package column

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
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
//	values: bits, values of fixed width, offsets (4 each, rows+1) and bytes, offsets and the children's columns, or just these
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
		return v.appendText(dst)
	case v.kind == Bool:
		return appendBits(dst, v.data, v.n)
	case v.kind.spans():
		return v.appendLists(dst)
	case v.kind == Struct:
		for i := range v.kids {
			dst = v.kids[i].appendWire(dst)
		}
		return dst
	}
	return append(dst, v.data[:v.bytes(v.n)]...)
}

func (v *Vector) appendText(dst []byte) []byte {
	views, end := v.Views(), uint32(0)
	dst = binary.LittleEndian.AppendUint32(slices.Grow(dst, 4*len(views)+4), 0)
	for i := range views {
		if !v.Null(i) {
			end += uint32(views[i].Len())
		}
		dst = binary.LittleEndian.AppendUint32(dst, end)
	}
	dst = slices.Grow(dst, int(end))
	for i := range views {
		if !v.Null(i) {
			dst = append(dst, v.Text(i)...)
		}
	}
	return dst
}

// appendLists writes the lists one behind the other, whatever else the children hold.
func (v *Vector) appendLists(dst []byte) []byte {
	spans, end, packed := values[span](v, v.n), int32(0), true
	dst = binary.LittleEndian.AppendUint32(slices.Grow(dst, 4*len(spans)+4), 0)
	for i, s := range spans {
		if v.Null(i) {
			s.Len = 0
		}
		packed = packed && (s.Len == 0 || s.Offset == end)
		end += s.Len
		dst = binary.LittleEndian.AppendUint32(dst, uint32(end))
	}
	kids := v.kids
	if !packed || int(end) != kids[0].n {
		elems := make([]int32, 0, end)
		for i, s := range spans {
			for e := s.Offset; e < s.Offset+s.Len && !v.Null(i); e++ {
				elems = append(elems, e)
			}
		}
		kids = make([]Vector, len(v.kids))
		for k := range kids {
			kids[k] = v.kids[k].like(len(elems))
			kids[k].gather(&v.kids[k], elems)
		}
	}
	for k := range kids {
		dst = kids[k].appendWire(dst)
	}
	return dst
}

// like returns an empty vector of v's form with room for n values.
func (v *Vector) like(n int) Vector {
	o := Vector{kind: v.kind}
	o.data = aligned(o.bytes(n))
	for i := range v.kids {
		o.kids = append(o.kids, v.kids[i].like(n))
	}
	return o
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
		if src, err = b.vecs[i].readWire(src, n, &b.schema.Fields[i]); err != nil {
			return err
		}
	}
	if len(src) != 0 {
		return fmt.Errorf("column: %d bytes behind a batch", len(src))
	}
	b.rows = n
	return nil
}

func (v *Vector) readWire(src []byte, n int, f *Field) ([]byte, error) {
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
	switch {
	case v.kind.text():
		return v.readText(src, n, f)
	case v.kind.spans():
		return v.readLists(src, n, f)
	case v.kind == Struct:
		v.n = n
		for k := range v.kids {
			if src, err = v.kids[k].readWire(src, n, &f.Children[k]); err != nil {
				return nil, err
			}
		}
		return src, nil
	}
	if len(src) < v.bytes(n) {
		return nil, errShort
	}
	v.grow(n)
	v.n = n
	copy(v.data, src[:v.bytes(n)])
	return src[v.bytes(n):], nil
}

// ends reads n+1 offsets, which begin with 0 and do not fall.
func ends(src []byte, n int, f *Field) (offsets func(i int) int, rest []byte, err error) {
	if len(src) < 4*(n+1) {
		return nil, nil, errShort
	}
	raw, rest := src[:4*(n+1)], src[4*(n+1):]
	offsets = func(i int) int { return int(int32(binary.LittleEndian.Uint32(raw[4*i:]))) }
	if offsets(0) != 0 {
		return nil, nil, fmt.Errorf("column: the offsets of field %q begin with %d", f.Name, offsets(0))
	}
	for i := range n {
		if offsets(i+1) < offsets(i) {
			return nil, nil, fmt.Errorf("column: the offsets of field %q fall", f.Name)
		}
	}
	return offsets, rest, nil
}

func (v *Vector) readText(src []byte, n int, f *Field) ([]byte, error) {
	offsets, src, err := ends(src, n, f)
	if err != nil {
		return nil, err
	}
	size := offsets(n)
	if size > len(src) {
		return nil, fmt.Errorf("column: the strings of field %q have %d bytes, and %d follow", f.Name, size, len(src))
	}
	v.grow(n)
	v.n = n
	buf, at := append(v.text.room(size), src[:size]...), v.text.at
	base := len(v.text.own)
	v.text.own, v.text.bufs[at] = buf, buf
	v.text.size += size
	views := values[View](v, n)
	for i := range views {
		from, to := base+offsets(i), base+offsets(i+1)
		views[i] = NewView(buf[from:to], at, from)
	}
	return src[size:], nil
}

func (v *Vector) readLists(src []byte, n int, f *Field) ([]byte, error) {
	offsets, src, err := ends(src, n, f)
	if err != nil {
		return nil, err
	}
	if offsets(n) > len(src)*8 { // a value has a bit at least
		return nil, errShort
	}
	v.grow(n)
	v.n = n
	spans := values[span](v, n)
	for i := range spans {
		if spans[i] = (span{}); offsets(i) < offsets(i+1) {
			spans[i] = span{Offset: int32(offsets(i)), Len: int32(offsets(i+1) - offsets(i))}
		}
	}
	for k := range v.kids {
		if src, err = v.kids[k].readWire(src, offsets(n), &f.Children[k]); err != nil {
			return nil, err
		}
	}
	return src, nil
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
