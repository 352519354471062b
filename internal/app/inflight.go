package app

import (
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/task"
)

// channelsOf says how the channels of a task take part in unaligned checkpoints. Rows whose type has no encoding take part in
// none: their channels stay aligned, as those do whose rows could not be routed again.
func (b *builder) channelsOf(inputs []graph.Channel) []task.Channel {
	out := make([]task.Channel, len(inputs))
	codecs := map[int]event.Codec{}
	for i, ch := range inputs {
		e := b.x.Job.Edges[ch.ID.Edge].Edge
		if out[i].Route = routeOf(e.Partition.Kind); out[i].Route == task.RouteNone {
			continue
		}
		codec, known := codecs[ch.ID.Edge]
		if make, ok := e.Codec.(operator.CodecMaker); ok && !known {
			codec, _ = make()
			codecs[ch.ID.Edge] = codec
		}
		out[i].Codec = codec
	}
	return out
}

// routeOf says how the rows of an edge find their subtask when its number has changed.
func routeOf(k graph.PartitionKind) task.Route {
	switch k {
	case graph.Keyed:
		return task.RouteKeyed
	case graph.Rebalance, graph.Shuffle:
		return task.RouteAny
	}
	return task.RouteNone
}
