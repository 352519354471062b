//go:build synctest

package xsync_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-stream/weir/internal/xsync"
)

// A holder that sleeps lets virtual time go on although another goroutine waits for the lock.
func TestWaitingIsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m xsync.Mutex
		m.Lock()
		began := time.Now()
		got := make(chan time.Duration)
		go func() {
			m.Lock()
			defer m.Unlock()
			got <- time.Since(began)
		}()
		synctest.Wait()
		time.Sleep(time.Hour)
		m.Unlock()
		if d := <-got; d != time.Hour {
			t.Errorf("waited %v, want 1h", d)
		}
	})
}
