package metrics

import (
	"fmt"
	"slices"
	"strings"
)

// Origin says whose name a metric has.
type Origin uint8

// The origins. A name is Flink's only where the same thing is measured.
const (
	Flink       Origin = iota // in Flink's documentation
	FlinkSource               // in Flink, but not in its documentation
	Weir
)

// Entry describes a metric of the engine.
type Entry struct {
	Scope  Scope
	Name   string // with the groups before it
	Kind   Kind
	Unit   string
	Doc    string
	Origin Origin
}

// Catalogue returns all metrics of the engine, by scope. docs/ops/metrics.md is made of it, and tests compare it with what a
// running job registers. The slice is the caller's.
func Catalogue() []Entry {
	var out []Entry
	add := func(scopes []Scope, prefix string, entries []Entry) {
		for _, s := range scopes {
			for _, e := range entries {
				e.Scope, e.Name = s, prefix+e.Name
				out = append(out, e)
			}
		}
	}
	add([]Scope{JobManager}, "", []Entry{
		{Name: NumRegisteredTaskManagers, Kind: KindGauge, Unit: "workers", Doc: "workers that are connected"},
		{Name: NumRunningJobs, Kind: KindGauge, Unit: "jobs", Doc: "jobs that run"},
	})
	add([]Scope{JobManagerJob}, "", []Entry{
		{Name: Uptime, Kind: KindGauge, Unit: "ms", Doc: "how long the job has been running without a break; -1 when it does not run"},
		{Name: NumRestarts, Kind: KindGauge, Unit: "restarts", Doc: "how often the job was restarted after a failure"},
		{Name: RestartingTime, Kind: KindGauge, Unit: "ms", Doc: "how long the restart under way has taken so far; 0 when the job runs", Origin: Weir},
		{Name: LastCheckpointDuration, Kind: KindGauge, Unit: "ms", Doc: "from the trigger of the last complete checkpoint to its end; -1 before the first"},
		{Name: LastCheckpointSize, Kind: KindGauge, Unit: "bytes", Doc: "what the last complete checkpoint has written; -1 before the first"},
		{Name: LastCheckpointFullSize, Kind: KindGauge, Unit: "bytes", Doc: "the state in the last complete checkpoint, also what was there before; -1 before the first"},
		{Name: LastCompletedCheckpointID, Kind: KindGauge, Unit: "", Doc: "the number of the last complete checkpoint; -1 before the first"},
		{Name: LastCheckpointCompletedTime, Kind: KindGauge, Unit: "ms", Doc: "when the last checkpoint was complete; -1 before the first"},
		{Name: LastCheckpointRestoreTime, Kind: KindGauge, Unit: "ms", Doc: "when the job was last restored from a checkpoint; -1 if it was not"},
		{Name: CheckpointsInProgress, Kind: KindGauge, Unit: "checkpoints", Doc: "checkpoints and savepoints under way"},
		{Name: CheckpointsCompleted, Kind: KindGauge, Unit: "checkpoints", Doc: "checkpoints and savepoints that were completed in this run"},
		{Name: CheckpointsFailed, Kind: KindGauge, Unit: "checkpoints", Doc: "those that were given up"},
		{Name: CheckpointsTotal, Kind: KindGauge, Unit: "checkpoints", Doc: "those that were begun"},
	})
	add([]Scope{JobManagerJob}, OperatorLabel+".<operator>.", slices.Concat(weirs(operatorEntries()), []Entry{
		{Name: LowWatermark, Kind: KindGauge, Unit: "ms", Doc: "lowest watermark of the operator's subtasks: taken in, or made if it is a source", Origin: Weir},
	}, weirs(timeEntries("of all subtasks; at the head of each chain only")), []Entry{
		{Name: UserGroup + ".<counter>", Kind: KindCounter, Unit: "", Doc: "counter of a function, added up", Origin: Weir},
	}))
	add([]Scope{TaskManager, JobManager}, "", runtimeEntries())
	add([]Scope{Task}, "", taskEntries())
	add([]Scope{Operator}, "", slices.Concat(operatorEntries(), []Entry{
		{Name: CurrentInputWatermark, Kind: KindGauge, Unit: "ms", Doc: "last watermark taken in; -2^63 before the first, 2^63-1 at the end"},
		{Name: CurrentOutputWatermark, Kind: KindGauge, Unit: "ms", Doc: "last watermark sent on"},
	}))
	return out
}

func rated(e Entry) []Entry {
	rate := e
	rate.Name, rate.Kind, rate.Unit, rate.Doc = e.Name+perSecond, KindMeter, e.Unit+"/s", "the same a second, over the last minute"
	return []Entry{e, rate}
}

// weirs marks entries whose names are Flink's at another place.
func weirs(entries []Entry) []Entry {
	for i := range entries {
		entries[i].Origin = Weir
	}
	return entries
}

func operatorEntries() []Entry {
	return slices.Concat(
		rated(Entry{Name: NumRecordsIn, Kind: KindCounter, Unit: "rows", Doc: "rows taken in; of a source, rows read"}),
		rated(Entry{Name: NumRecordsOut, Kind: KindCounter, Unit: "rows", Doc: "rows emitted to the main output"}),
		[]Entry{
			{Name: NumLateRecordsDropped, Kind: KindCounter, Unit: "rows", Doc: "rows behind the watermark; those that a side output takes are counted, too"},
			{Name: NumRecordsInErrors, Kind: KindCounter, Unit: "records", Doc: "records that could not be decoded", Origin: FlinkSource},
			{Name: NumRecordsNoTime, Kind: KindCounter, Unit: "rows", Doc: "rows without event time", Origin: Weir},
			{Name: NumRecordsUnreadSide, Kind: KindCounter, Unit: "rows", Doc: "rows for a side output that nobody reads", Origin: Weir},
		})
}

