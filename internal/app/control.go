package app

import (
	"context"

	"github.com/weir-stream/weir/internal/jobmanager"
)

// Control asks a running job for something. Its methods may be called from any goroutine, and return when that is done; after
// the job's end they say so.
type Control struct{ master *jobmanager.Master }

// Savepoint takes a savepoint below dir, "" for the configured directory, and returns where it is.
func (c *Control) Savepoint(ctx context.Context, dir string) (string, error) {
	p, err := c.master.Savepoint(ctx, dir)
	return p.Path, err
}

// Stop takes a savepoint and ends the job. With drain sources end before it as if all had been read.
func (c *Control) Stop(ctx context.Context, dir string, drain bool) (string, error) {
	p, err := c.master.Stop(ctx, dir, drain)
	return p.Path, err
}

// Checkpoint takes a checkpoint now.
func (c *Control) Checkpoint(ctx context.Context) (string, error) {
	p, err := c.master.Checkpoint(ctx)
	return p.Path, err
}
