package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-stream/weir/config"
)

// Flags is what the command line says.
type Flags struct {
	// Help asks for the usage text.
	Help bool
	// DryRun asks what would become of the state that the job would start from.
	DryRun bool
	// Explain is "text" or "json" if the plan is to be printed instead of run.
	Explain string
	// Workers is the number of worker processes; 0 runs the job in this process.
	Workers int
	// Progress is "auto", "terminal", "plain" or "none".
	Progress string
	// File is a configuration file.
	File string
	// CPUProfile is the file for a profile of the process, in pprof's form.
	CPUProfile string
	// Settings are key=value pairs, those of the flags that stand for an option included.
	Settings []string
	// Rest are the arguments that are not Weir's, for the program.
	Rest []string
}

// flag is one of the flags.
type flag struct {
	names   []string
	value   string // name of the value in the usage text, "" for a switch
	doc     string
	set     func(f *Flags, value string) error
	noValue string // what a switch with an optional value means alone
}

func flags() []flag {
	return []flag{
		{names: []string{"--parallelism", "-p"}, value: "N", doc: "subtasks of operators that set no number themselves",
			set: func(f *Flags, v string) error { return f.setting(config.Parallelism.Key(), v) }},
		{names: []string{"--workers"}, value: "N", doc: "run the job in N worker processes on this machine; 0 runs it in this one", set: func(f *Flags, v string) error {
			n, err := strconv.Atoi(v)
			if err != nil || n < 0 || n > 1024 {
				return fmt.Errorf("--workers %s: a number from 0 to 1024 is expected", v)
			}
			f.Workers = n
			return nil
		}},
		{names: []string{"--explain"}, value: "text|json", noValue: "text", doc: "print the plan, as text or for Flink's plan visualiser, and do not run it", set: func(f *Flags, v string) error {
			if v != "text" && v != "json" {
				return fmt.Errorf("--explain=%s: text or json is expected", v)
			}
			f.Explain = v
			return nil
		}},
		{names: []string{"-D"}, value: "KEY=VALUE", doc: "set an option of docs/ops/config.md", set: func(f *Flags, v string) error {
			f.Settings = append(f.Settings, v)
			return nil
		}},
		{names: []string{"--config"}, value: "FILE", doc: "read options from a YAML file", set: func(f *Flags, v string) error { f.File = v; return nil }},
		{names: []string{"--checkpoint-interval"}, value: "DURATION", doc: "take a checkpoint so often, and go on from the latest one after a failure",
			set: func(f *Flags, v string) error { return f.setting(config.CheckpointInterval.Key(), v) }},
		{names: []string{"--checkpoint-dir"}, value: "DIR", doc: "keep checkpoints there; the same command, started again, goes on from the latest one",
			set: func(f *Flags, v string) error { return f.setting(config.CheckpointDir.Key(), v) }},
		{names: []string{"--restore"}, value: "PATH", doc: "start from a savepoint or checkpoint: its directory, its manifest, or that of a job, whose newest is taken",
			set: func(f *Flags, v string) error { return f.setting(config.RestorePath.Key(), v) }},
		{names: []string{"--allow-non-restored-state"}, noValue: "true", doc: "with --restore: drop the state of operators that the job does not have",
			set: func(f *Flags, v string) error { return f.setting(config.RestoreIgnoreUnclaimed.Key(), v) }},
		{names: []string{"--dry-run"}, noValue: "yes", doc: "with --restore: print what would become of each state, and do not run; exits with 1 if it would be refused",
			set: func(f *Flags, _ string) error { f.DryRun = true; return nil }},
		{names: []string{"--metrics-addr"}, value: "HOST:PORT", doc: "serve metrics in Prometheus' text form at /metrics",
			set: func(f *Flags, v string) error { return f.setting(config.MetricsAddress.Key(), v) }},
		{names: []string{"--progress"}, value: "auto|terminal|plain|none", doc: "how to show progress on standard error", set: func(f *Flags, v string) error {
			switch v {
			case "auto", "terminal", "plain", "none":
				f.Progress = v
				return nil
			}
			return fmt.Errorf("--progress %s: auto, terminal, plain or none is expected", v)
		}},
		{names: []string{"--cpu-profile"}, value: "FILE", doc: "write a CPU profile for go tool pprof", set: func(f *Flags, v string) error { f.CPUProfile = v; return nil }},
		{names: []string{"--help", "-h"}, noValue: "yes", doc: "print this text", set: func(f *Flags, _ string) error { f.Help = true; return nil }},
	}
}

func (f *Flags) setting(key, value string) error {
	f.Settings = append(f.Settings, key+"="+value)
	return nil
}

// Parse reads the arguments. Those that are not Weir's stay for the program, in their order; everything behind "--" is the
// program's.
func Parse(args []string) (*Flags, error) {
	f := &Flags{Progress: "auto"}
	known := map[string]*flag{}
	all := flags()
	for i := range all {
		for _, n := range all[i].names {
			known[n] = &all[i]
		}
	}
	var bad []error
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			f.Rest = append(f.Rest, args[i+1:]...)
			break
		}
		name, value, joined := strings.Cut(arg, "=")
		if strings.HasPrefix(arg, "-D") && arg != "-D" {
			name, value, joined = "-D", arg[2:], true
		}
		fl := known[name]
		switch {
		case fl == nil:
			f.Rest = append(f.Rest, arg)
			continue
		case joined:
		case fl.noValue != "":
			value = fl.noValue
		case i+1 == len(args):
			bad = append(bad, fmt.Errorf("%s needs a value: %s %s", name, name, fl.value))
			continue
		default:
			i++
			value = args[i]
		}
		if err := fl.set(f, value); err != nil {
			bad = append(bad, err)
		}
	}
	return f, errors.Join(bad...)
}

// Unknown says what is wrong with arguments that the program did not ask for.
func Unknown(rest []string) error {
	var names []string
	for _, fl := range flags() {
		names = append(names, fl.names...)
	}
	msg := fmt.Sprintf("unknown argument %q", rest[0])
	name, _, _ := strings.Cut(rest[0], "=")
	if near := config.Nearest(name, names); near != "" {
		msg += fmt.Sprintf("; did you mean %s?", near)
	}
	return fmt.Errorf("%s (--help lists the flags)", msg)
}

// Usage is the text for --help.
func Usage(program string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s [flags] [arguments of the program]\n\nFlags:\n", program)
	for _, fl := range flags() {
		left := strings.Join(fl.names, ", ")
		switch {
		case fl.value != "" && fl.noValue != "":
			left += "[=" + fl.value + "]"
		case fl.value != "":
			left += " " + fl.value
		}
		fmt.Fprintf(&b, "  %-38s %s\n", left, fl.doc)
	}
	b.WriteString("\nAn interrupt (Ctrl-C) cancels the job; a second one kills the process.\n" +
		"SIGUSR1 takes a savepoint in execution.checkpointing.savepoint-dir; SIGUSR2 takes one and ends the job.\n")
	return b.String()
}
