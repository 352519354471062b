//go:build unix

package proc

import (
	"os"
	"os/signal"
	"syscall"
)

// requests translates signals. One of each kind waits to be taken; more of that kind are dropped, and none ends the process, also
// when nobody takes them any more.
func requests() (<-chan Request, func()) {
	saves, stops, out, over := make(chan os.Signal, 1), make(chan os.Signal, 1), make(chan Request), make(chan struct{})
	signal.Notify(saves, syscall.SIGUSR1)
	signal.Notify(stops, syscall.SIGUSR2)
	go func() {
		defer close(out)
		for {
			r := RequestSavepoint
			select {
			case <-saves:
			case <-stops:
				r = RequestStop
			case <-over:
				return
			}
			select {
			case out <- r:
			case <-over:
				return
			}
		}
	}()
	return out, func() {
		signal.Ignore(syscall.SIGUSR1, syscall.SIGUSR2)
		close(over)
	}
}
