package column

import "slices"

// gather appends the values of src at rows, or all of them if rows is nil, to v. There is room for them.
func (v *Vector) gather(src *Vector, rows []int32) {
	from := v.n
	switch {
	case v.kind.text():
		v.gatherText(src, rows)
	case v.kind == Bool:
		v.gatherBits(src, rows)
	default:
		switch v.kind.Width() {
		case 1:
			gatherFixed[uint8](v, src, rows)
		case 2:
			gatherFixed[uint16](v, src, rows)
		case 4:
			gatherFixed[uint32](v, src, rows)
		default:
			gatherFixed[uint64](v, src, rows)
		}
	}
	if v.nulls == 0 && src.nulls == 0 {
		return
	}
	if rows == nil {
		for i := range src.n {
			v.noteValid(from+i, !src.Null(i))
		}
		return
	}
	for i, row := range rows {
		v.noteValid(from+i, !src.Null(int(row)))
	}
}

func gatherFixed[T any](v, src *Vector, rows []int32) {
	if rows == nil {
		copy(values[T](v, v.n+src.n)[v.n:], values[T](src, src.n))
		v.n += src.n
		return
	}
	out, in := values[T](v, v.n+len(rows))[v.n:], values[T](src, src.n)
	for i, row := range rows {
		out[i] = in[row]
	}
	v.n += len(rows)
}

func (v *Vector) gatherBits(src *Vector, rows []int32) {
	if rows == nil {
		for i := range src.n {
			putBit(v.data, v.n+i, bit(src.data, i))
		}
		v.n += src.n
		return
	}
	for i, row := range rows {
		putBit(v.data, v.n+i, bit(src.data, int(row)))
	}
	v.n += len(rows)
}

func (v *Vector) gatherText(src *Vector, rows []int32) {
	if rows == nil {
		base := int32(len(v.text))
		v.text = append(v.text, src.text...)
		for _, o := range src.offsets[1 : src.n+1] {
			v.offsets = append(v.offsets, base+o)
		}
		v.n += src.n
		return
	}
	size := 0
	for _, row := range rows {
		size += int(src.offsets[row+1] - src.offsets[row])
	}
	v.text = slices.Grow(v.text, size)
	for _, row := range rows {
		v.text = append(v.text, src.text[src.offsets[row]:src.offsets[row+1]]...)
		v.offsets = append(v.offsets, int32(len(v.text)))
	}
	v.n += len(rows)
}

// compact keeps the values at rows, which ascend.
func (v *Vector) compact(rows []int32) {
	if v.nulls > 0 {
		v.compactValid(rows)
	}
	switch {
	case v.kind.text():
		v.compactText(rows)
	case v.kind == Bool:
		for i, row := range rows {
			putBit(v.data, i, bit(v.data, int(row)))
		}
	default:
		w := v.kind.Width()
		for i, row := range rows {
			copy(v.data[i*w:(i+1)*w], v.data[int(row)*w:])
		}
	}
	v.n = len(rows)
}

func (v *Vector) compactText(rows []int32) {
	end := int32(0)
	for i, row := range rows {
		from, to := v.offsets[row], v.offsets[row+1]
		end += int32(copy(v.text[end:], v.text[from:to]))
		v.offsets[i+1] = end // row >= i, so nothing that is still to be read
	}
	v.text, v.offsets = v.text[:end], v.offsets[:len(rows)+1]
}

func (v *Vector) compactValid(rows []int32) {
	nulls := 0
	for i, row := range rows {
		ok := bit(v.valid, int(row))
		putBit(v.valid, i, ok)
		if !ok {
			nulls++
		}
	}
	v.nulls = nulls
	v.valid = v.valid[:(len(rows)+7)/8]
}
