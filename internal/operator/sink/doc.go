// Package sink is the operator in front of a connector's Writer: it hands over batches, flushes when the input runs dry and
// before barriers, and turns the writer's errors and panics into ones that name the operator.
package sink
