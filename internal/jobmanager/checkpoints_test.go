package jobmanager_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-stream/weir/internal/checkpoint"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/jobmanager"
	"github.com/weir-stream/weir/internal/rpc"
)

// shut is a store that cannot be opened a few times.
type shut struct {
	*shelf
	left int
}

func (s *shut) Open(ctx context.Context) (jobmanager.Checkpoints, jobmanager.Found, error) {
	if s.left--; s.left >= 0 {
		return nil, jobmanager.Found{}, errs.New(errs.CodeIO, errs.ClassFailTask, "store", "the disk is gone")
	}
	return s.shelf.Open(ctx)
}

// A store that cannot be opened at once is asked again after the pause of each restart, not at once.
func TestMasterWaitsForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := &shelf{}, &bus{}
		c := checkpointed(s, 5)
		c.cfg.Checkpoints.Store = &shut{shelf: s, left: 5}
		c.scripts = []script{{body: b.body(stopAt(1))}}
		began := time.Now()
		if _, err := c.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		// Of five restarts each waits a second but the first, which asks during its pause; then a checkpoint after a second.
		if took := time.Since(began); took < 5*time.Second {
			t.Errorf("the store was asked 6 times within %v", took)
		}
	})
}

// shelf is a store of checkpoints in memory that notes what it is asked, and fails when told. The real one is tested with whole
// jobs in test/recovery.
type shelf struct {
	mu       sync.Mutex
	said     []string
	fail     map[string]error // by the name of the call, once
	complete map[ids.Epoch]jobmanager.Collected
	restored jobmanager.Restored // for epoch 0
}

func (s *shelf) call(name string, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, strings.TrimSpace(name+" "+fmt.Sprint(args...)))
	err := s.fail[name]
	delete(s.fail, name)
	return err
}

func (s *shelf) Open(context.Context) (jobmanager.Checkpoints, jobmanager.Found, error) {
	if s.complete == nil {
		s.complete = map[ids.Epoch]jobmanager.Collected{}
	}
	return s, jobmanager.Found{Term: 7}, s.call("open")
}
func (s *shelf) Begin(_ context.Context, epoch ids.Epoch, p event.Purpose, target string) (string, error) {
	dir := ""
	if p == event.PurposeSavepoint || p == event.PurposeStop {
		dir = fmt.Sprint(target, "/", epoch)
	}
	return dir, s.call("begin", epoch)
}
func (s *shelf) Reserve(_ context.Context, through ids.Epoch) error {
	return s.call("reserve", through)
}
func (s *shelf) Publish(_ context.Context, c jobmanager.Collected) (jobmanager.Published, error) {
	err := s.call("publish", c.Epoch)
	if err == nil {
		s.mu.Lock()
		s.complete[c.Epoch] = c
		s.mu.Unlock()
	}
	return jobmanager.Published{Path: fmt.Sprint("path ", c.Epoch, c.Target)}, err
}
func (s *shelf) Discard(_ context.Context, c jobmanager.Collected) error {
	return s.call("discard", c.Epoch)
}
func (s *shelf) Forget(_ context.Context, epoch ids.Epoch) error { return s.call("forget", epoch) }
func (s *shelf) Restore(_ context.Context, epoch ids.Epoch, g ids.Generation, alive []ids.Generation, _ map[ids.Epoch]error) (jobmanager.Restored, error) {
	args := []any{epoch, g}
	if alive != nil {
		args = append(args, alive)
	}
	err := s.call("restore", args...)
	if epoch == 0 {
		return s.restored, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := jobmanager.Restored{Epoch: epoch, Tasks: rpc.Restore{Manifest: fmt.Sprint(epoch)}}
	for _, e := range s.complete[epoch].Sources {
		out.Sources = append(out.Sources, jobmanager.SourceRestore{EnumeratorState: e, Parallelism: 2})
	}
	return out, err
}
func (s *shelf) End(_ context.Context, phase string) error { return s.call("end", phase) }

func (s *shelf) has(line string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.said, line)
}

// after restarts a job a few times, each time after a second.
type after struct{ left int }

func (a *after) Failed(time.Duration) (time.Duration, bool, string) {
	a.left--
	return time.Second, a.left >= 0, "that was enough"
}
func (a *after) Restarts() bool { return true }
func (a *after) String() string { return "after" }

// bus is what tasks send barriers over.
type bus struct {
	mu    sync.Mutex
	tasks map[ids.TaskID]*fakeTask
}

