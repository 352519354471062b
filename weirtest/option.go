package weirtest

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/config"
)

// Option says how a harness or a job runs.
type Option func(*options)

type options struct {
	batch    int // rows of a batch; 0 is as many as fit
	seed     uint64
	random   bool
	virtual  time.Duration // how long a job may run
	settings [][2]string
	from     *Snapshot // what a harness begins with, or nil
}

// BatchSize bounds the rows that operators take and emit at once; 0 is as many as fit. A harness without this option hands
// over each row by itself, as soon as it is pushed; a job has full batches.
func BatchSize(n int) Option {
	return func(o *options) {
		o.batch, o.random = n, false
		o.settings = append(o.settings, [2]string{config.BatchRows.Key(), strconv.Itoa(n)})
	}
}

// RandomBatches cuts the rows of the test's own sources into batches of random sizes. Equal seeds cut equally.
func RandomBatches(seed uint64) Option {
	return func(o *options) { o.batch, o.random, o.seed = 0, true, seed }
}

// Parallelism sets the job's default parallelism; without it, 1.
func Parallelism(n int) Option { return Set(config.Parallelism.Key(), strconv.Itoa(n)) }

// Chaining says whether operators may share a task; without it, they may.
func Chaining(on bool) Option { return Set(config.OperatorChaining.Key(), strconv.FormatBool(on)) }

// Set sets an option of the job by its key, as weir.Env.Set does.
func Set(key, value string) Option {
	return func(o *options) { o.settings = append(o.settings, [2]string{key, value}) }
}

func newOptions(batch int, opts []Option) options {
	o := options{batch: batch}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// env returns the environment that the options describe.
func (o *options) env(t testing.TB) *weir.Env {
	env := weir.NewEnv(t.Name()).Parallelism(1).Output(t.Output())
	for _, s := range o.settings {
		env.Set(s[0], s[1])
	}
	return env
}

// cutter returns the function that draws the size of the next batch, 0 for as many rows as fit.
func (o *options) cutter() func() int {
	if !o.random {
		return func() int { return o.batch }
	}
	r := rand.New(rand.NewPCG(o.seed, 0x77656972))
	return func() int { return 1 + r.IntN(1<<r.IntN(7)) } // small ones most often
}
