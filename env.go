package weir

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strconv"
	"strings"

	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/internal/app"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/proc"
)

// Env is where a job is described. It belongs to the goroutine that runs build.
type Env struct {
	g    *graph.Graph
	conf *config.Config
	args []string
	used bool // Args was called
	// sides takes what operators send to this process, by the operator's node.
	sides map[int]func(subtask int, payload []byte) error
	atEnd []func(*Result)
	out   io.Writer // where print sinks print
	// started is told of the job's control; may be nil.
	started func(*app.Control)
}

// NewEnv returns an empty environment for a job of that name. Main makes one itself; tests and programs that run jobs by
// Execute make their own.
func NewEnv(name string) *Env {
	return &Env{g: graph.New(name), conf: config.NewRegistry(config.Core()...).New(), sides: map[int]func(int, []byte) error{}, out: proc.Self().Stdout}
}

// Name sets the job's name.
func (e *Env) Name(name string) *Env {
	e.g.Name = name
	return e
}

// Args returns the command line's arguments that are not Weir's own flags.
func (e *Env) Args() []string {
	e.used = true
	return e.args
}

// WithArgs sets what Args returns, for programs that run their jobs by Execute.
func (e *Env) WithArgs(args ...string) *Env {
	e.args = args
	return e
}

// Set sets an option of the job, such as ("execution.buffer-timeout.interval", "0 ms"). As in Flink the program wins over
// flags, and flags over files. An unknown key or a wrong value is among the problems that the job is refused for.
func (e *Env) Set(key, value string) *Env {
	if err := e.conf.Set(key, value, config.FromProgram, here().String()); err != nil {
		if wrong, ok := errors.AsType[*config.Error](err); ok {
			e.problem(wrong.Code, wrong.Msg, wrong.Fix)
		} else {
			e.problem("graph.option", err.Error(), "")
		}
	}
	return e
}

// Parallelism sets the parallelism of operators that set none themselves.
func (e *Env) Parallelism(n int) *Env { return e.Set(config.Parallelism.Key(), strconv.Itoa(n)) }

// Output sets where print sinks print; without it, standard output.
func (e *Env) Output(w io.Writer) *Env {
	if w == nil {
		e.problem("graph.output.nil", "the writer passed to Output is nil", "pass io.Discard to print nothing")
		return e
	}
	e.out = w
	return e
}

// problem records what is wrong with the program at the user's line.
func (e *Env) problem(code, what, fix string) {
	e.g.AddProblem(graph.Problem{Code: code, Where: here(), What: what, Fix: fix})
}

// here returns the line of the user's program that called into this package.
func here() graph.Position {
	var pcs [24]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if !ours(f.Function) {
			return graph.Position{File: f.File, Line: f.Line, Func: f.Function}
		}
		if !more {
			return graph.Position{}
		}
	}
}

const modulePath = "github.com/weir-stream/weir"

// ours reports whether a function belongs to this package (not to packages below its path, which are users too).
func ours(function string) bool {
	rest, ok := strings.CutPrefix(function, modulePath)
	return ok && strings.HasPrefix(rest, ".")
}

// typeName returns T as plans and messages show it.
func typeName[T any]() string {
	return strings.ReplaceAll(reflect.TypeFor[T]().String(), modulePath+"/", "")
}

// add puts a node into the plan and fills in what every node has.
func (e *Env) add(n graph.Node) *graph.Node {
	if n.Where.IsZero() {
		n.Where = here()
	}
	return e.g.Add(n)
}

func nilFunc(what string) string { return fmt.Sprintf("the function passed to %s is nil", what) }
