package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync"
	"time"

	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/internal/app"
	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/conffile"
	"github.com/weir-stream/weir/internal/deploy"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/events"
	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/netx"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/proc"
)

// Build describes the program's jobs. It is handed the configuration and the program's own arguments, and returns the job,
// and whether it has looked at the arguments.
type Build func(conf *config.Config, args []string) (p app.Program, usedArgs bool, err error)

// Exit codes.
const (
	exitOK       = 0
	exitFailed   = 1   // the job has failed
	exitUsage    = 2   // the command line or the program is wrong; nothing ran
	exitCanceled = 130 // the job was cancelled
)

// Main runs a program and returns its exit code.
func Main(p *proc.Process, build Build) int {
	child, err := deploy.FromEnv()
	if err != nil {
		return fail(p.Stderr, exitFailed, err)
	}
	if child != nil {
		go func() { // from the very beginning, since build may take its time; lives as long as the process
			<-child.ParentGone()
			p.Exit(app.ExitOrphan)
		}()
	}
	var requests <-chan proc.Request
	if p.Requests != nil { // as early as that: a signal that nobody takes ends a process, a worker too
		var stop func()
		requests, stop = p.Requests()
		defer stop()
	}
	f, err := Parse(p.Args)
	if err != nil {
		return fail(p.Stderr, exitUsage, err)
	}
	if f.Help {
		fmt.Fprint(p.Stdout, Usage(p.Program))
		return exitOK
	}
	screen := newScreen(p, f)
	conf := config.NewRegistry(config.Core()...).New()
	if err := configure(p, f, conf); err != nil {
		return fail(p.Stderr, exitUsage, err)
	}
	program, used, err := described(build, conf, f.Rest)
	if err != nil {
		return fail(p.Stderr, exitUsage, err)
	}
	if len(f.Rest) > 0 && !used {
		return fail(p.Stderr, exitUsage, Unknown(f.Rest))
	}
	if program.Graph.Name == "" {
		program.Graph.Name = p.Program
	}
	plan, err := app.NewPlan(program)
	if err != nil {
		return fail(p.Stderr, exitUsage, err)
	}
	for _, w := range plan.Warnings {
		if child == nil { // the coordinator has said it for all
			fmt.Fprintln(p.Stderr, w)
		}
	}
	tune(p, f, plan.Config)
	switch {
	case child != nil:
		return work(p, f, plan, child)
	case f.Explain != "":
		return explain(p, f.Explain, plan)
	case f.DryRun:
		return dryRun(p, plan)
	case f.Workers > 0:
		if err := movable(program.Graph); err != nil {
			return fail(p.Stderr, exitUsage, err)
		}
	}
	return run(p, f, plan, screen, requests)
}

// movable fails if an operator works only in this process.
func movable(g *graph.Graph) error {
	var bad []error
	for _, n := range g.Nodes {
		if n.Local {
			bad = append(bad, fmt.Errorf("%v: %s %q (%s) cannot run in a worker process, whose memory is another: leave --workers out, or use one that works across processes",
				n.Where, n.Kind, n.Name, n.Desc))
		}
	}
	return errors.Join(bad...)
}

// garbage is how much may gather before it is collected, in percent of what lives: with the state in pages that hold no
// pointers, and under a limit, collecting at twice the live heap is too often.
const garbage = 300

// tune gives the Go runtime three quarters of the process's memory; the rest is for what lies outside its heap.
func tune(p *proc.Process, f *Flags, conf *config.Config) {
	if p.Tune == nil {
		return
	}
	memory := int64(conf.Get(config.ProcessMemory))
	if memory == 0 {
		memory = p.Memory() / int64(max(1, f.Workers)) // workers of one machine share it
	}
	p.Tune(memory/4*3, garbage)
}

// described runs build. A panic in it is the program's mistake as much as an error.
func described(build Build, conf *config.Config, args []string) (p app.Program, used bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = errs.New(errs.CodeUserPanic, errs.ClassUser, "build", "panic: %v\n%s", v, operator.TrimStack(debug.Stack()))
		}
	}()
	return build(conf, args)
}

func configure(p *proc.Process, f *Flags, conf *config.Config) error {
	var bad []error
	if f.File != "" {
		data, err := p.ReadFile(f.File)
		if err == nil {
			err = conffile.Read(conf, f.File, data)
		}
		bad = append(bad, err)
	}
	bad = append(bad, conf.SetFlags(f.Settings))
	return errors.Join(bad...)
}

