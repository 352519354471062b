package column

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// Conv turns structs of T into columns and back. It is made once per type and may be used by any number of goroutines.
type Conv[T any] struct {
	schema *Schema
	size   uintptr
	fields []fieldConv
}

// fieldConv moves one field: append adds n values that lie stride apart from p on to the vector, and set writes the values at
// rows (all if nil) there.
type fieldConv struct {
	offset uintptr
	append func(v *Vector, p unsafe.Pointer, stride uintptr, n int)
	set    func(v *Vector, p unsafe.Pointer, stride uintptr, rows []int32)
}

// For returns the conversion of T, a struct whose exported fields are booleans, integers, floats, strings, []byte, types.Null of
// those, or named types of the same kinds. A field is called as its tag `column:"name"` says, or else as in Go; "-" leaves it out.
// int and uint are 64 bits wide. Reading columns back copies strings once for a whole column, so rows do not alias the batch.
func For[T any]() (*Conv[T], error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("column: %v is no struct", t)
	}
	c := &Conv[T]{size: t.Size()}
	var fields []Field
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("column"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		k, conv, nullable := fieldOf(f.Type)
		if k == 0 {
			return nil, fmt.Errorf("column: field %s of %v has type %v, which has no column: use a boolean, integer, float, string, []byte or types.Null of one, or leave it out by the tag `column:\"-\"`", f.Name, t, f.Type)
		}
		conv.offset = f.Offset
		c.fields = append(c.fields, conv)
		fields = append(fields, Field{Name: name, Kind: k, Nullable: nullable})
	}
	if len(fields) == 0 {
		return nil, fmt.Errorf("column: %v has no exported field", t)
	}
	c.schema = &Schema{Fields: fields}
	return c, nil
}

// Schema describes the columns.
func (c *Conv[T]) Schema() *Schema { return c.schema }

// Append adds rows to b, a batch of this schema, as long as it has room, and returns how many it took.
func (c *Conv[T]) Append(b *Batch, rows []T) int {
	n := min(len(rows), b.Room())
	if n == 0 {
		return 0
	}
	base := unsafe.Pointer(unsafe.SliceData(rows))
	for i := range c.fields {
		f := &c.fields[i]
		f.append(&b.vecs[i], unsafe.Add(base, f.offset), c.size, n)
	}
	if len(b.Changes) > 0 {
		b.Changes = pickChanges(b.Changes, nil, nil, b.rows, n)
	}
	b.rows += n
	return n
}

// Rows appends the live rows of b to dst.
func (c *Conv[T]) Rows(b *Batch, dst []T) []T {
	n := b.Len()
	if n == 0 {
		return dst
	}
	at := len(dst)
	dst = slices.Grow(dst, n)[:at+n]
	clear(dst[at:])
	base := unsafe.Pointer(unsafe.SliceData(dst[at:]))
	for i := range c.fields {
		f := &c.fields[i]
		f.set(&b.vecs[i], unsafe.Add(base, f.offset), c.size, b.Live)
	}
	return dst
}

// fieldOf returns the column of a field of type t; kind 0 if there is none.
func fieldOf(t reflect.Type) (k Kind, f fieldConv, nullable bool) {
	if t.PkgPath() == "github.com/weir-stream/weir/types" && strings.HasPrefix(t.Name(), "Null[") {
		value := t.Field(0).Type
		k, f = plain(value)
		if k != 0 {
			f = nulls(f, t.Field(1).Offset)
		}
		return k, f, true
	}
	k, f = plain(t)
	return k, f, false
}

func plain(t reflect.Type) (Kind, fieldConv) {
	switch t.Kind() {
	case reflect.Bool:
		return Bool, fieldConv{append: appendBools, set: setBools}
	case reflect.Int8:
		return Int8, fixed[int8]()
	case reflect.Int16:
		return Int16, fixed[int16]()
	case reflect.Int32:
		return Int32, fixed[int32]()
	case reflect.Int64, reflect.Int:
		return Int64, fixed[int64]()
	case reflect.Uint8:
		return Uint8, fixed[uint8]()
	case reflect.Uint16:
		return Uint16, fixed[uint16]()
	case reflect.Uint32:
		return Uint32, fixed[uint32]()
	case reflect.Uint64, reflect.Uint:
		return Uint64, fixed[uint64]()
	case reflect.Float32:
		return Float32, fixed[float32]()
	case reflect.Float64:
		return Float64, fixed[float64]()
	case reflect.String:
		return String, fieldConv{append: appendStrings, set: setStrings}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return Bytes, fieldConv{append: appendSlices, set: setSlices}
		}
	}
	return 0, fieldConv{}
}

