package app

import (
	"context"
)

// RunOptions says how a plan is run.
type RunOptions struct {
	// Workers is the number of worker processes; 0 runs the job in this process.
	Workers int
	// Progress is called now and then while the job runs, and once when it has ended, on one goroutine. May be nil.
	Progress func(Snapshot)
}

// Snapshot is how a job is doing.
type Snapshot struct {
	// Phase is the job's phase ("running").
	Phase string
	// Result holds the figures so far.
	Result
}

// Run runs a plan until it ends or ctx does, and returns what is known of it, also when it has failed.
func Run(ctx context.Context, w World, plan *Plan, opt RunOptions) (*Result, error) {
	return nil, nil
}
