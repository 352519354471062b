package weir

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"time"

	"github.com/weir-stream/weir/internal/app"
	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/events"
	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/netx"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/sink"
	"github.com/weir-stream/weir/internal/proc"
	"github.com/weir-stream/weir/internal/xsync"
)

// Result is what is known of a job when it has ended.
type Result struct {
	// Job is the job's name.
	Job string
	// Duration is how long its tasks ran.
	Duration time.Duration
	// Restarts is how often it was restarted after a failure.
	Restarts int
	// Checkpoints is how many checkpoints and savepoints were completed.
	Checkpoints int
	// Operators are in the order in which build described them. What a task counts begins anew when it is restarted.
	Operators []OperatorResult
}

// OperatorResult is what one operator counted, added up over its subtasks.
type OperatorResult struct {
	// Name and Kind are the operator's; an operator without a name has one made of its kind and number.
	Name, Kind string
	// Parallelism is the number of subtasks.
	Parallelism int
	// RowsIn and RowsOut count rows; of a source, RowsIn are the rows it read.
	RowsIn, RowsOut int64
	// Late counts rows behind the watermark, Bad records that could not be decoded, NoTime rows without event time, and
	// Unread rows sent to a side output that nobody reads.
	Late, Bad, NoTime, Unread int64
	// Counters are the counters that user functions added to, by name.
	Counters map[string]int64
}

// Operator returns the operator of that name; ok is false if there is none.
func (r *Result) Operator(name string) (OperatorResult, bool) {
	for _, o := range r.Operators {
		if o.Name == name {
			return o, true
		}
	}
	return OperatorResult{}, false
}

func resultOf(r *app.Result) *Result {
	if r == nil {
		return nil
	}
	out := &Result{Job: r.Job, Duration: r.Duration, Restarts: int(r.Checkpoints.Restarts), Checkpoints: int(r.Checkpoints.Completed)}
	for _, f := range r.Operators {
		out.Operators = append(out.Operators, OperatorResult{Name: f.Name, Kind: f.Kind, Parallelism: f.Parallelism,
			RowsIn: f.RowsIn, RowsOut: f.RowsOut, Late: f.Late, Bad: f.Bad, NoTime: f.NoTime, Unread: f.Unread, Counters: f.Counters})
	}
	return out
}

// Execute runs the job that env describes on an embedded cluster, in this process, until it ends or ctx does. The result
// is set also when the job has failed, as far as it is known.
func (e *Env) Execute(ctx context.Context) (*Result, error) {
	plan, err := app.NewPlan(e.program())
	if err != nil {
		return nil, err
	}
	r, err := app.RunnerOf(ctx)(ctx, e.world(), plan)
	if err == nil {
		e.ended(r)
	}
	return resultOf(r), err
}

// Explain returns the plan as text: chains, parallelism, partitioning, state, and the line of the program that each
// operator comes from. It returns an error that lists all that is wrong with the program.
func (e *Env) Explain() (string, error) {
	plan, err := app.NewPlan(e.program())
	if err != nil {
		return "", err
	}
	return graph.Explain(plan.Job), nil
}

func (e *Env) program() app.Program {
	return app.Program{Graph: e.g, Config: e.conf, Sides: e.sides, AtEnd: e.ended, Started: e.started}
}

func (e *Env) ended(r *app.Result) {
	for _, f := range e.atEnd {
		f(resultOf(r))
	}
}

func (e *Env) world() app.World {
	return app.World{Clock: clock.Real{}, FS: app.Files(fs.Real{}), Log: slog.Default(), Events: events.Log(slog.Default()), Network: netx.Real{}, Host: proc.Self().Host,
		Rand: rand.Reader}
}

// Collect runs the job of the stream's environment and yields the stream's rows as they come, in no particular order. The
// job is cancelled when the loop is left. An error of the job panics at the end of the loop, unless the loop has been left
// or ctx has ended; use CollectErr to handle it.
func (s Stream[T]) Collect(ctx context.Context) iter.Seq[T] {
	rows := s.CollectErr(ctx)
	return func(yield func(T) bool) {
		for v, err := range rows {
			if err != nil {
				panic(fmt.Errorf("weir: the job failed: %w", err))
			}
			if !yield(v) {
				return
			}
		}
	}
}

// CollectErr is Collect for loops that handle the job's error: it comes as the last pair, with a zero row. Either can be
// ranged over once.
func (s Stream[T]) CollectErr(ctx context.Context) iter.Seq2[T, error] {
	rows, used := make(chan []T), false
	ctx, cancel := context.WithCancel(ctx)
	s.collect(func(batch []T) error {
		select {
		case rows <- batch:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return func(yield func(T, error) bool) {
		if used {
			var zero T
			yield(zero, errs.New(errs.CodePlanInvalid, errs.ClassUser, "", "the rows of Collect have been read already: a job runs once; gather them in a slice"))
			return
		}
		used = true
		defer cancel()
		failed := make(chan error, 1)
		go func() {
			_, err := s.env.Execute(ctx)
			failed <- err
			close(rows)
		}()
		defer func() { // the job ends before the loop does
			cancel()
			for range rows {
			}
		}()
		for batch := range rows {
			for _, v := range batch {
				if !yield(v, nil) {
					return
				}
			}
		}
		if err := <-failed; err != nil {
			var zero T
			yield(zero, err)
		}
	}
}

// Gathered holds the rows of a stream in the memory of the process that started the job.
type Gathered[T any] struct {
	mu   xsync.Mutex
	rows []T
}

// Rows returns what has come so far; after the job has ended, all rows, in no particular order.
func (g *Gathered[T]) Rows() []T {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.rows)
}

// Gather adds a sink that keeps the stream's rows for the program to look at when the job has ended, for instance in
// Env.AtEnd. It is meant for results that fit in memory. In worker processes the Gathered stays empty. In a job with
// checkpoints a row comes when its checkpoint is complete, and once, also through failures.
func (s Stream[T]) Gather() *Gathered[T] {
	g := &Gathered[T]{}
	s.collect(func(rows []T) error {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.rows = append(g.rows, rows...)
		return nil
	})
	return g
}

// AtEnd has f called when the job has finished, in the process that started it. It is called for jobs run by Main and by
// Execute, not when the job has failed or was cancelled.
func (e *Env) AtEnd(f func(*Result)) {
	if f == nil {
		e.problem("graph.function.nil", nilFunc("AtEnd"), "pass a function")
		return
	}
	e.atEnd = append(e.atEnd, f)
}

// collect adds a sink that hands the stream's rows to take, one call at a time for each subtask.
func (s Stream[T]) collect(take func(rows []T) error) {
	name := fmt.Sprintf("collect-%d", len(s.env.g.Nodes))
	n := s.then(graph.Node{Name: name, Kind: "collect", Sink: true, Factory: operator.Maker(sink.NewCollect[T])})
	taken := &sink.Collected{}
	s.env.sides[n.ID] = func(_ int, payload []byte) error {
		rows, err := taken.Take(payload)
		if err != nil || rows == nil {
			return err
		}
		codec, err := basic.RecordsCodec[T]()
		if err != nil {
			return err
		}
		b, err := codec.Decode(rows)
		if err != nil {
			return err
		}
		return take(b.(*event.Records[T]).Rows)
	}
}
