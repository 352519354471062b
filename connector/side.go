package connector

import "io"

// SideTaker is implemented by sinks whose writers send payloads through WriterContext.Side. TakeSide is called in the
// process that started the job, for the payloads of one subtask in their order and for one payload at a time; out is where
// that program prints. payload may be kept. An error fails the job.
type SideTaker interface {
	TakeSide(subtask int, payload []byte, out io.Writer) error
}
