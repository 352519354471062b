package weir

import (
	"fmt"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/sink"
	"github.com/weir-stream/weir/internal/xsync"
)

// SinkHandle is the end of a stream; its methods set what the sink's operator runs with.
type SinkHandle struct {
	env  *Env
	node *graph.Node
}

// To writes the stream to a sink under that name.
func (s Stream[T]) To(name string, dst connector.Sink[T]) SinkHandle {
	n := graph.Node{Name: name, Kind: "sink", Sink: true}
	if dst == nil {
		s.env.problem("graph.sink.nil", "the sink passed to To is nil", "pass a sink such as print.Sink[Row]()")
	} else {
		n.Desc = dst.Name()
		if c, ok := dst.(connector.Checker); ok {
			if err := c.Check(); err != nil {
				s.env.problem("graph.sink.invalid", fmt.Sprintf("sink %q cannot work: %v", name, err), "mend the sink's row type or options")
			}
		}
		n.Factory = operator.Maker(func() operator.Operator { return sink.New(dst) })
		if l, ok := dst.(connector.InProcess); ok {
			n.Local = l.InProcess()
		}
		if m, ok := dst.(connector.MaxParallelism); ok {
			n.MaxParallelism = m.MaxParallelism()
		}
	}
	node := s.then(n)
	if taker, ok := dst.(connector.SideTaker); ok {
		env := s.env
		var mu xsync.Mutex
		env.sides[node.ID] = func(subtask int, payload []byte) error {
			mu.Lock()
			defer mu.Unlock()
			return taker.TakeSide(subtask, payload, env.out)
		}
	}
	return SinkHandle{env: s.env, node: node}
}

// Parallelism sets how many subtasks the sink has.
func (h SinkHandle) Parallelism(n int) SinkHandle {
	Stream[struct{}]{env: h.env, origins: []origin{{node: h.node}}}.Parallelism(n)
	return h
}

// DisableChaining gives the sink a task of its own.
func (h SinkHandle) DisableChaining() SinkHandle {
	h.node.Chaining = graph.ChainNever
	return h
}

// SlotGroup puts the sink into a slot sharing group.
func (h SinkHandle) SlotGroup(group string) SinkHandle {
	h.node.SlotGroup = group
	return h
}

// UID gives the sink an identity for its state that differs from its name.
func (h SinkHandle) UID(uid string) SinkHandle {
	h.node.UID = uid
	return h
}
