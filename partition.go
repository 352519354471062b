package weir

import (
	"fmt"
	"runtime/debug"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/operator"
)

func (s Stream[T]) partitioned(p graph.Partition) Stream[T] {
	p.Explicit = true
	s.part = p
	return s
}

// Forward sends each row to the consumer's subtask of the same number; both sides must have the same parallelism.
func (s Stream[T]) Forward() Stream[T] { return s.partitioned(graph.Partition{Kind: graph.Forward}) }

// Rebalance spreads rows evenly over all subtasks of the consumer, in turn.
func (s Stream[T]) Rebalance() Stream[T] {
	return s.partitioned(graph.Partition{Kind: graph.Rebalance})
}

// Rescale spreads rows in turn over the consumer's subtasks that are near: each producer feeds a part of the consumers.
func (s Stream[T]) Rescale() Stream[T] { return s.partitioned(graph.Partition{Kind: graph.Rescale}) }

// Shuffle sends each row to a subtask of the consumer chosen at random.
func (s Stream[T]) Shuffle() Stream[T] { return s.partitioned(graph.Partition{Kind: graph.Shuffle}) }

// Broadcast sends each row to every subtask of the consumer.
func (s Stream[T]) Broadcast() Stream[T] {
	return s.partitioned(graph.Partition{Kind: graph.Broadcast})
}

// Global sends all rows to the consumer's first subtask.
func (s Stream[T]) Global() Stream[T] { return s.partitioned(graph.Partition{Kind: graph.Global}) }

// PartitionBy sends each row to the subtask that choose returns, 0 <= choose < n where n is the consumer's parallelism. What
// is out of range fails the job.
func (s Stream[T]) PartitionBy(choose func(v T, n int) int) Stream[T] {
	s.notNil(choose == nil, "PartitionBy")
	at := here()
	maker := operator.ChooserMaker(func() operator.Chooser {
		row := 0
		return func(b event.Batch, n int, targets []int32) {
			in := b.(*event.Records[T])
			defer rowPanic("PartitionBy", at, in, &row)
			if in.Live == nil {
				for row = range in.Rows {
					targets[row] = int32(choose(in.Rows[row], n))
				}
				return
			}
			for i, j := range in.Live {
				row = int(j)
				targets[i] = int32(choose(in.Rows[j], n))
			}
		}
	})
	return s.partitioned(graph.Partition{Kind: graph.Custom, Fn: maker})
}

// rowPanic is deferred around functions that are called for the rows of a batch on their way out of a task: it gives a panic
// the place in the program, since the operator is only the one in front, and the row.
func rowPanic[T any](call string, at graph.Position, in *event.Records[T], row *int) {
	p := recover()
	if p == nil {
		return
	}
	panic(&errs.Error{Code: errs.CodeUserPanic, Class: errs.ClassFailTask, Op: fmt.Sprintf("%s at %s", call, at),
		Msg: fmt.Sprintf("panic: %v%s\n%s", p, operator.RowText(in.Rows[*row], in.Times[*row]), operator.TrimStack(debug.Stack()))})
}
