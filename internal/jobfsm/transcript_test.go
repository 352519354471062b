package jobfsm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
)

// TestTranscripts plays the scenarios of testdata, one a file. Directives:
//
//	new [exits] [restart] [prepare] [pipelines | lanes]
//	                  two workers w1, w2 and the tasks v0/0, v1/0 on w1, v0/1, v1/1 on w2; with pipelines each vertex is a
//	                  region, with lanes each subtask
//	run               one event a line, see parseEvent; prints each event and the commands that follow
//	phases            prints the phases of the job and its tasks
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var m *Machine
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new":
				cfg := twoByTwo(d.HasArg("exits"))
				cfg.Restart, cfg.Prepare = d.HasArg("restart"), d.HasArg("prepare")
				for i, p := range cfg.Tasks {
					if d.HasArg("pipelines") {
						cfg.Tasks[i].Region = int(p.Task.Vertex)
					} else if d.HasArg("lanes") {
						cfg.Tasks[i].Region = int(p.Task.Subtask)
					}
				}
				m = New(cfg)
				return "ok\n"
			case "run":
				var b strings.Builder
				for line := range strings.Lines(d.Input) {
					line = strings.TrimSpace(line)
					e, err := parseEvent(m, line)
					if err != nil {
						d.Fatalf(t, "%q: %v", line, err)
					}
					fmt.Fprintf(&b, "> %s\n", line)
					for c := range strings.Lines(Format(m.Step(e))) {
						b.WriteString("  " + c)
					}
				}
				return b.String()
			case "phases":
				var b strings.Builder
				fmt.Fprintf(&b, "job %s\n", m.Phase())
				for i, p := range m.cfg.Tasks {
					fmt.Fprintf(&b, "%v on %s %s\n", p.Task, p.Worker, m.Task(i))
				}
				return b.String()
			}
			d.Fatalf(t, "unknown directive %q", d.Cmd)
			return ""
		})
	})
}

func twoByTwo(exits bool) Config {
	cfg := Config{Workers: []ids.WorkerID{"w1", "w2"}, Fingerprint: "f1", Version: "v1", Exits: exits}
	for v := range 2 {
		for s, w := range cfg.Workers {
			cfg.Tasks = append(cfg.Tasks, PlacedTask{Task: ids.TaskID{Vertex: ids.VertexID(v), Subtask: int32(s)}, Worker: w})
		}
	}
	return cfg
}

// parseEvent reads:
//
//	begin | cancel | widen | sides-taken | ready | restart | no-restart CODE
//	join W [fingerprint] | lost W | exit W | deployed W[/REGION] | deploy-failed W[/REGION] CODE
//	task V/S[#A] PHASE [CODE]      reported by the worker that runs it
//	task V/S@W PHASE [CODE]        reported by W
//	master-failed CODE | deadline KIND
func parseEvent(m *Machine, line string) (Event, error) {
	f := append(strings.Fields(line), "", "", "")
	worker := ids.WorkerID(f[1])
	failure := func(code string) *errs.Error {
		class := errs.ClassFailTask
		if errs.Code(code) == errs.CodePlanInvalid {
			class = errs.ClassUser
		}
		if errs.Code(code) == errs.CodeCanceled {
			class = errs.ClassCanceled
		}
		return errs.New(errs.Code(code), class, f[1], "it went wrong")
	}
	switch f[0] {
	case "begin":
		return Begin{}, nil
	case "cancel":
		return CancelAsked{Reason: "asked"}, nil
	case "ready":
		return Ready{}, nil
	case "restart":
		return Decided{Restart: true}, nil
	case "no-restart":
		return Decided{Cause: failure(f[1])}, nil
	case "sides-taken":
		return SidesTaken{}, nil
	case "join":
		if f[2] == "" {
			f[2] = "f1"
		}
		return WorkerJoined{worker, f[2], "v1"}, nil
	case "lost":
		return WorkerLost{worker, errs.New(errs.CodeWorkerLost, errs.ClassFailTask, f[1], "connection broke")}, nil
	case "exit":
		return WorkerExited{worker, errs.New(errs.CodeWorkerLost, errs.ClassFailTask, f[1], "killed by signal 9")}, nil
	case "widen":
		return Widen{"asked"}, nil
	case "deployed":
		worker, region, err := parseUnit(f[1])
		return Deployed{worker, region}, err
	case "deploy-failed":
		worker, region, err := parseUnit(f[1])
		return DeployFailed{worker, region, failure(f[2])}, err
	case "master-failed":
		return MasterFailed{failure(f[1])}, nil
	case "deadline":
		for i, name := range deadlineNames {
			if name == f[1] {
				return DeadlinePassed{Deadline(i)}, nil
			}
		}
	case "task":
		return parseTask(m, f, failure)
	}
	return nil, fmt.Errorf("no such event")
}

// parseUnit reads W or W/REGION.
func parseUnit(s string) (w ids.WorkerID, region int, err error) {
	name, r, ok := strings.Cut(s, "/")
	if ok {
		_, err = fmt.Sscan(r, &region)
	}
	return ids.WorkerID(name), region, err
}

func parseTask(m *Machine, f []string, failure func(string) *errs.Error) (Event, error) {
	name, worker, _ := strings.Cut(f[1], "@")
	var task ids.TaskID
	if _, err := fmt.Sscanf(name, "v%d/%d", &task.Vertex, &task.Subtask); err != nil {
		return nil, err
	}
	place := task
	if _, attempt, ok := strings.Cut(name, "#"); ok {
		if _, err := fmt.Sscan(attempt, &task.Attempt); err != nil {
			return nil, err
		}
	}
	e := TaskMoved{Worker: ids.WorkerID(worker), Task: task}
	if i, ok := m.place[place]; worker == "" && ok {
		e.Worker = m.cfg.Tasks[i].Worker
	}
	for i, name := range taskPhaseNames {
		if name == f[2] {
			e.Phase = TaskPhase(i)
		}
	}
	if e.Phase == TaskFailed {
		e.Cause = failure(f[3])
	}
	return e, nil
}
