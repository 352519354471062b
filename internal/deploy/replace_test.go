package deploy_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/jobmanager"
)

// TestReplace: a process that was killed is replaced by one of the same name, with another certificate, after its exit was told;
// a job whose strategy restarts it goes on.
func TestReplace(t *testing.T) {
	running := make(chan struct{}, 10)
	cfg := jobmanager.Config{Restart: &once{}, Phase: func(phase string) {
		if phase == "running" {
			running <- struct{}{}
		}
	}}
	var s *session
	cfg.Replace = func(w ids.WorkerID) { s.fleet.Replace(w) }
	s = mustStart(t, "steady", cfg)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_, err := s.master.Run(ctx)
		ended <- err
	}()
	<-running
	first := s.fleet.PID("w2")
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-running:
	case err := <-ended:
		t.Fatalf("the job has ended: %v", err)
	}
	if second := s.fleet.PID("w2"); second == first || !alive(second) || alive(first) {
		t.Errorf("worker w2 was process %d, and is %d", first, second)
	}
	cancel()
	if err := <-ended; !errs.IsCanceled(err) {
		t.Error(err)
	}
	s.end(t)
	s.fleet.Replace("w2") // after the end it does nothing
}

// once restarts a job one time, at once.
type once struct{ done bool }

func (o *once) Failed(time.Duration) (time.Duration, bool, string) {
	again := !o.done
	o.done = true
	return 0, again, "once is enough"
}
func (*once) Restarts() bool { return true }
func (*once) String() string { return "once" }
