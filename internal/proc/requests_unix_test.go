//go:build unix

package proc

import (
	"os"
	"syscall"
	"testing"
)

// A stop is not lost behind savepoints that nobody has taken yet, and signals that come too late do not end the process.
func TestRequests(t *testing.T) {
	in, stop := requests()
	for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR1, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGUSR1} {
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
	}
	for r := range in {
		if r == RequestStop {
			break
		}
	}
	stop()
	for range in {
	}
	for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2} {
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
	}
}
