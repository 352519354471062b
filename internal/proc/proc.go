package proc

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/term"
)

// Process is what a program sees of the process it runs in. Tests make their own; Self is the real one.
type Process struct {
	// Program is the program's name without folder and extension.
	Program string
	// Args are the command line's arguments without the program.
	Args []string
	// Host is the machine's name, without its domain; "" if unknown.
	Host string
	// PID is the process id.
	PID int
	// Executable is the path of the running binary, for starting workers.
	Executable string
	// Environ holds the environment as NAME=VALUE.
	Environ []string
	// Stdout and Stderr are the standard streams.
	Stdout, Stderr io.Writer
	// Terminal says that Stderr is a terminal, whose lines may be written over.
	Terminal bool
	// StdoutTerminal says that Stdout is a terminal, the same one.
	StdoutTerminal bool
	// Size is the terminal's size in columns and rows, 0 if unknown.
	Size func() (columns, rows int)
	// ReadFile reads a file named on the command line.
	ReadFile func(name string) ([]byte, error)
	// CreateFile makes a file named on the command line.
	CreateFile func(name string) (io.WriteCloser, error)
	// Interrupts returns a context that ends at the first SIGINT or SIGTERM; a second one kills the process.
	Interrupts func(ctx context.Context) (context.Context, context.CancelFunc)
	// Requests returns what other processes ask for by signals, until stop is called; from then on the signals have no effect. It is
	// nil where there are no such signals.
	Requests func() (requests <-chan Request, stop func())
	// Memory returns how many bytes of memory the process may have: the limit of its control group, or else what the machine
	// has; 0 if that is unknown.
	Memory func() int64
	// Tune tells the Go runtime how much memory it may use and how much garbage it may let gather, in percent of what lives.
	// What the environment says (GOMEMLIMIT, GOGC) wins. May be nil.
	Tune func(memory int64, garbage int)
	// Exit ends the process.
	Exit func(code int)
}

// Self returns the process that this code runs in.
func Self() *Process {
	exe, err := os.Executable()
	if err != nil {
		exe = os.Args[0]
	}
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	fd := int(os.Stderr.Fd())
	return &Process{
		Program:        strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"),
		Args:           os.Args[1:],
		Host:           host,
		PID:            os.Getpid(),
		Executable:     exe,
		Environ:        os.Environ(),
		Stdout:         os.Stdout,
		Stderr:         os.Stderr,
		Terminal:       term.IsTerminal(fd) && os.Getenv("TERM") != "dumb",
		StdoutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		Size: func() (int, int) {
			w, h, err := term.GetSize(fd)
			if err != nil {
				return 0, 0
			}
			return w, h
		},
		ReadFile:   os.ReadFile,
		CreateFile: func(name string) (io.WriteCloser, error) { return os.Create(name) },
		Requests:   requests,
		Interrupts: func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			signals, over := make(chan os.Signal, 2), make(chan struct{})
			signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
			go interrupted(signals, over, cancel, os.Exit)
			var once sync.Once
			return ctx, func() {
				once.Do(func() {
					signal.Stop(signals)
					close(over)
					cancel(context.Canceled)
				})
			}
		},
		Memory: func() int64 { return memory(os.ReadFile) },
		Tune:   tune,
		Exit:   os.Exit,
	}
}

// interrupted cancels at the first signal and exits at the second. Leaving that one to the signal's default effect would not
// do: a shell script starts what runs in its background with interrupts ignored.
func interrupted(signals <-chan os.Signal, over <-chan struct{}, cancel context.CancelCauseFunc, exit func(int)) {
	for n := 0; ; n++ {
		select {
		case s := <-signals:
			if n > 0 {
				exit(130)
				return
			}
			cancel(fmt.Errorf("%v signal received", s))
		case <-over:
			return
		}
	}
}

// Getenv returns the value of an environment variable, or "".
func (p *Process) Getenv(name string) string {
	for i := len(p.Environ) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(p.Environ[i], "="); ok && k == name {
			return v
		}
	}
	return ""
}
