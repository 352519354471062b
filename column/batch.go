package column

import "fmt"

// Batch is a set of rows stored by columns. All its vectors have the same number of values.
type Batch struct {
	// Times holds the rows' event times in ms since the Unix epoch; it is empty on a stream without.
	Times []int64
	// Hashes holds the rows' key hashes; it is empty unless the stream is keyed.
	Hashes []uint64
	// Changes says what each row does; empty means that all are Insert.
	Changes []Change
	// Live lists the physical numbers of the live rows, ascending; nil means all.
	Live []int32

	schema *Schema
	vecs   []Vector
	rows   int
	cap    int
	sel    []int32
}

// New returns an empty batch for up to rows rows: DefaultRows if 0, MaxRows at most.
func New(s *Schema, rows int) *Batch {
	if rows <= 0 {
		rows = DefaultRows
	}
	rows = min(rows, MaxRows)
	b := &Batch{schema: s, vecs: make([]Vector, len(s.Fields)), cap: rows}
	for i, f := range s.Fields {
		b.vecs[i] = NewVector(f, rows)
	}
	return b
}

// Schema returns the batch's schema.
func (b *Batch) Schema() *Schema { return b.schema }

// Vector returns column i.
func (b *Batch) Vector(i int) *Vector { return &b.vecs[i] }

// SetRows says that all vectors have n values, which a kernel has set. It panics if they have not.
func (b *Batch) SetRows(n int) {
	for i := range b.vecs {
		if b.vecs[i].n != n {
			panic(fmt.Sprintf("column: field %q has %d values instead of %d", b.schema.Fields[i].Name, b.vecs[i].n, n))
		}
	}
	b.rows = n
}

// Rows returns the number of physical rows, live or not.
func (b *Batch) Rows() int { return b.rows }

// Cap returns the number of rows that the batch was made for.
func (b *Batch) Cap() int { return b.cap }

// Len returns the number of live rows.
func (b *Batch) Len() int {
	if b.Live != nil {
		return len(b.Live)
	}
	return b.rows
}

// Room returns how many rows fit. A batch whose strings have become large is full early.
func (b *Batch) Room() int {
	for i := range b.vecs {
		if b.vecs[i].text.size >= fullBytes {
			return 0
		}
	}
	return b.cap - b.rows
}

// EndRow counts the row whose values were appended to all vectors. It returns an error if a vector has more or fewer
// values than the others, or a missing value where the schema allows none.
func (b *Batch) EndRow() error {
	for i := range b.vecs {
		if b.vecs[i].n != b.rows+1 {
			return fmt.Errorf("column: field %q has %d values in row %d", b.schema.Fields[i].Name, b.vecs[i].n, b.rows+1)
		}
		if b.vecs[i].nulls > 0 && !b.schema.Fields[i].Nullable {
			return fmt.Errorf("column: field %q has a missing value but is not nullable", b.schema.Fields[i].Name)
		}
	}
	b.rows++
	return nil
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	for i := range b.vecs {
		b.vecs[i].reset()
	}
	b.rows, b.Live = 0, nil
	b.Times, b.Hashes, b.Changes = b.Times[:0], b.Hashes[:0], b.Changes[:0]
}

// Scratch returns an empty selection with room for every row, to be filled with ascending numbers and assigned to Live.
// Filling it while reading the present Live is allowed.
func (b *Batch) Scratch() []int32 {
	if cap(b.sel) < b.rows {
		b.sel = make([]int32, 0, b.cap)
	}
	return b.sel[:0]
}

// CopyTo appends physical rows of b, all live ones if rows is nil, to dst, an unshared batch of the same schema without a
// selection. It stops when dst is full and returns how many rows it took.
func (b *Batch) CopyTo(dst *Batch, rows []int32) int {
	if rows == nil {
		rows = b.Live
	}
	n := b.rows
	if rows != nil {
		n = len(rows)
	}
	n = b.fit(dst, rows, min(n, dst.Room()))
	if n == 0 {
		return 0
	}
	if rows == nil && n < b.rows {
		rows = b.count()
	}
	if rows != nil {
		rows = rows[:n]
	}
	for i := range b.vecs {
		dst.vecs[i].gather(&b.vecs[i], rows)
	}
	dst.Changes = pickChanges(dst.Changes, b.Changes, rows, dst.rows, n)
	dst.Times = pick(dst.Times, b.Times, rows)
	dst.Hashes = pick(dst.Hashes, b.Hashes, rows)
	dst.rows += n
	return n
}

// fit returns how many of the first n rows dst takes before its strings have become large: at least one.
func (b *Batch) fit(dst *Batch, rows []int32, n int) int {
	for i := range b.vecs {
		src, size := &b.vecs[i], dst.vecs[i].text.size
		if !src.kind.text() || size+src.text.size < fullBytes {
			continue
		}
		views := src.Views()
		for k := range n {
			row := int32(k)
			if rows != nil {
				row = rows[k]
			}
			if size += views[row].Len(); size >= fullBytes {
				n = k + 1
				break
			}
		}
	}
	return n
}

// count returns the numbers of all rows.
func (b *Batch) count() []int32 {
	all := make([]int32, b.rows)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

func pick[T any](dst, src []T, rows []int32) []T {
	if len(src) == 0 {
		return dst
	}
	if rows == nil {
		return append(dst, src...)
	}
	for _, row := range rows {
		dst = append(dst, src[row])
	}
	return dst
}

// pickChanges is pick for changes, which are left out while all are Insert. have rows are in dst, n come.
func pickChanges(dst, src []Change, rows []int32, have, n int) []Change {
	if len(src) == 0 && len(dst) == 0 {
		return dst
	}
	for len(dst) < have {
		dst = append(dst, Insert)
	}
	if len(src) > 0 {
		return pick(dst, src, rows)
	}
	for range n {
		dst = append(dst, Insert)
	}
	return dst
}

// Compact drops the rows that are not live, so that Live is nil afterwards.
func (b *Batch) Compact() {
	live := b.Live
	if live == nil {
		return
	}
	for i := range b.vecs {
		b.vecs[i].compact(live)
	}
	keep(&b.Times, live)
	keep(&b.Hashes, live)
	keep(&b.Changes, live)
	b.rows, b.Live = len(live), nil
}

func keep[T any](s *[]T, rows []int32) {
	if len(*s) == 0 {
		return
	}
	for i, row := range rows {
		(*s)[i] = (*s)[row]
	}
	*s = (*s)[:len(rows)]
}
