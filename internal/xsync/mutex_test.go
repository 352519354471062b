package xsync_test

import (
	"sync"
	"testing"

	"github.com/weir-stream/weir/internal/xsync"
)

// The tests run on both forms: plain, and with -tags synctest (make test does both).

func TestMutexExcludes(t *testing.T) {
	var (
		m     xsync.Mutex
		wg    sync.WaitGroup
		count int
	)
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				m.Lock()
				count++
				m.Unlock()
			}
		})
	}
	wg.Wait()
	if count != 8000 {
		t.Errorf("count = %d, want 8000", count)
	}
	if !m.TryLock() || m.TryLock() {
		t.Error("TryLock takes a free lock once")
	}
	m.Unlock()
}

func TestMutexServesACond(t *testing.T) {
	var m xsync.Mutex
	cond := sync.NewCond(&m)
	ready := false
	done := make(chan struct{})
	go func() {
		m.Lock()
		for !ready {
			cond.Wait()
		}
		m.Unlock()
		close(done)
	}()
	m.Lock()
	ready = true
	m.Unlock()
	cond.Broadcast()
	<-done
}

func TestRWMutexLetsReadersIn(t *testing.T) {
	var (
		m     xsync.RWMutex
		wg    sync.WaitGroup
		count int
	)
	m.RLock()
	m.RLock() // a second reader is not kept out by the first
	if m.TryLock() {
		t.Fatal("a writer got in beside readers")
	}
	m.RUnlock()
	m.RUnlock()
	for range 4 {
		wg.Go(func() {
			for range 500 {
				m.Lock()
				count++
				m.Unlock()
				m.RLock()
				_ = count
				m.RUnlock()
			}
		})
	}
	wg.Wait()
	if count != 2000 {
		t.Errorf("count = %d, want 2000", count)
	}
}
