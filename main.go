package weir

import (
	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/internal/app"
	"github.com/weir-stream/weir/internal/app/cli"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/proc"
)

// Main runs the job that build describes and ends the process: with 0 if the job has finished, 1 if it has failed, 2 if the
// program or its command line is wrong, 130 if it was cancelled. --help lists the flags. The rows of print sinks go to
// standard output, progress, logs and errors to standard error.
//
// build may run in several processes (--workers): it must describe the same job in each of them and have no other effect.
func Main(build func(*Env) error) {
	p := proc.Self()
	p.Exit(cli.Main(p, func(conf *config.Config, args []string) (app.Program, bool, error) {
		env := &Env{g: graph.New(""), conf: conf, args: args, sides: map[int]func(int, []byte) error{}, out: p.Stdout}
		err := build(env)
		return env.program(), env.used, err
	}))
}
