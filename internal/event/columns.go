package event

import (
	"sync"

	"github.com/weir-stream/weir/column"
	"github.com/weir-stream/weir/internal/errs"
)

// Columns is a column.Batch that moves through the runtime, as Records is for typed rows.
type Columns struct {
	// B holds the rows. Its owner may change it; after Release it must not be touched.
	B *column.Batch

	pool *ColumnPool
	//lint:ignore U1000 used by the forms of poison.go that build tags select
	free bool
}

// Len implements Batch.
func (c *Columns) Len() int { return c.B.Len() }

// Sel implements Batch.
func (c *Columns) Sel() []int32 { return c.B.Live }

// Hashes implements Batch.
func (c *Columns) Hashes() []uint64 {
	if len(c.B.Hashes) == 0 {
		return nil
	}
	return c.B.Hashes
}

// Room implements Batch.
func (c *Columns) Room() int { return c.B.Room() }

// New implements Batch.
func (c *Columns) New() Batch { return c.pool.Get() }

// CopyTo implements Batch.
func (c *Columns) CopyTo(dst Batch, rows []int32) int { return c.B.CopyTo(dst.(*Columns).B, rows) }

// Release implements Batch.
func (c *Columns) Release() { c.pool.put(c) }

// ColumnPool recycles the batches of one schema, last in first out. Get may be called from one goroutine and Release from
// another.
type ColumnPool struct {
	schema *column.Schema
	rows   int

	mu   sync.Mutex
	free []*Columns
}

// NewColumnPool returns a pool of batches of up to rows rows (0: the default of package column).
func NewColumnPool(s *column.Schema, rows int) *ColumnPool { return &ColumnPool{schema: s, rows: rows} }

// Get returns an empty batch.
func (p *ColumnPool) Get() *Columns {
	p.mu.Lock()
	if n := len(p.free); n > 0 {
		c := p.free[n-1]
		p.free = p.free[:n-1]
		p.mu.Unlock()
		takenColumns(c)
		return c
	}
	p.mu.Unlock()
	return &Columns{B: column.New(p.schema, p.rows), pool: p}
}

func (p *ColumnPool) put(c *Columns) {
	releasedColumns(c)
	c.B.Reset()
	p.mu.Lock()
	if len(p.free) < poolFree {
		p.free = append(p.free, c)
	}
	p.mu.Unlock()
}

// columnsCodec is the wire form of Columns: that of column.Batch.
type columnsCodec struct{ pool *ColumnPool }

// ColumnsCodec returns the codec of the batches of pool.
func ColumnsCodec(pool *ColumnPool) Codec { return columnsCodec{pool} }

// Encode implements Codec.
func (x columnsCodec) Encode(dst []byte, b Batch) ([]byte, error) {
	return b.(*Columns).B.AppendWire(dst), nil
}

// Decode implements Codec.
func (x columnsCodec) Decode(src []byte) (Batch, error) {
	c := x.pool.Get()
	if err := c.B.ReadWire(src); err != nil {
		c.Release()
		return nil, errs.Wrap(err, errs.CodeWire, errs.ClassFailTask, "", "a batch of columns cannot be read")
	}
	return c, nil
}
