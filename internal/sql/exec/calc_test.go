package exec_test

import (
	"fmt"
	"testing"

	"github.com/weir-stream/weir/column"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/nexmark"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/sql/datatype"
	"github.com/weir-stream/weir/internal/sql/exec"
	"github.com/weir-stream/weir/internal/sql/expr"
	"github.com/weir-stream/weir/internal/sql/physical"
	"github.com/weir-stream/weir/internal/sql/vec"
)

var (
	bigint = datatype.Of(datatype.BigInt)
	text   = datatype.String()
	truth  = datatype.Of(datatype.Boolean)
	bid    = datatype.RowOf([]string{"auction", "bidder", "price", "channel", "url", "dateTime", "extra"},
		[]datatype.Type{bigint, bigint, bigint, text, text, datatype.Sized(datatype.Timestamp, 3), text})
)

func call(name string, of datatype.Type, args ...expr.Expr) expr.Expr {
	return &expr.Call{Fn: &expr.Function{Name: name}, Args: args, Of: of}
}

func fieldOfBid(i int) expr.Expr {
	return &expr.Call{Fn: &expr.Function{Name: "FIELD"}, Args: []expr.Expr{&expr.Column{Index: 3, Name: "bid", Of: bid}}, Of: bid.Of[i],
		Options: map[string]string{"index": fmt.Sprint(i)}}
}

// bids is a plan that keeps bids of a price above a limit, with the price in another currency.
func bids(limit int64) *physical.Calc {
	kind := &expr.Column{Index: 0, Name: "event_type", Of: datatype.Of(datatype.Int)}
	c := &physical.Calc{Filter: call("AND", truth, call("=", truth, kind, &expr.Literal{Value: int64(2), Of: datatype.Of(datatype.Int)}),
		call(">", truth, fieldOfBid(2), &expr.Literal{Value: limit, Of: bigint}))}
	for i := range bid.Of {
		e := fieldOfBid(i)
		if i == 2 {
			e = call("*", bigint, e, &expr.Literal{Value: int64(3), Of: bigint})
		}
		c.Project = append(c.Project, e)
		c.Out = append(c.Out, physical.Column{Name: bid.Names[i], Type: bid.Of[i]})
	}
	return c
}

// into collects batches, or drops them.
type into struct {
	keep func(*column.Batch)
	rows int
}

func (c *into) Emit(b event.Batch) error {
	if c.keep != nil {
		c.keep(b.(*event.Columns).B)
	}
	c.rows += b.Len()
	b.Release()
	return nil
}
func (c *into) EmitSide(string, event.Batch) error { return nil }

// A filter and a projection give what a plain loop over the events gives.
func TestCalc(t *testing.T) {
	const n, limit = 1000, 500_000
	g, pool := nexmark.New(nexmark.Defaults), event.NewColumnPool(nexmark.Schema(), n)
	model := pool.Get()
	g.Fill(model.B, 0, 1, n)
	var want []string
	v := model.B.Vector(3)
	for i := range n {
		if price := column.Values[int64](v.Child(2))[i]; !v.Null(i) && price > limit {
			want = append(want, fmt.Sprintf("%d %d %s", column.Values[int64](v.Child(0))[i], price*3, v.Child(6).Text(i)))
		}
	}
	var got []string
	sink := &into{keep: func(b *column.Batch) {
		for _, i := range b.Live {
			got = append(got, fmt.Sprintf("%d %d %s", column.Values[int64](b.Vector(0))[i], column.Values[int64](b.Vector(2))[i], b.Vector(6).Text(int(i))))
		}
	}}
	o := exec.NewCalc(bids(limit), &vec.Env{})
	if err := o.Open(&operator.Context{}, sink); err != nil {
		t.Fatal(err)
	}
	in := pool.Get()
	g.Fill(in.B, 0, 1, n)
	if err := o.Process(0, in); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || len(want) < 100 {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
}

// The cost of an event that is made, filtered and projected; the generator alone beside it is BenchmarkFill of package nexmark.
func BenchmarkCalc(b *testing.B) {
	g, pool := nexmark.New(nexmark.Defaults), event.NewColumnPool(nexmark.Schema(), 0)
	o := exec.NewCalc(bids(0), &vec.Env{})
	if err := o.Open(&operator.Context{}, &into{}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; i < b.N; i += column.DefaultRows {
		in := pool.Get()
		g.Fill(in.B, uint64(i), 1, column.DefaultRows)
		if err := o.Process(0, in); err != nil {
			b.Fatal(err)
		}
	}
}
