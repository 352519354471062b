package events

// EnsureDefaults returns the listener with an empty function wherever it had none, so that emitters call without asking.
func (l Listener) EnsureDefaults() Listener {
	return join(l, Listener{})
}

// Tee returns a listener that tells a, and then b.
func Tee(a, b Listener) Listener { return join(a, b) }

func join(a, b Listener) Listener {
	return Listener{
		JobBegin:            both(a.JobBegin, b.JobBegin),
		JobPhase:            both(a.JobPhase, b.JobPhase),
		JobEnd:              both(a.JobEnd, b.JobEnd),
		DeployBegin:         both(a.DeployBegin, b.DeployBegin),
		DeployEnd:           both(a.DeployEnd, b.DeployEnd),
		TaskPhase:           both(a.TaskPhase, b.TaskPhase),
		TaskStuck:           both(a.TaskStuck, b.TaskStuck),
		WorkerConnected:     both(a.WorkerConnected, b.WorkerConnected),
		WorkerLost:          both(a.WorkerLost, b.WorkerLost),
		WorkerExited:        both(a.WorkerExited, b.WorkerExited),
		SplitAssigned:       both(a.SplitAssigned, b.SplitAssigned),
		SplitFinished:       both(a.SplitFinished, b.SplitFinished),
		AlignmentPauseBegin: both(a.AlignmentPauseBegin, b.AlignmentPauseBegin),
		AlignmentPauseEnd:   both(a.AlignmentPauseEnd, b.AlignmentPauseEnd),
		BadRecord:           both(a.BadRecord, b.BadRecord),
		LateRecords:         both(a.LateRecords, b.LateRecords),
		JobRestart:          both(a.JobRestart, b.JobRestart),
		CheckpointBegin:     both(a.CheckpointBegin, b.CheckpointBegin),
		CheckpointEnd:       both(a.CheckpointEnd, b.CheckpointEnd),
	}
}

// both calls f and then g, either of which may be nil; the result never is.
func both[T any](f, g func(T)) func(T) {
	switch {
	case f == nil && g == nil:
		return func(T) {}
	case g == nil:
		return f
	case f == nil:
		return g
	}
	return func(info T) {
		f(info)
		g(info)
	}
}
