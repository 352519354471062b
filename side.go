package weir

import (
	"fmt"

	"github.com/weir-stream/weir/internal/graph"
)

// Tag names a side output and the type of its rows. Make one with NewTag, hand it to the operator that emits to it and to
// Side, which reads it.
type Tag[T any] struct{ name string }

// NewTag returns the tag of the side output of that name. Two tags of one name are the same output.
func NewTag[T any](name string) Tag[T] { return Tag[T]{name: name} }

// Name returns the name of the side output.
func (t Tag[T]) Name() string { return t.name }

// Side returns the rows that the operator which produces s emits to the side output. A side output that nobody reads costs
// nothing; its rows are counted.
func (s Stream[T]) Side[U any](tag Tag[U]) Stream[U] {
	if tag.name == "" {
		s.env.problem("graph.side.name", "the side output's tag has no name", `make it with weir.NewTag[...]("late")`)
	}
	out := Stream[U]{env: s.env}
	for _, o := range s.origins {
		if o.side != "" {
			s.env.problem("graph.side.nested", fmt.Sprintf("%q is read from side output %q of %s", tag.name, o.side, o.node.Label()),
				"call Side on the operator's main output")
			continue
		}
		out.origins = append(out.origins, origin{node: o.node, side: tag.name})
	}
	return out
}

// declare adds a side output to those that a node has in any case.
func declare[T any](n *graph.Node, tag Tag[T]) {
	if tag.name != "" {
		n.SideOutputs, n.SideTypes = append(n.SideOutputs, tag.name), append(n.SideTypes, typeName[T]())
	}
}
