package operator

import (
	"github.com/weir-stream/weir/internal/events"
)

// The methods below tell the process's listener what has happened at the operator, with its place. They are for the task's
// goroutine, and do nothing if nobody listens.

// NoteBadRecord tells of a record that could not be decoded. where is the record's place; action is fail, skip or quarantine.
func (c *Context) NoteBadRecord(where string, reason error, action string) {
	if c.Events.BadRecord != nil {
		c.Events.BadRecord(events.BadRecord{Job: c.JobID, Operator: c.Operator, Subtask: c.Subtask, Where: where, Reason: reason,
			Action: action, Total: c.Counts.Bad.Load()})
	}
}

// NoteLate tells of a row behind the watermark. input names the input if there are two; read says that a side output takes
// the row.
func (c *Context) NoteLate(input string, at, watermark int64, read bool) {
	if c.Events.LateRecords != nil {
		c.Events.LateRecords(events.LateRecords{Job: c.JobID, Operator: c.Operator, Subtask: c.Subtask, Input: input,
			Total: c.Counts.Late.Load(), Time: at, Watermark: watermark, Read: read})
	}
}

// NoteSplitFinished tells that a split has been read to its end.
func (c *Context) NoteSplitFinished(split string, rows int64) {
	if c.Events.SplitFinished != nil {
		c.Events.SplitFinished(events.SplitFinished{Job: c.JobID, Operator: c.Operator, Subtask: c.Subtask, Split: split, Rows: rows})
	}
}

// NotePause tells that alignment keeps the source from reading, or no longer does.
func (c *Context) NotePause(on bool, watermark, limit int64) {
	tell := c.Events.AlignmentPauseEnd
	if on {
		tell = c.Events.AlignmentPauseBegin
	}
	if tell != nil {
		tell(events.AlignmentPause{Job: c.JobID, Operator: c.Operator, Subtask: c.Subtask, Group: "source " + c.Operator, Watermark: watermark, Limit: limit})
	}
}
