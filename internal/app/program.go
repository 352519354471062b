package app

import (
	"errors"
	"io"
	"log/slog"
	"strings"

	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/events"
	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/netx"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/operator/source"
)

// World is what a process reaches of its surroundings.
type World struct {
	Clock clock.Clock
	FS    connector.FileSystem
	Log   *slog.Logger
	// Events is told what happens to jobs and to workers in this process; see package events.
	Events events.Listener
	// Network is where metrics are served. May be nil as long as metrics.address is not set.
	Network netx.Network
	// Stores opens the store of a directory, of checkpoints or savepoints, in every process that uses it. nil opens local
	// directories. Tests put stores in memory here, with faults.
	Stores func(dir string) (objstore.Store, error)
	// Scratch holds files that nothing outlives: those of the lsm backend. nil is the operating system's.
	Scratch fs.FS
	// Host names this machine in metrics; "" is localhost.
	Host string
	// Rand is a source of unpredictable bytes, for names that no other process has. May be nil.
	Rand io.Reader
}

// Program is a plan with what the process that starts it does with the rows sent to it.
type Program struct {
	// Graph is what build has described.
	Graph *graph.Graph
	// Config holds the job's options.
	Config *config.Config
	// Sides takes the payloads that the operator of a node sends to this process, one subtask's in order and several
	// subtasks' concurrently. Payloads of other operators are dropped.
	Sides map[int]func(subtask int, payload []byte) error
	// AtEnd is called when the job has finished. May be nil.
	AtEnd func(*Result)
	// Started is called before the job begins, with what it can be asked for while it runs. May be nil.
	Started func(*Control)
}

// Plan is a checked and chained program.
type Plan struct {
	Program
	Job         *graph.JobGraph
	Warnings    graph.Problems
	Fingerprint string
}

// NewPlan checks a program, all of it at once, and chains it.
func NewPlan(p Program) (*Plan, error) {
	if p.Graph.Name == "" {
		p.Graph.Name = p.Config.Get(config.JobName)
	}
	if err := checkHeartbeat(p.Config); err != nil {
		return nil, err
	}
	if err := checkPlaces(p.Config); err != nil {
		return nil, err
	}
	opt := graphOptions(p.Config)
	problems := graph.Check(p.Graph, opt)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	job, err := graph.Chain(p.Graph, opt)
	if err != nil {
		return nil, err
	}
	return &Plan{Program: p, Job: job, Warnings: problems.Warnings(), Fingerprint: graph.Fingerprint(p.Graph)}, nil
}

// checkHeartbeat refuses a timeout that passes between two signs of life.
func checkHeartbeat(c *config.Config) error {
	every, timeout := c.Get(config.HeartbeatInterval), c.Get(config.HeartbeatTimeout)
	if every > 0 && timeout > every {
		return nil
	}
	return errs.New(errs.CodeConfigInvalid, errs.ClassUser, config.HeartbeatTimeout.Key(),
		"it is %v, and heartbeat.interval is %v: the interval must be above zero and the timeout several times as long", timeout, every)
}

// checkPlaces refuses places of checkpoints that are named and empty, as an unset variable of a shell makes them: the job would keep
// its checkpoints in memory, or begin from nothing, and nobody would notice before they are needed.
func checkPlaces(c *config.Config) error {
	var bad []error
	for _, o := range []config.Option[string]{config.CheckpointDir, config.SavepointDir, config.RestorePath} {
		if c.IsSet(o) && strings.TrimSpace(c.Get(o)) == "" {
			bad = append(bad, errs.New(errs.CodeConfigInvalid, errs.ClassUser, o.Key(), "it is set and names nothing; name a path, or leave it out"))
		}
	}
	if c.Get(config.RestoreMode) == "CLAIM" && c.Get(config.RestorePath) == "" {
		bad = append(bad, errs.New(errs.CodeConfigInvalid, errs.ClassUser, config.RestoreMode.Key(), "it is CLAIM, and no savepoint is named that the job could own: name one with %s (or --restore), or leave it out",
			config.RestorePath.Key()))
	}
	return errors.Join(bad...)
}

func graphOptions(c *config.Config) graph.Options {
	return graph.Options{DefaultParallelism: c.Get(config.Parallelism), DisableChaining: !c.Get(config.OperatorChaining)}
}

// sourceOf returns the descriptor of an operator of a vertex if it is a source.
func sourceOf(n *graph.Node) (*source.Descriptor, error) {
	if !n.Source {
		return nil, nil
	}
	d, ok := n.Factory.(*source.Descriptor)
	if !ok {
		return nil, errs.New(errs.CodeBug, errs.ClassBug, n.Label(), "a source node holds %T", n.Factory)
	}
	return d, nil
}
