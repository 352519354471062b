package app

import "context"

// Runner runs a plan in the place of the embedded cluster. It is how tests of jobs get hold of the plan that the facade
// hides, and of the world that the job runs in.
type Runner func(ctx context.Context, w World, plan *Plan) (*Result, error)

type runnerKey struct{}

// WithRunner returns a context under which the facade's Execute hands plans to r.
func WithRunner(ctx context.Context, r Runner) context.Context {
	return context.WithValue(ctx, runnerKey{}, r)
}

// RunnerOf returns the runner that ctx carries; by default it is Run.
func RunnerOf(ctx context.Context) Runner {
	if r, ok := ctx.Value(runnerKey{}).(Runner); ok {
		return r
	}
	return func(ctx context.Context, w World, plan *Plan) (*Result, error) {
		return Run(ctx, w, plan, RunOptions{})
	}
}