func explain(p *proc.Process, form string, plan *app.Plan) int {
	if form == "json" {
		b, err := graph.PlanJSON(plan.Job)
		if err != nil {
			return fail(p.Stderr, exitFailed, err)
		}
		fmt.Fprintln(p.Stdout, string(b))
		return exitOK
	}
	fmt.Fprint(p.Stdout, graph.Explain(plan.Job))
	return exitOK
}

// dryRun prints what would become of the state that the job would start from.
func dryRun(p *proc.Process, plan *app.Plan) int {
	r, err := app.DryRun(context.Background(), world(p, plan), plan)
	if err != nil {
		return fail(p.Stderr, exitFailed, err)
	}
	fmt.Fprint(p.Stdout, r)
	if err := r.Refused(); err != nil {
		return fail(p.Stderr, exitFailed, err)
	}
	return exitOK
}

func run(p *proc.Process, f *Flags, plan *app.Plan, s *screen, requests <-chan proc.Request) int {
	ctx, stop := p.Interrupts(context.Background())
	defer stop()
	if f.CPUProfile != "" {
		w, err := p.CreateFile(f.CPUProfile)
		if err == nil {
			defer w.Close()
			err = pprof.StartCPUProfile(w)
			defer pprof.StopCPUProfile()
		}
		if err != nil {
			return fail(p.Stderr, exitUsage, err)
		}
	}
	if requests != nil {
		control := make(chan *app.Control, 1)
		plan.Started = func(c *app.Control) { control <- c }
		var under sync.WaitGroup
		asked, end := context.WithCancel(ctx)
		under.Go(func() { obey(asked, requests, control, p.Stderr) })
		defer under.Wait()
		defer end()
	}
	v := newView(p, f, s)
	var result *app.Result
	var err error
	if f.Workers > 0 {
		result, err = app.RunWorkers(ctx, world(p, plan), plan, processes(p, f), app.RunOptions{Progress: v.show})
	} else {
		result, err = app.Run(ctx, world(p, plan), plan, app.RunOptions{Progress: v.show})
	}
	v.done()
	code := exitOK
	switch {
	case errs.IsCanceled(err):
		code = fail(p.Stderr, exitCanceled, err)
	case err != nil:
		code = fail(p.Stderr, exitFailed, err) // before the figures, which are of a job that went wrong
	}
	if f.Progress != "none" {
		summary(p.Stderr, result)
	}
	if err == nil && plan.AtEnd != nil {
		plan.AtEnd(result)
	}
	return code
}

func world(p *proc.Process, plan *app.Plan) app.World {
	log := logger(p.Stderr, plan.Config)
	return app.World{Clock: clock.Real{}, FS: app.Files(fs.Real{}), Log: log, Events: events.Log(log), Network: netx.Real{}, Host: p.Host, Rand: rand.Reader}
}

func processes(p *proc.Process, f *Flags) app.Processes {
	return app.Processes{Workers: f.Workers, Executable: p.Executable, Args: p.Args, Environ: p.Environ, Stdout: p.Stdout, Stderr: p.Stderr,
		Network: netx.Real{}, Rand: rand.Reader}
}

// work is the main function of a worker process.
func work(p *proc.Process, f *Flags, plan *app.Plan, child *deploy.Child) int {
	if err := app.RunWorker(context.Background(), world(p, plan), plan, child, processes(p, f), p.PID, p.Exit); err != nil {
		return fail(p.Stderr, exitFailed, err)
	}
	return exitOK
}

// newScreen lets everything that the process prints appear above a view that stays at the end of the terminal, if there is to
// be one.
func newScreen(p *proc.Process, f *Flags) *screen {
	if f.Progress != "terminal" && (f.Progress != "auto" || !p.Terminal) {
		return nil
	}
	s := &screen{w: p.Stderr}
	p.Stderr = s.over(p.Stderr)
	if p.StdoutTerminal {
		p.Stdout = s.over(p.Stdout)
	}
	return s
}

func newView(p *proc.Process, f *Flags, s *screen) view {
	switch {
	case f.Progress == "none":
		return quiet{}
	case s != nil:
		return &terminal{screen: s, size: p.Size}
	}
	return &plain{w: p.Stderr, every: 5 * time.Second}
}

func logger(w io.Writer, conf *config.Config) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(conf.Get(config.LogLevel))); err != nil {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

// fail says why there is nothing more to come. What happened and what to do stand last: the stack of a panic goes before.
func fail(w io.Writer, code int, err error) int {
	text := err.Error()
	if first, stack, more := strings.Cut(text, "\n"); more && strings.Contains(stack, "\n\t") {
		text = "The stack of the panic:\n" + strings.TrimRight(stack, "\n") + "\n" + first
	}
	fmt.Fprintln(w, text)
	return code
}