// body runs a task that takes part in checkpoints: each acks as soon as its worker or, for the sinks, a source hears of an epoch.
func (b *bus) body(on func(t *fakeTask, m rpc.Body) (end bool, err error)) func(ctx context.Context, t *fakeTask) error {
	return func(ctx context.Context, t *fakeTask) error {
		b.mu.Lock()
		if b.tasks == nil {
			b.tasks = map[ids.TaskID]*fakeTask{}
		}
		b.tasks[t.id] = t
		b.mu.Unlock()
		for {
			select {
			case m := <-t.epochs:
				if tr, ok := m.(*rpc.CheckpointTrigger); ok && slices.Contains(tr.Tasks, t.id) {
					t.report.Checkpoint(&rpc.CheckpointAck{Task: t.id, Epoch: tr.Epoch, Part: []byte("part of " + t.id.String()), Size: 10})
					b.passOn(t, tr)
				}
				if end, err := on(t, m); end || err != nil {
					return err
				}
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
}

// passOn is the barrier that a sink gets from the source of its own number.
func (b *bus) passOn(t *fakeTask, tr *rpc.CheckpointTrigger) {
	if t.id.Vertex != 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	sink := t.id
	sink.Vertex = 1
	if s := b.tasks[sink]; s != nil {
		s.report.Checkpoint(&rpc.CheckpointAck{Task: sink, Epoch: tr.Epoch, Part: []byte("part of " + sink.String()), Size: 1})
	}
}

// checkpointed is a job of two sources and two sinks that takes a checkpoint each second.
func checkpointed(s *shelf, restarts int) *cluster {
	job := twoByTwo()
	job.Upstream = func(t ids.TaskID) []ids.TaskID {
		if t.Vertex == 0 {
			return nil
		}
		return []ids.TaskID{{Vertex: 0, Subtask: t.Subtask}}
	}
	return &cluster{job: job, cfg: jobmanager.Config{Enumerators: &numbered{splits: 100}, Restart: &after{restarts},
		Checkpoints: &jobmanager.CheckpointConfig{Store: s, Config: checkpoint.Config{Interval: time.Second, TolerableFailures: 0}}}}
}

// stopAt ends a task when an epoch is complete.
func stopAt(epoch ids.Epoch) func(t *fakeTask, m rpc.Body) (bool, error) {
	return func(_ *fakeTask, m rpc.Body) (bool, error) {
		c, ok := m.(*rpc.CheckpointComplete)
		return ok && c.Epoch >= epoch, nil
	}
}

func TestMasterTakesCheckpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := &shelf{}, &bus{}
		c := checkpointed(s, 0)
		c.scripts = []script{{body: b.body(stopAt(3))}}
		res, err := c.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"open", "reserve 64", "restore 0 1", "begin 1", "publish 1", "publish 3", "forget 2", "end finished"} {
			if !s.has(want) {
				t.Errorf("%q was not asked of the store: %q", want, s.said)
			}
		}
		parts := s.complete[3].Parts
		if len(parts) != 4 || len(s.complete[3].Sources) != 1 {
			t.Errorf("the manifest has %d parts and %d enumerators", len(parts), len(s.complete[3].Sources))
		}
		f := c.master.Progress().Checkpoints
		if f.Completed != 3 || f.Last.Epoch != 3 || f.Last.Size != 22 || f.InProgress != 0 || res.Phase != "finished" {
			t.Errorf("figures %+v", f)
		}
	})
}

// A task fails between two checkpoints: the next generation starts from the latest, with attempts of its own.
func TestMasterRestartsFromTheLatestCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := &shelf{}, &bus{}
		c := checkpointed(s, 1)
		c.scripts = []script{{body: b.body(func(t *fakeTask, m rpc.Body) (bool, error) {
			if done, ok := m.(*rpc.CheckpointComplete); ok && done.Epoch == 2 && t.id == (ids.TaskID{Vertex: 1}) {
				return true, errs.New(errs.CodeSink, errs.ClassFailTask, "sink", "full")
			}
			return stopAt(4)(t, m)
		})}}
		if _, err := c.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !s.has("restore 2 2") || s.has("restore 0 2") {
			t.Errorf("asked of the store: %q", s.said)
		}
		for id := range b.tasks {
			if id.Attempt > 1 {
				t.Errorf("task %v", id)
			}
		}
		if f := c.master.Progress().Checkpoints; f.Restarts != 1 || f.Restored != 2 {
			t.Errorf("figures %+v", f)
		}
	})
}

