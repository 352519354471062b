// Package conntest holds what tests of connectors need: a conformance suite for sources (Source) and for sinks (Sink), and
// a file system in memory (FS). Implementations outside this module are meant to run it too.
package conntest
