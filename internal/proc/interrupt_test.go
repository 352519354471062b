package proc

import (
	"context"
	"os"
	"testing"
)

// The first signal cancels with its name, the second exits, whatever the signals' default effect is.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals, over, code := make(chan os.Signal), make(chan struct{}), make(chan int, 1)
	go interrupted(signals, over, cancel, func(c int) { code <- c })
	signals <- os.Interrupt
	<-ctx.Done()
	if got := context.Cause(ctx).Error(); got != "interrupt signal received" {
		t.Errorf("cause %q", got)
	}
	signals <- os.Interrupt
	if got := <-code; got != 130 {
		t.Errorf("exit code %d", got)
	}
}

// Without a signal the goroutine ends with the context.
func TestInterruptsStop(t *testing.T) {
	ctx, stop := Self().Interrupts(context.Background())
	stop()
	stop()
	<-ctx.Done()
}
