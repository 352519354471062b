package deploy

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strconv"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/rpc"
)

// Child is what a worker process knows of the fleet that it belongs to.
type Child struct {
	Worker      ids.WorkerID
	ControlAddr string
	Identity    rpc.Identity
	gone        chan struct{}
}

// ParentGone is closed when the coordinator has died. Nothing is left to do then but to exit.
func (c *Child) ParentGone() <-chan struct{} { return c.gone }

// FromEnv reports whether this process was started as a worker by Start, and as which: nil, nil means that it was not. It
// may be called once in a process. It takes what it finds out of the environment, so that programs which the worker
// starts do not take themselves for workers.
func FromEnv() (*Child, error) {
	name := os.Getenv(envWorker)
	if name == "" {
		return nil, nil
	}
	c := &Child{Worker: ids.WorkerID(name), ControlAddr: os.Getenv(envControl), gone: make(chan struct{})}
	fd, err := strconv.Atoi(os.Getenv(envSecret))
	for _, v := range []string{envWorker, envControl, envSecret} {
		os.Unsetenv(v)
	}
	if err != nil || fd < secretFD || c.ControlAddr == "" {
		return nil, startError(name, "%s, %s and %s belong together and are set by the coordinator only: do not set them by hand", envWorker, envControl, envSecret)
	}
	closeOnExec(fd)
	pipe := bufio.NewReaderSize(os.NewFile(uintptr(fd), "secret"), 16<<10)
	line, err := pipe.ReadSlice('\n')
	if err != nil {
		return nil, startError(name, "the coordinator has not handed over the secret: %v", err)
	}
	if c.Identity, err = rpc.ParseIdentity(bytes.TrimSpace(line)); err != nil {
		return nil, startError(name, "the secret: %v", err)
	}
	go func() { // lives as long as the process
		_, _ = io.Copy(io.Discard, pipe)
		close(c.gone)
	}()
	return c, nil
}

func startError(worker, format string, args ...any) error {
	return errs.New(errs.CodeConfigInvalid, errs.ClassFailJob, "worker "+worker, format, args...)
}
