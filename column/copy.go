package column

import "unsafe"

// gather appends the values of src at rows, or all of them if rows is nil, to v.
func (v *Vector) gather(src *Vector, rows []int32) {
	from, n := v.n, src.n
	if rows != nil {
		n = len(rows)
	}
	v.grow(from + n)
	v.n += n
	switch {
	case v.kind.text():
		v.gatherText(src, rows, from)
	case v.kind == Bool:
		v.gatherBits(src, rows, from)
	case v.kind.spans():
		v.gatherLists(src, rows, from)
	case v.kind == Struct:
		for i := range v.kids {
			v.kids[i].gather(&src.kids[i], rows)
		}
	default:
		switch v.kind.Width() {
		case 1:
			gatherFixed[uint8](v, src, rows, from)
		case 2:
			gatherFixed[uint16](v, src, rows, from)
		case 4:
			gatherFixed[uint32](v, src, rows, from)
		case 8:
			gatherFixed[uint64](v, src, rows, from)
		default:
			gatherFixed[Int128](v, src, rows, from)
		}
	}
	if v.nulls == 0 && src.nulls == 0 {
		return
	}
	if rows == nil && from == 0 {
		v.valid, v.nulls = append(v.valid[:0], src.valid[:(n+7)/8]...), src.nulls
		return
	}
	each(n, rows, func(i, row int) { v.noteValid(from+i, !src.Null(row)) })
}

func gatherFixed[T any](v, src *Vector, rows []int32, from int) {
	out, in := values[T](v, v.n)[from:], values[T](src, src.n)
	if rows == nil {
		copy(out, in)
		return
	}
	out = out[:len(rows)]
	for i, row := range rows {
		out[i] = in[row]
	}
}

func (v *Vector) gatherBits(src *Vector, rows []int32, from int) {
	each(src.n, rows, func(i, row int) { putBit(v.data, from+i, bit(src.data, row)) })
}

// gatherText copies Views and shares the buffers, unless v already refers to many.
func (v *Vector) gatherText(src *Vector, rows []int32, from int) {
	out, in := values[View](v, v.n)[from:], values[View](src, src.n)
	move, ok := v.join(src)
	if !ok {
		each(len(in), rows, func(i, row int) {
			out[i] = View{}
			if !src.Null(row) {
				out[i] = v.text.put(src.Text(row))
			}
		})
		return
	}
	size := 0
	if rows == nil {
		copy(out, in)
		for i := range out {
			size += out[i].Len()
		}
	} else {
		out = out[:len(rows)]
		for i, row := range rows {
			out[i] = in[row]
			size += in[row].Len()
		}
	}
	v.text.size += size
	if move != 0 {
		for i := range out {
			out[i] = out[i].moved(move)
		}
	}
}

// join makes v refer to the buffers of src and returns by how much their numbers are higher in v. It says no if those are too many.
func (v *Vector) join(src *Vector) (move uint32, ok bool) {
	have, come := v.text.bufs, src.text.bufs
	if len(come) == 0 {
		return 0, true
	}
	if len(have) >= len(come) { // mostly the same source again
		at := len(have) - len(come)
		if sameBuffers(have[at:], come) {
			for k, b := range come {
				if len(b) > len(have[at+k]) { // it has grown
					have[at+k] = b
				}
			}
			src.text.shared = true
			return uint32(at), true
		}
	}
	if len(have)+len(come) > manyBuffers {
		return 0, false
	}
	src.text.shared = true
	v.text.bufs = append(have, come...)
	return uint32(len(have)), true
}

func sameBuffers(a, b [][]byte) bool {
	for i := range a {
		if unsafe.SliceData(a[i]) != unsafe.SliceData(b[i]) {
			return false
		}
	}
	return true
}

func (v *Vector) gatherLists(src *Vector, rows []int32, from int) {
	out, in := values[span](v, v.n), values[span](src, src.n)
	var elems []int32
	base := int32(v.kids[0].n)
	each(len(in), rows, func(i, row int) {
		s := in[row]
		out[from+i] = span{Offset: base + int32(len(elems)), Len: s.Len}
		if s.Len == 0 {
			out[from+i].Offset = 0
		}
		for e := s.Offset; e < s.Offset+s.Len; e++ {
			elems = append(elems, e)
		}
	})
	if len(elems) == 0 {
		return
	}
	for k := range v.kids {
		v.kids[k].gather(&src.kids[k], elems)
	}
}

// Gather appends the values of src at rows, or all if rows is nil. Strings are shared, not copied.
func (v *Vector) Gather(src *Vector, rows []int32) { v.gather(src, rows) }

// compact keeps the values at rows, which ascend.
func (v *Vector) compact(rows []int32) {
	if v.nulls > 0 {
		v.compactValid(rows)
	}
	switch {
	case v.kind == Bool:
		for i, row := range rows {
			putBit(v.data, i, bit(v.data, int(row)))
		}
	case v.kind == Struct:
		for i := range v.kids {
			v.kids[i].compact(rows)
		}
	default: // children of lists keep what no list refers to any more
		w := v.kind.place()
		for i, row := range rows {
			copy(v.data[i*w:(i+1)*w], v.data[int(row)*w:])
		}
	}
	v.n = len(rows)
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

// CopyFrom makes v equal to src, sharing its strings.
func (v *Vector) CopyFrom(src *Vector) {
	v.reset()
	v.gather(src, nil)
}

// View makes v show the values of src, without copying them, as far as they are there in with too: what a field of rows is that may be
// missing. v must not be changed, and is valid as long as src is.
func (v *Vector) View(src, with *Vector) {
	valid := v.valid[:0]
	*v = *src
	v.valid, v.nulls = valid, 0
	v.SetValidity(src, with)
	if v.kind.text() {
		src.text.shared = true
	}
}