func timeEntries(whose string) []Entry {
	var out []Entry
	for _, t := range []struct{ sum, rate, doc string }{
		{AccumulatedBusy, BusyTime, "time at work"},
		{AccumulatedIdle, IdleTime, "time waiting for input"},
		{AccumulatedBackPressured, BackPressuredTime, "time waiting for room downstream"},
	} {
		out = append(out, Entry{Name: t.sum, Kind: KindGauge, Unit: "ms", Doc: t.doc + ", " + whose, Origin: FlinkSource},
			Entry{Name: t.rate, Kind: KindMeter, Unit: "ms/s", Doc: "the same a second, over the last minute"})
	}
	return out
}

func taskEntries() []Entry {
	return slices.Concat(
		rated(Entry{Name: NumRecordsIn, Kind: KindCounter, Unit: "rows", Doc: "rows taken in by the head of the chain"}),
		rated(Entry{Name: NumRecordsOut, Kind: KindCounter, Unit: "rows", Doc: "rows emitted by the operators at the chain's ends"}),
		rated(Entry{Name: NumBuffersInLocal, Kind: KindCounter, Unit: "batches", Doc: "batches from tasks in the same process"}),
		rated(Entry{Name: NumBuffersInRemote, Kind: KindCounter, Unit: "batches", Doc: "batches from other processes"}),
		rated(Entry{Name: NumBytesInRemote, Kind: KindCounter, Unit: "bytes", Doc: "what came from other processes, as it was on the wire"}),
		rated(Entry{Name: NumBuffersOut, Kind: KindCounter, Unit: "batches", Doc: "batches sent to other tasks"}),
		rated(Entry{Name: NumBytesOut, Kind: KindCounter, Unit: "bytes", Doc: "what went to other processes, as it was on the wire. Batches within a process pass by reference and have no size"}),
		timeEntries("of the task"),
		[]Entry{
			{Name: IsBackPressured, Kind: KindGauge, Unit: "0 or 1", Doc: "whether the task waits for room downstream right now"},
			{Name: "buffers." + InputQueueLength, Kind: KindGauge, Unit: "batches", Doc: "batches that wait in the task's inbox"},
			{Name: MailboxQueueSize, Kind: KindGauge, Unit: "mails", Doc: "mails that wait for the task: timers, splits, answers of asynchronous calls"},
			{Name: AlignmentTime, Kind: KindGauge, Unit: "ns", Doc: "from the first barrier of the last checkpoint to the last one"},
			{Name: StartDelay, Kind: KindGauge, Unit: "ns", Doc: "from the trigger of the last checkpoint to its first barrier"},
			{Name: SyncDuration, Kind: KindGauge, Unit: "ns", Doc: "how long the task stood still to cut its state for the last checkpoint", Origin: Weir},
		})
}

func runtimeEntries() []Entry {
	return []Entry{
		{Name: "Status.JVM.Memory.Heap.Used", Kind: KindGauge, Unit: "bytes", Doc: "objects on the heap, those not yet swept included"},
		{Name: "Status.JVM.Memory.Heap.Committed", Kind: KindGauge, Unit: "bytes", Doc: "the heap's memory, free or not, without what was given back to the system"},
		{Name: "Status.JVM.Memory.Heap.Max", Kind: KindGauge, Unit: "bytes", Doc: "the runtime's memory limit (GOMEMLIMIT), -1 without one. It is for all of the process' memory and soft"},
		{Name: "Status.JVM.Threads.Count", Kind: KindGauge, Unit: "threads", Doc: "threads of the operating system, not goroutines"},
		{Name: "Status.JVM.GarbageCollector.All.Count", Kind: KindGauge, Unit: "collections", Doc: "garbage collections so far"},
		{Name: "Status.Go.Goroutines", Kind: KindGauge, Unit: "goroutines", Doc: "goroutines that exist", Origin: Weir},
		{Name: "Status.Go.TotalMemory", Kind: KindGauge, Unit: "bytes", Doc: "all memory that the runtime holds", Origin: Weir},
		{Name: "Status.Go.AllocatedBytes", Kind: KindGauge, Unit: "bytes", Doc: "bytes allocated so far", Origin: Weir},
		{Name: "Status.Go.CollectorCPUTimeMs", Kind: KindGauge, Unit: "ms", Doc: "processor time of the garbage collector so far. JVM.GarbageCollector.All.Time is left out: it is neither this nor the next", Origin: Weir},
		{Name: "Status.Go.CollectorPauseTimeMs", Kind: KindGauge, Unit: "ms", Doc: "how long garbage collections have stopped everything so far", Origin: Weir},
	}
}

// Markdown writes the catalogue as the tables of docs/ops/metrics.md.
func Markdown() string {
	titles := [scopes]string{"JobManager (process that started the job)", "Job, on the JobManager", "Worker", "Job, on a worker", "Task", "Operator"}
	origin := [...]string{"", "Flink's code", "Weir"}
	var b strings.Builder
	last := scopes
	entries := Catalogue()
	slices.SortStableFunc(entries, func(x, y Entry) int { return int(x.Scope) - int(y.Scope) })
	for _, e := range entries {
		if e.Scope != last {
			last = e.Scope
			fmt.Fprintf(&b, "\n### %s: `weir_%s_...`\n\n| name | kind | unit | what | named by |\n|---|---|---|---|---|\n", titles[e.Scope], e.Scope)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", e.Name, e.Kind, e.Unit, e.Doc, origin[e.Origin])
	}
	return b.String()
}