// What goes wrong with checkpoints, and what becomes of the job.
func TestMasterStoreFails(t *testing.T) {
	io := errs.New(errs.CodeIO, errs.ClassFailTask, "store", "the disk is gone")
	fenced := errs.New(errs.CodeFenced, errs.ClassFailJob, "store", "term 8 is newer")
	for _, c := range []struct {
		name     string
		call     string
		err      error
		restarts int
		want     string // in the job's error; "" finishes
		asked    string // of the store
		not      string
	}{
		{"the store cannot be opened once", "open", io, 1, "", "end finished", ""},
		{"the store cannot be opened", "open", io, 0, "the disk is gone", "", "end failed"},
		{"a manifest cannot be written: the job is restarted", "publish", io, 1, "", "restore 0 2", ""},
		{"a manifest cannot be written, and no restart is left", "publish", io, 0, "tolerable-failed-checkpoints", "discard 1", ""},
		{"another leader has the epoch", "publish", fenced, 1, "another process leads this job", "", "discard 1"},
		{"another leader has reserved", "reserve", fenced, 1, "another process leads this job", "", "begin 1"},
		{"an old manifest cannot be deleted", "forget", io, 0, "", "publish 3", ""},
		{"another leader is met when an old one is deleted", "forget", fenced, 1, "another process leads this job", "", "end failed"},
		{"another leader is met when the job is restored", "restore", fenced, 3, "another process leads this job", "", "end failed"},
		{"an epoch cannot begin", "begin", io, 1, "", "restore 0 2", ""},
		{"what is restored cannot be read at first", "restore", io, 1, "", "end finished", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, b := &shelf{fail: map[string]error{c.call: c.err}}, &bus{}
				cl := checkpointed(s, c.restarts)
				cl.scripts = []script{{body: b.body(stopAt(3))}}
				_, err := cl.run(t.Context())
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("the job's error: %v", err)
				}
				if c.asked != "" && !s.has(c.asked) || c.not != "" && s.has(c.not) {
					t.Errorf("asked of the store: %q", s.said)
				}
			})
		})
	}
}

// A leader that is fenced after its manifest was written has no task delete what the manifest lists: the next leader may have
// found it.
func TestFencedLeaderAbortsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := &shelf{fail: map[string]error{"publish": errs.New(errs.CodeFenced, errs.ClassFailJob, "store", "term 8 is newer")}}, &bus{}
		c := checkpointed(s, 1)
		var mu sync.Mutex
		aborted := false
		c.scripts = []script{{body: b.body(func(t *fakeTask, m rpc.Body) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			if _, ok := m.(*rpc.CheckpointAbort); ok {
				aborted = true
			}
			return false, nil
		})}}
		if _, err := c.run(t.Context()); errs.CodeOf(err) != errs.CodeFenced {
			t.Error(err)
		}
		for id, task := range b.tasks { // what was told and not read yet
			for len(task.epochs) > 0 {
				if _, ok := (<-task.epochs).(*rpc.CheckpointAbort); ok {
					t.Errorf("task %v was told to abort", id)
				}
			}
		}
		if aborted || s.has("discard 1") {
			t.Errorf("the epoch was given up: %q", s.said)
		}
	})
}

// gated is an enumerator that is slow to say its state, and always has a split.
type gated struct {
	numbered
	mu   sync.Mutex
	busy bool
	bad  string
}

func (g *gated) Next(ctx context.Context, v ids.VertexID, op int32, subtask int) (rpc.Split, bool, bool, time.Duration, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy {
		g.bad = "a split was asked for while the state was taken"
	}
	return g.numbered.Next(ctx, v, op, subtask)
}

func (g *gated) Snapshot(ctx context.Context, v ids.VertexID, op int32) ([]byte, error) {
	g.mu.Lock()
	g.busy = true
	g.mu.Unlock()
	time.Sleep(300 * time.Millisecond)
	g.mu.Lock()
	g.busy = false
	g.mu.Unlock()
	return g.numbered.Snapshot(ctx, v, op)
}

