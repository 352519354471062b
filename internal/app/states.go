package app

import (
	"sync"

	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/lsm"
	"github.com/weir-stream/weir/internal/statebackend/model"
	"github.com/weir-stream/weir/internal/statebackend/paged"
)

// states is what the state backends of a process share.
type states struct {
	mu  sync.Mutex
	lsm *lsm.Store // nil until a task asks for it
}

// openState opens the backend that the job's options name.
func (l *launcher) openState(c statebackend.Config) (statebackend.Keyed, error) {
	switch l.plan.Config.Get(config.StateBackend) {
	case "lsm":
		s, err := l.lsmStore()
		if err != nil {
			return nil, err
		}
		return s.Backend(c)
	case "model":
		return model.New(c), nil
	}
	return paged.NewBackend(c, nil), nil
}

func (l *launcher) lsmStore() (*lsm.Store, error) {
	s := &l.states
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lsm != nil {
		return s.lsm, nil
	}
	scratch, dir := l.world.Scratch, l.plan.Config.Get(config.StateLocalDir)
	if scratch == nil {
		scratch = fs.Real{}
	}
	if dir == "" {
		dir = fs.Real{}.TempDir()
	}
	var err error
	s.lsm, err = lsm.Open(lsm.Config{FS: scratch, Dir: dir, Cache: int64(l.plan.Config.Get(config.StateCache)), Log: l.world.Log})
	return s.lsm, err
}

// close removes the scratch files of the process. No task may run any more.
func (l *launcher) close() {
	l.states.mu.Lock()
	defer l.states.mu.Unlock()
	if l.states.lsm == nil {
		return
	}
	if err := l.states.lsm.Close(); err != nil {
		l.world.Log.Warn("the files of states cannot be removed", "err", err)
	}
	l.states.lsm = nil
}
