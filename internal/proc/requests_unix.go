//go:build unix

package proc

import (
	"os"
	"os/signal"
	"syscall"
)

// requests translates signals. Those that come while one waits to be taken are dropped.
func requests() (<-chan Request, func()) {
	signals, out, over := make(chan os.Signal, 1), make(chan Request), make(chan struct{})
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		defer close(out)
		for {
			r := RequestSavepoint
			select {
			case s := <-signals:
				if s == syscall.SIGUSR2 {
					r = RequestStop
				}
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
		signal.Stop(signals)
		close(over)
	}
}