// Each split is in exactly one place in a checkpoint: those that a reader was given before its trigger are the reader's, all
// others the enumerator's.
func TestSplitsAreInOnePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := &shelf{}, &bus{}
		c := checkpointed(s, 0)
		g := &gated{numbered: numbered{splits: 1 << 30}}
		c.cfg.Enumerators = g
		var mu sync.Mutex
		at := map[ids.Epoch]int{} // splits that readers had been given at the trigger
		marks := func(_ ids.TaskID, epoch ids.Epoch, given int) {
			mu.Lock()
			defer mu.Unlock()
			at[epoch] += given
		}
		base := b.body(func(t *fakeTask, m rpc.Body) (bool, error) {
			for len(t.splits) > 0 {
				<-t.splits
			}
			return stopAt(5)(t, m)
		})
		c.scripts = []script{{body: func(ctx context.Context, t *fakeTask) error {
			if t.id.Vertex == 0 {
				stop := make(chan struct{})
				defer close(stop)
				go func() { // asks for splits all the time
					for {
						select {
						case <-stop:
							return
						case <-time.After(20 * time.Millisecond):
							t.report.RequestSplit(t.op())
						}
					}
				}()
			}
			return base(ctx, t)
		}, marks: marks}}
		if _, err := c.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if g.bad != "" {
			t.Error(g.bad)
		}
		for epoch, col := range s.complete {
			if got := string(col.Sources[0].State); got != fmt.Sprint(at[epoch]) || at[epoch] == 0 {
				t.Errorf("epoch %d: the enumerator has handed out %s, readers were given %d", epoch, got, at[epoch])
			}
		}
	})
}

// Splits of a checkpoint go to the reader that had them, or evenly to as many as there are now.
func TestRestoredSplits(t *testing.T) {
	for _, was := range []int{2, 3} {
		synctest.Test(t, func(t *testing.T) {
			s, b := &shelf{}, &bus{}
			src := jobmanager.SourceRestore{EnumeratorState: jobmanager.EnumeratorState{State: []byte("100")}, Parallelism: was}
			for i, sub := range []int{1, 1, 0, 1, was - 1} {
				src.Splits = append(src.Splits, jobmanager.PlacedSplit{Split: rpc.Split{ID: fmt.Sprint(i)}, Subtask: sub})
			}
			s.restored = jobmanager.Restored{Tasks: rpc.Restore{Dir: "/sp", Manifest: "m"}, Sources: []jobmanager.SourceRestore{src}}
			c := checkpointed(s, 0)
			c.scripts = []script{{body: b.body(stopAt(1))}}
			if _, err := c.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := map[int][2]string{2: {"2", "0 1 3 4"}, 3: {"0 2 4", "1 3"}}[was]
			for i, w := range want {
				var got []string
				for _, sp := range (<-b.tasks[ids.TaskID{Subtask: int32(i)}].splits).Splits {
					got = append(got, sp.ID)
				}
				if strings.Join(got, " ") != w {
					t.Errorf("of %d readers: reader %d is given %q, want %s", was, i, got, w)
				}
			}
		})
	}
}

// A savepoint's directory is told to every worker; the answer says where it is. A job without a store refuses.
func TestMasterSavepoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := &shelf{}, &bus{}
		c := checkpointed(s, 0)
		var mu sync.Mutex
		told := map[string]int{}
		c.scripts = []script{{body: b.body(func(t *fakeTask, m rpc.Body) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			if tr, ok := m.(*rpc.CheckpointTrigger); ok && tr.Target != "" && t.id.Vertex == 1 {
				told[tr.Target]++
			}
			if done, ok := m.(*rpc.CheckpointComplete); ok && done.Stop {
				return true, nil
			}
			return false, nil
		})}}
		c.start(t.Context())
		go func() {
			time.Sleep(1500 * time.Millisecond)
			p, err := c.master.Savepoint(t.Context(), "/sp")
			if err != nil || p.Path != "path 2/sp/2" || p.Epoch != 2 {
				t.Errorf("savepoint %+v, %v", p, err)
			}
			p, err = c.master.Stop(t.Context(), "/stop", false)
			if err != nil || p.Path != "path 3/stop/3" {
				t.Errorf("stop %+v, %v", p, err)
			}
		}()
		if _, err := c.master.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.wait.Wait()
		if told["/sp/2"] != 2 || told["/stop/3"] != 2 {
			t.Errorf("the sinks' workers were told %v", told)
		}
		if _, err := c.master.Savepoint(t.Context(), ""); errs.CodeOf(err) != errs.CodeCheckpoint {
			t.Errorf("after the end: %v", err)
		}
		none := jobmanager.New(twoByTwo(), jobmanager.Config{Clock: c.cfg.Clock})
		if _, err := none.Savepoint(t.Context(), ""); errs.CodeOf(err) != errs.CodeConfigInvalid {
			t.Errorf("without a store: %v", err)
		}
		ended, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("over"))
		_, _ = none.Run(ended)
	})
}
