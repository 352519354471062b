// Package physical has the plan that is executed: a tree (with shared parts, a graph) of operators, each saying how its inputs are
// distributed, what changes it emits, and by what name its state is found. The optimiser makes it, package exec carries it out, EXPLAIN
// prints it.
//
//	node.go        what all nodes have
//	stateless.go   scan, calc, watermarks, union, expand, correlate, values, sink
//	aggregate.go   group aggregation and windows
//	rank.go        rank, deduplication, sorting, OVER
//	join.go        joins
//
// Nodes are built once and not changed afterwards. All expressions are over the columns of the node's input; aggregates, keys and orders
// name columns, so what is computed for them is computed by a Calc before. The package is pure.
package physical
