package jobmanager

import (
	"context"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/rpc"
)

// sideWindowMax is how many payloads of one operator of one task may be under way; the workers keep to it
// (taskmanager.SideWindow is not larger), the master only checks.
const sideWindowMax = 64

// sideGenerationsMax is how many generations may leave a full window each before the client takes any of it.
const sideGenerationsMax = 16

// sides brings side rows to the client: a queue and a goroutine for each operator, so that a client who lets one operator
// wait does not hold up another. Everything here belongs to the master's goroutine but run.
type sides struct {
	sink    SideSink
	queues  map[sourceKey]chan sideItem
	seq     map[rpc.OpRef]uint64 // the last that came
	pending int                  // rows that have come and were not taken yet
}

type sideItem struct {
	from       ids.WorkerID
	generation ids.Generation
	side       *rpc.Side
}

// onSide takes a payload from a worker.
func (m *Master) onSide(from ids.WorkerID, b *rpc.Side) {
	last := m.sides.seq[b.Source]
	if b.Seq <= last {
		return // twice
	}
	if b.Seq != last+1 {
		m.fail(errs.New(errs.CodeBug, errs.ClassBug, "worker "+string(from), "side rows %d of %v came after %d", b.Seq, b.Source, last))
		return
	}
	m.sides.seq[b.Source] = b.Seq
	if m.sides.sink == nil {
		m.acknowledge(sideItem{from, m.regions.generation[m.job.region(b.Source.Task)], b})
		return
	}
	key := sourceKey{int32(b.Source.Task.Vertex), b.Source.Op}
	queue := m.sides.queues[key]
	if queue == nil {
		queue = make(chan sideItem, sideGenerationsMax*sideWindowMax*len(m.job.Placement[key.vertex]))
		m.sides.queues[key] = queue
		m.foreign.Go(func() { m.runSide(m.sideLife, queue) })
	}
	select {
	case queue <- sideItem{from, m.regions.generation[m.job.region(b.Source.Task)], b}:
		m.sides.pending++
	default:
		m.fail(errs.New(errs.CodeLimit, errs.ClassBug, "worker "+string(from), "it sends more side rows of %v than it may", b.Source))
	}
}

// runSide hands the rows of one operator to the client.
func (m *Master) runSide(ctx context.Context, queue <-chan sideItem) {
	for {
		var it sideItem
		select {
		case it = <-queue:
		case <-ctx.Done():
			return
		}
		err := m.sides.sink.Rows(ctx, it.side.Source, it.side.Payload)
		if ctx.Err() != nil {
			return
		}
		m.post(func() { m.sideTaken(it, err) })
		if err != nil {
			return
		}
	}
}

func (m *Master) sideTaken(it sideItem, err error) {
	m.sides.pending--
	if err != nil {
		if errs.CodeOf(err) == "" { // else it says enough
			key := sourceKey{int32(it.side.Source.Task.Vertex), it.side.Source.Op}
			err = errs.Wrap(err, errs.CodeSink, errs.ClassFailJob, m.job.operatorName(key), "the client does not take its rows")
		}
		e := *rpc.FailureOf(err)
		e.Class = max(e.Class, errs.ClassFailJob) // the client would be given the same rows again
		m.fail(&e)
		return
	}
	m.acknowledge(it)
}

// acknowledge tells a worker that rows were taken.
func (m *Master) acknowledge(it sideItem) {
	if p := m.workers[it.from]; p != nil {
		m.put(p, it.generation, &rpc.SideAck{Source: it.side.Source, Seq: it.side.Seq})
	}
}
