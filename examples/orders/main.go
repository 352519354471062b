// Orders is a job that survives: keyed state, timers, windows and a join over a stream of orders and payments, with files
// that hold every row once, whatever is killed on the way.
//
//	go run ./examples/orders --out DIR --workers 3 -D execution.checkpointing.dir=DIR2
//
// Kill any of its processes (kill -9), the first one too, and start the same command again: it goes on from its latest
// checkpoint. See README.md beside this file.
package main

import (
	"flag"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/file"
	"github.com/weir-stream/weir/connector/generator"
	"github.com/weir-stream/weir/state"
	"github.com/weir-stream/weir/window"
)

func main() { weir.Main(build) }

// Order is one order. A customer orders ordersPerCustomer times, within a minute or so, and never again.
type Order struct {
	ID       int64
	Customer int64
	Region   int64
	Cents    int64
	At       int64 // ms
}

// Payment pays every paidEvery-th order, a few seconds later.
type Payment struct {
	Order int64
	Cents int64
	At    int64 // ms
}

const (
	start             = int64(1_700_000_000_000) // ms, a full minute
	ordersPerCustomer = 200
	customersAtOnce   = 250
	regions           = 64
	paidEvery         = 16
	block             = ordersPerCustomer * customersAtOnce
)

// order makes the i-th order; an order comes every millisecond.
func order(i int64) Order {
	return Order{ID: i, Customer: i/block*customersAtOnce + i%customersAtOnce, Region: i % regions, Cents: 100 + i*7919%9901, At: start + i}
}

func payment(j int64) Payment {
	o := order(j * paidEvery)
	return Payment{Order: o.ID, Cents: o.Cents, At: o.At + j%5000}
}

// Complete is a customer who has ordered for the last time, told by keyed state.
type Complete struct {
	Customer int64 `json:"customer"`
	Orders   int64 `json:"orders"`
	Cents    int64 `json:"cents"`
}

// Quiet is a customer of whom nothing was heard for a while, told by a timer.
type Quiet struct {
	Customer int64 `json:"customer"`
	Orders   int64 `json:"orders"`
}

// Turnover is what a region has ordered, or paid, in a minute.
type Turnover struct {
	Region int64  `json:"region"`
	Minute string `json:"minute"`
	Orders int64  `json:"orders"`
	Cents  int64  `json:"cents"`
}

func build(env *weir.Env) error {
	fs := flag.NewFlagSet("orders", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	rows := fs.Int64("rows", 10_000_000, "orders, a multiple of 50000")
	out := fs.String("out", "", "folder of the results")
	if err := fs.Parse(env.Args()); err != nil {
		return err
	}
	if *out == "" || *rows < block || *rows%block != 0 {
		return fmt.Errorf("usage: orders --out DIR [--rows N], N a multiple of %d (--help lists the other flags)", block)
	}
	env.Name("orders")
	orders := weir.From(env, "orders", generator.Of(order, generator.Count(*rows)),
		weir.EventTime(func(o Order) time.Time { return time.UnixMilli(o.At) }, weir.OutOfOrder(0), weir.Aligned(time.Minute)))
	payments := weir.From(env, "payments", generator.Of(payment, generator.Count(*rows/paidEvery)),
		weir.EventTime(func(p Payment) time.Time { return time.UnixMilli(p.At) }, weir.OutOfOrder(5*time.Second), weir.Aligned(time.Minute)))

	byCustomer := orders.KeyBy(func(o Order) int64 { return o.Customer })
	byCustomer.
		Process("complete", func() weir.KeyedProcess[int64, Order, Complete] { return &completes{} }).
		To("complete files", file.JSONSink[Complete](path.Join(*out, "complete")))
	byCustomer.
		Process("quiet", func() weir.KeyedProcess[int64, Order, Quiet] { return &quiets{} }).
		To("quiet files", file.JSONSink[Quiet](path.Join(*out, "quiet")))
	turnover("ordered", orders).
		To("ordered files", file.JSONSink[Turnover](path.Join(*out, "ordered")))
	paid := orders.Filter(func(o Order) bool { return o.ID%paidEvery == 0 }).
		KeyBy(func(o Order) int64 { return o.ID }).
		JoinInterval("paid", payments.KeyBy(func(p Payment) int64 { return p.Order }), 0, 5*time.Second).
		Inner(func(o Order, p Payment) Order { return Order{ID: o.ID, Region: o.Region, Cents: p.Cents, At: o.At} })
	turnover("paid turnover", paid).
		To("paid files", file.JSONSink[Turnover](path.Join(*out, "paid")))
	return nil
}

// turnover sums up orders by region and minute.
func turnover(name string, orders weir.Stream[Order]) weir.Stream[Turnover] {
	return orders.KeyBy(func(o Order) int64 { return o.Region }).
		Window(name, window.Tumbling(time.Minute)).
		Aggregate(weir.Both(weir.Count[Order](), weir.Sum(func(o Order) int64 { return o.Cents }))).
		Map(func(w weir.Windowed[int64, weir.Pair[int64, int64]]) Turnover {
			return Turnover{w.Key, w.Start().UTC().Format(time.RFC3339), w.Value.First, w.Value.Second}
		})
}

// completes keeps the sums of each customer until the last order has come.
type completes struct{ seen state.Value[Complete] }

func (c *completes) Open(ctx *weir.KeyedContext[int64]) error {
	c.seen = ctx.State(state.ValueOf[Complete]("seen"))
	return nil
}

func (c *completes) Process(ctx *weir.KeyedContext[int64], o Order, out weir.Out[Complete]) error {
	sum, _ := c.seen.Get()
	sum.Customer, sum.Orders, sum.Cents = o.Customer, sum.Orders+1, sum.Cents+o.Cents
	if sum.Orders < ordersPerCustomer {
		c.seen.Set(sum)
		return nil
	}
	c.seen.Clear()
	out.Emit(sum)
	return nil
}

// quiets sets a timer with each customer's first order, for when the last one must have come.
type quiets struct{ orders state.Value[int64] }

const quietAfter = 2 * time.Minute

func (q *quiets) Open(ctx *weir.KeyedContext[int64]) error {
	q.orders = ctx.State(state.ValueOf[int64]("orders"))
	return nil
}

func (q *quiets) Process(ctx *weir.KeyedContext[int64], o Order, _ weir.Out[Quiet]) error {
	n, _ := q.orders.Get()
	if n == 0 {
		ctx.RegisterEventTimer(time.UnixMilli(o.At).Truncate(time.Minute).Add(quietAfter))
	}
	q.orders.Set(n + 1)
	return nil
}

func (q *quiets) OnTimer(ctx *weir.KeyedContext[int64], _ weir.Timer, out weir.Out[Quiet]) error {
	n, _ := q.orders.Get()
	q.orders.Clear()
	out.Emit(Quiet{ctx.Key(), n})
	return nil
}