func fixed[X Fixed]() fieldConv {
	return fieldConv{
		append: func(v *Vector, p unsafe.Pointer, stride uintptr, n int) {
			out := values[X](v, v.n+n)[v.n:]
			for i := range out {
				out[i] = *(*X)(unsafe.Add(p, uintptr(i)*stride))
			}
			v.more(n)
		},
		set: func(v *Vector, p unsafe.Pointer, stride uintptr, rows []int32) {
			in := values[X](v, v.n)
			if rows == nil {
				for i, x := range in {
					*(*X)(unsafe.Add(p, uintptr(i)*stride)) = x
				}
				return
			}
			for i, row := range rows {
				*(*X)(unsafe.Add(p, uintptr(i)*stride)) = in[row]
			}
		},
	}
}

// more counts n values that were put behind the others and are all there.
func (v *Vector) more(n int) {
	if v.nulls > 0 {
		for i := range n {
			v.noteValid(v.n+i, true)
		}
	}
	v.n += n
}

func appendBools(v *Vector, p unsafe.Pointer, stride uintptr, n int) {
	for i := range n {
		putBit(v.data, v.n+i, *(*bool)(unsafe.Add(p, uintptr(i)*stride)))
	}
	v.more(n)
}

func setBools(v *Vector, p unsafe.Pointer, stride uintptr, rows []int32) {
	each(v.n, rows, func(i, row int) { *(*bool)(unsafe.Add(p, uintptr(i)*stride)) = bit(v.data, row) })
}

func appendStrings(v *Vector, p unsafe.Pointer, stride uintptr, n int) {
	out := values[View](v, v.n+n)[v.n:]
	for i := range out {
		x := *(*string)(unsafe.Add(p, uintptr(i)*stride))
		out[i] = v.text.put(unsafe.Slice(unsafe.StringData(x), len(x)))
	}
	v.more(n)
}

// setStrings copies all strings into one piece of memory.
func setStrings(v *Vector, p unsafe.Pointer, stride uintptr, rows []int32) {
	all := v.concat(rows)
	text := unsafe.String(unsafe.SliceData(all), len(all))
	each(v.n, rows, func(i, row int) {
		n := v.length(row)
		*(*string)(unsafe.Add(p, uintptr(i)*stride)), text = text[:n], text[n:]
	})
}

func appendSlices(v *Vector, p unsafe.Pointer, stride uintptr, n int) {
	out := values[View](v, v.n+n)[v.n:]
	for i := range out {
		out[i] = v.text.put(*(*[]byte)(unsafe.Add(p, uintptr(i)*stride)))
	}
	v.more(n)
}

func setSlices(v *Vector, p unsafe.Pointer, stride uintptr, rows []int32) {
	all := v.concat(rows)
	each(v.n, rows, func(i, row int) {
		if n := v.length(row); n > 0 {
			*(*[]byte)(unsafe.Add(p, uintptr(i)*stride)), all = all[:n:n], all[n:]
		}
	})
}

// length is that of value i, 0 if it is missing.
func (v *Vector) length(i int) int {
	if v.Null(i) {
		return 0
	}
	return values[View](v, v.n)[i].Len()
}

// concat returns the strings at rows, one behind the other, in fresh memory.
func (v *Vector) concat(rows []int32) []byte {
	size := 0
	each(v.n, rows, func(_, row int) { size += v.length(row) })
	all := make([]byte, 0, size)
	each(v.n, rows, func(_, row int) {
		if !v.Null(row) {
			all = append(all, v.Text(row)...)
		}
	})
	return all
}

func each(n int, rows []int32, f func(i, row int)) {
	if rows == nil {
		for i := range n {
			f(i, i)
		}
		return
	}
	for i, row := range rows {
		f(i, int(row))
	}
}

// nulls is the conversion of a types.Null whose value f converts and whose flag lies at valid. A missing one holds the zero
// value, so the values are moved as if all were there.
func nulls(f fieldConv, valid uintptr) fieldConv {
	return fieldConv{
		append: func(v *Vector, p unsafe.Pointer, stride uintptr, n int) {
			from := v.n
			had := v.nulls
			v.nulls = 0 // so that f leaves the bitmap alone
			f.append(v, p, stride, n)
			v.nulls = had
			for i := range n {
				v.noteValid(from+i, *(*bool)(unsafe.Add(p, uintptr(i)*stride+valid)))
			}
		},
		set: func(v *Vector, p unsafe.Pointer, stride uintptr, rows []int32) {
			f.set(v, p, stride, rows)
			each(v.n, rows, func(i, row int) {
				*(*bool)(unsafe.Add(p, uintptr(i)*stride+valid)) = !v.Null(row)
			})
		},
	}
}
