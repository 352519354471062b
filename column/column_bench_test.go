package column_test

import (
	"fmt"
	"testing"

	"github.com/weir-stream/weir/column"
)

// order is a row of seven fields with about 170 bytes of strings, as in the measurement that the form was chosen by.
type order struct {
	ID       int64
	Price    float64
	Count    int32
	Customer string
	Address  string
	Comment  string
	Time     int64
}

func orders(n int) []order {
	rows := make([]order, n)
	for i := range rows {
		rows[i] = order{ID: int64(i), Price: float64(i) / 3, Count: int32(i % 7), Customer: fmt.Sprintf("customer-%030d", i),
			Address: fmt.Sprintf("street-%040d", i), Comment: fmt.Sprintf("comment-%076d", i), Time: int64(i) * 1000}
	}
	return rows
}

// byHand does the same for this one type, as the bound.
func byHand(rows []order, nums [4][]int64, text *[3][]byte, offs *[3][]int32) {
	for i := range rows {
		r := &rows[i]
		nums[0][i], nums[1][i], nums[2][i], nums[3][i] = r.ID, int64(r.Price), int64(r.Count), r.Time
		for k, s := range [3]string{r.Customer, r.Address, r.Comment} {
			text[k] = append(text[k], s...)
			offs[k] = append(offs[k], int32(len(text[k])))
		}
	}
}

func BenchmarkRowsToColumns(b *testing.B) {
	rows := orders(column.DefaultRows)
	b.Run("compiled", func(b *testing.B) {
		c, err := column.For[order]()
		if err != nil {
			b.Fatal(err)
		}
		batch := column.New(c.Schema(), 0)
		b.ReportAllocs()
		for n := b.N; n > 0; n -= len(rows) {
			batch.Reset()
			c.Append(batch, rows[:min(n, len(rows))])
		}
	})
	b.Run("by-hand", func(b *testing.B) {
		var nums [4][]int64
		for i := range nums {
			nums[i] = make([]int64, len(rows))
		}
		var text [3][]byte
		var offs [3][]int32
		b.ReportAllocs()
		for n := b.N; n > 0; n -= len(rows) {
			for k := range text {
				text[k], offs[k] = text[k][:0], offs[k][:0]
			}
			byHand(rows[:min(n, len(rows))], nums, &text, &offs)
		}
	})
}

func BenchmarkColumnsToRows(b *testing.B) {
	c, err := column.For[order]()
	if err != nil {
		b.Fatal(err)
	}
	batch := column.New(c.Schema(), 0)
	c.Append(batch, orders(column.DefaultRows))
	out := make([]order, 0, column.DefaultRows)
	b.ReportAllocs()
	for n := b.N; n > 0; n -= column.DefaultRows {
		out = c.Rows(batch, out[:0])
	}
}

func BenchmarkCopyHalf(b *testing.B) {
	c, err := column.For[order]()
	if err != nil {
		b.Fatal(err)
	}
	batch, dst := column.New(c.Schema(), 0), column.New(c.Schema(), 0)
	c.Append(batch, orders(column.DefaultRows))
	var rows []int32
	for i := 0; i < column.DefaultRows; i += 2 {
		rows = append(rows, int32(i))
	}
	b.ReportAllocs()
	for n := b.N; n > 0; n -= len(rows) {
		dst.Reset()
		batch.CopyTo(dst, rows)
	}
}
