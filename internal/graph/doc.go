// Package graph turns a program into something that can be deployed, in three steps, each a pure function:
//
//	Graph           what the user wrote: operators (Node) and how rows pass between them (Edge)
//	  Check         all that is wrong with it, at once, each problem with the user's source line
//	  Chain
//	JobGraph        vertices (chains of operators that run in one task) and the edges between them
//	  Expand
//	ExecutionGraph  tasks (parallel instances) with slot and worker, and the channels between them
//
// Beside them stand Fingerprint (do two processes have the same plan?), Explain and PlanJSON (what would run?) and
// Regions (what must restart together?).
//
// The package is pure: no goroutine, clock, I/O or randomness; no operator's implementation. A node carries an opaque
// Factory, an edge an opaque Codec and partitioner, which the composition root matches to code. The same input gives the
// same output, down to the order of every slice: processes that build the same graph number its vertices, tasks and
// channels alike without speaking to each other.
//
// A Graph belongs to one goroutine while it is built. A JobGraph and an ExecutionGraph are not changed after they are
// returned and may be read by any goroutine.
package graph
