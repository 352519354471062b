package events

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
)

// Log returns a listener that writes each event as one line. What goes wrong without ending the job is a warning. All else is
// for debugging: what ends a job is in its error, which whoever runs the job has.
func Log(log *slog.Logger) Listener {
	l := logger{log}
	var all Listener
	l.jobs(&all)
	l.workers(&all)
	l.rows(&all)
	return all
}

func (l logger) jobs(to *Listener) {
	to.JobBegin = func(i JobBegin) {
		l.Debug("job begins", job(i.Job), "name", i.Name, "plan", i.Fingerprint, "vertices", i.Vertices, "tasks", i.Tasks)
	}
	to.JobPhase = func(i JobPhase) { l.debug(i.Err, "job phase", job(i.Job), "from", i.From, "to", i.To) }
	to.JobEnd = func(i JobEnd) {
		attrs := []any{job(i.Job), "name", i.Name, "phase", i.Phase, "elapsed", i.Elapsed}
		if i.Err != nil {
			attrs = append(attrs, "code", string(errs.CodeOf(i.Err)))
		}
		l.Debug("job ends", attrs...)
	}
	to.DeployBegin = func(i DeployBegin) {
		l.Debug("deployment begins", job(i.Job), "generation", i.Generation, "tasks", i.Tasks, "workers", i.Workers)
	}
	to.DeployEnd = func(i DeployEnd) {
		l.debug(i.Err, "deployment ends", job(i.Job), "generation", i.Generation, "elapsed", i.Elapsed)
	}
	to.TaskPhase = func(i TaskPhase) {
		l.debug(i.Err, "task phase", job(i.Job), "task", i.Task, "name", i.Name, "of", i.Parallelism, "worker", i.Worker, "from", i.From, "to", i.To)
	}
	to.TaskStuck = func(i TaskStuck) {
		l.Warn("a task was told to stop and still runs: the function at the top of its stack does not return", job(i.Job), "task", i.Name,
			"for", i.Since, "stack", i.Stack)
	}
	to.JobRestart = func(i JobRestart) {
		text := "the job has failed and is restarted"
		if i.Regions < i.Of {
			text = fmt.Sprintf("the job has failed: restarting %d of %d regions", i.Regions, i.Of)
		}
		l.Warn(text, job(i.Job), "restart", i.Number, "delay", i.Delay, "err", i.Cause)
	}
	to.CheckpointBegin = func(i CheckpointBegin) {
		l.Debug("checkpoint begins", job(i.Job), "epoch", i.Epoch, "purpose", i.Purpose)
	}
	to.CheckpointEnd = func(i CheckpointEnd) {
		level, attrs := slog.LevelDebug, []any{job(i.Job), "epoch", i.Epoch, "bytes", i.Bytes, "elapsed", i.Elapsed}
		if i.Err != nil {
			attrs = append(attrs, "err", i.Err)
			if !errs.IsCanceled(i.Err) {
				level = slog.LevelWarn
			}
		}
		l.Log(context.Background(), level, "checkpoint ends", attrs...) // events have no context
	}
}

func (l logger) workers(to *Listener) {
	to.WorkerConnected = func(i WorkerConnected) {
		l.Debug("worker connected", "worker", i.Worker, "addr", i.Addr, "slots", i.Slots)
	}
	to.WorkerLost = func(i WorkerLost) { l.debug(i.Err, "worker is gone", "worker", i.Worker, "tasks", i.Tasks) }
	to.WorkerExited = func(i WorkerExited) { l.debug(i.Err, "worker process has ended", "worker", i.Worker) }
}

func (l logger) rows(to *Listener) {
	to.SplitAssigned = func(i SplitAssigned) {
		l.Debug("split assigned", job(i.Job), "operator", i.Operator, "subtask", i.Subtask, "split", i.Split)
	}
	to.SplitFinished = func(i SplitFinished) {
		l.Debug("split finished", job(i.Job), "operator", i.Operator, "subtask", i.Subtask, "split", i.Split, "rows", i.Rows)
	}
	to.AlignmentPauseBegin = func(i AlignmentPause) { l.pause("source waits for others to catch up in event time", i) }
	to.AlignmentPauseEnd = func(i AlignmentPause) { l.pause("source reads on", i) }
	to.BadRecord = func(i BadRecord) {
		level := slog.LevelWarn
		if i.Action == "fail" {
			level = slog.LevelDebug // it ends the job
		}
		l.Log(context.Background(), level, "record not decoded", "operator", i.Operator, "subtask", i.Subtask, "record", i.Reason,
			"action", i.Action, "so far", i.Total)
	}
	to.LateRecords = func(i LateRecords) {
		attrs := []any{"operator", i.Operator, "subtask", i.Subtask}
		if i.Input != "" {
			attrs = append(attrs, "input", i.Input)
		}
		l.Warn("late row", append(attrs, "at", i.Time, "watermark", i.Watermark, "so far", i.Total, "read by a side output", i.Read)...)
	}
}

type logger struct{ *slog.Logger }

func job(id ids.JobID) slog.Attr { return slog.String("job", id.String()) }

// debug logs for debugging, with the error if there is one.
func (l logger) debug(err error, msg string, attrs ...any) {
	if err != nil {
		attrs = append(attrs, "err", err)
	}
	l.Debug(msg, attrs...)
}

func (l logger) pause(msg string, i AlignmentPause) {
	l.Debug(msg, job(i.Job), "operator", i.Operator, "subtask", i.Subtask, "group", i.Group, "watermark", i.Watermark, "limit", i.Limit)
}
