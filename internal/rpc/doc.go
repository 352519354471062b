// Package rpc carries the control messages between a job's master (in the JobManager) and its workers (TaskManagers).
//
// A Message is a plain struct: an envelope (job, generation, term) and one of a closed list of bodies (message.go). A Conn
// carries messages in both directions, in order, at most once. It has two forms with one contract and one conformance
// suite (rpctest):
//
//	Pair        two ends in one process, for the embedded cluster and the simulation; messages are passed by reference
//	Serve/Dial  one gRPC stream per worker over mutual TLS (grpc.go, secret.go), messages in the encoding of wire.go,
//	            which docs/format/control.md describes byte by byte
//
// Whoever has handed a message to Send must not change it any more, and whoever has received one must not change it
// either: in the in-memory form both look at the same memory.
//
// Control traffic is small and must never be a reason for blocking a task or a master: both put an Outbox before their
// Conn, a bounded queue with one writer. A peer that lets the queue run full is given up like one that has died.
//
// The package knows nothing of tasks, plans or machines; job ids, vertices and operators are numbers to it.
package rpc
