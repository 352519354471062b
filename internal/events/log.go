package events

import (
	"context"
	"log/slog"

	"github.com/weir-stream/weir/internal/ids"
)

// Log returns a listener that writes each event as one line. What goes wrong is a warning or an error; splits and single
// tasks are of interest only for debugging.
func Log(log *slog.Logger) Listener {
	l := logger{log}
	return Listener{
		JobBegin: func(i JobBegin) {
			l.Info("job begins", job(i.Job), "name", i.Name, "plan", i.Fingerprint, "vertices", i.Vertices, "tasks", i.Tasks)
		},
		JobPhase: func(i JobPhase) {
			l.outcome(slog.LevelInfo, slog.LevelWarn, i.Err, "job phase", job(i.Job), "from", i.From, "to", i.To)
		},
		JobEnd: func(i JobEnd) {
			l.outcome(slog.LevelInfo, slog.LevelError, i.Err, "job ends", job(i.Job), "name", i.Name, "phase", i.Phase, "elapsed", i.Elapsed)
		},
		DeployBegin: func(i DeployBegin) {
			l.Info("deployment begins", job(i.Job), "generation", i.Generation, "tasks", i.Tasks, "workers", i.Workers)
		},
		DeployEnd: func(i DeployEnd) {
			l.outcome(slog.LevelInfo, slog.LevelWarn, i.Err, "deployment ends", job(i.Job), "generation", i.Generation, "elapsed", i.Elapsed)
		},
		TaskPhase: func(i TaskPhase) {
			l.outcome(slog.LevelDebug, slog.LevelWarn, i.Err, "task phase", job(i.Job), "task", i.Task, "name", i.Name, "of", i.Parallelism,
				"worker", i.Worker, "from", i.From, "to", i.To)
		},
		TaskStuck: func(i TaskStuck) {
			l.Error("a task was told to stop and does not: a function does not return", job(i.Job), "task", i.Task, "name", i.Name,
				"since", i.Since, "stack", i.Stack)
		},
		WorkerConnected: func(i WorkerConnected) {
			l.Info("worker connected", "worker", i.Worker, "addr", i.Addr, "slots", i.Slots)
		},
		WorkerLost: func(i WorkerLost) {
			l.outcome(slog.LevelInfo, slog.LevelWarn, i.Err, "worker is gone", "worker", i.Worker, "tasks", i.Tasks)
		},
		SplitAssigned: func(i SplitAssigned) {
			l.Debug("split assigned", job(i.Job), "operator", i.Operator, "subtask", i.Subtask, "split", i.Split)
		},
		SplitFinished: func(i SplitFinished) {
			l.Debug("split finished", job(i.Job), "operator", i.Operator, "subtask", i.Subtask, "split", i.Split, "rows", i.Rows)
		},
		AlignmentPauseBegin: func(i AlignmentPause) { l.pause("source waits for others to catch up in event time", i) },
		AlignmentPauseEnd:   func(i AlignmentPause) { l.pause("source reads on", i) },
		BadRecord: func(i BadRecord) {
			l.Warn("bad record", job(i.Job), "operator", i.Operator, "subtask", i.Subtask, "at", i.Where, "reason", i.Reason,
				"action", i.Action, "total", i.Total)
		},
		LateRecords: func(i LateRecords) {
			l.Warn("rows came behind the watermark and were dropped", job(i.Job), "operator", i.Operator, "subtask", i.Subtask,
				"total", i.Total, "time", i.Time, "watermark", i.Watermark)
		},
		CheckpointBegin: func(i CheckpointBegin) {
			l.Debug("checkpoint begins", job(i.Job), "epoch", i.Epoch, "purpose", i.Purpose)
		},
		CheckpointEnd: func(i CheckpointEnd) {
			l.outcome(slog.LevelInfo, slog.LevelWarn, i.Err, "checkpoint ends", job(i.Job), "epoch", i.Epoch, "bytes", i.Bytes, "elapsed", i.Elapsed)
		},
	}
}

type logger struct{ *slog.Logger }

func job(id ids.JobID) slog.Attr { return slog.String("job", id.String()) }

// outcome logs at the level of success or, with the error, at that of failure.
func (l logger) outcome(right, wrong slog.Level, err error, msg string, attrs ...any) {
	if err != nil {
		right = wrong
		attrs = append(attrs, "err", err)
	}
	l.Log(context.Background(), right, msg, attrs...) // events have no context
}

func (l logger) pause(msg string, i AlignmentPause) {
	l.Debug(msg, job(i.Job), "operator", i.Operator, "subtask", i.Subtask, "group", i.Group, "watermark", i.Watermark, "limit", i.Limit)
}
