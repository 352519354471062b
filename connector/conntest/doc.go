// Package conntest holds what tests of connectors need: a conformance suite for sources (Source), for sinks (Sink) and for
// their two-phase commit (TwoPhase), and a file system in memory (FS). Implementations outside this module are meant to run it too.
package conntest
