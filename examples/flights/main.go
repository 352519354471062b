// Flights is three jobs over all departures of New York City's airports in 2013, in event time:
//
//	flights delays       delays by origin and hour
//	flights top          the three busiest destinations by origin and local day
//	flights turnaround   aircraft that leave late again and again
//	flights demo         all three at once, with their first results and an account of every row
//
// --out DIR writes NAME.jsonl for each; --data DIR reads the files from elsewhere.
package main

import (
	"flag"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
	_ "time/tzdata" // America/New_York on machines without a time zone database

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/blackhole"
	"github.com/weir-stream/weir/connector/file"
)

func main() { weir.Main(build) }

// options are the program's own arguments.
type options struct {
	jobs []string
	out  string
	data string
	demo bool
	// naive reads the files in the order of the original file and trusts it.
	naive bool
}

var jobNames = []string{"delays", "top", "turnaround"}

func parse(args []string) (options, error) {
	o := options{}
	fs := flag.NewFlagSet("flights", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.out, "out", "", "write NAME.jsonl into this folder")
	fs.StringVar(&o.data, "data", "examples/flights/data", "folder of the flights-2013-*.csv.zst files")
	fs.BoolVar(&o.naive, "naive", false, "read the months in the original file's order and trust it, to see what is late then")
	for len(args) > 0 {
		if !strings.HasPrefix(args[0], "-") {
			o.jobs = append(o.jobs, args[0])
			args = args[1:]
			continue
		}
		if err := fs.Parse(args); err != nil {
			return o, err
		}
		args = fs.Args()
	}
	if len(o.jobs) == 1 && o.jobs[0] == "demo" {
		o.jobs, o.demo = jobNames, true
	}
	for _, j := range o.jobs {
		if j != "delays" && j != "top" && j != "turnaround" {
			return o, fmt.Errorf("unknown job %q: choose delays, top, turnaround or demo", j)
		}
	}
	if len(o.jobs) == 0 {
		return o, fmt.Errorf("which job? flights delays|top|turnaround|demo [--out DIR] [--data DIR] (--help lists the other flags)")
	}
	return o, nil
}

func build(env *weir.Env) error {
	o, err := parse(env.Args())
	if err != nil {
		return err
	}
	ny, err := time.LoadLocation("America/New_York")
	if err != nil {
		return err
	}
	env.Name("flights " + strings.Join(o.jobs, "+"))
	flights := readFlights(env, o, ny)
	flights.NoTime().To("never departed", blackhole.Sink[Flight]())
	d := &demo{}
	for _, j := range o.jobs {
		switch j {
		case "delays":
			out := delays(flights)
			deliver(out, o, j)
			d.delays = keep(out, o)
		case "top":
			out := top(flights, ny)
			deliver(out, o, j)
			d.top = keep(out, o)
		case "turnaround":
			out := turnaround(flights, ny)
			deliver(out, o, j)
			d.turnaround = keep(out, o)
		}
	}
	if o.demo {
		env.AtEnd(d.print)
	}
	return nil
}

// deliver writes a job's results where the user wants them.
func deliver[T any](s weir.Stream[T], o options, job string) {
	switch {
	case o.out != "":
		s.To(job+".jsonl", file.JSONSink[T](path.Join(o.out, job+".jsonl"), file.Replace()))
	case !o.demo:
		s.To("print "+job, jsonLines[T]())
	}
}

func keep[T any](s weir.Stream[T], o options) *weir.Gathered[T] {
	if !o.demo {
		return nil
	}
	return s.Gather()
}
