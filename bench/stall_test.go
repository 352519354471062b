package bench

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// stallTick is how often a stall meter looks at the clock.
const stallTick = time.Millisecond

// stalls looks at the clock each stallTick, on a goroutine of its own, and notes by how much it comes late. All looks that it
// has missed meanwhile count, as rows that were due then would.
type stalls struct {
	done chan struct{}
	all  sync.WaitGroup
	l    *latencies
}

// startStalls starts after a while.
func startStalls(after time.Duration) *stalls {
	s := &stalls{done: make(chan struct{}), l: &latencies{}}
	s.all.Go(func() {
		time.Sleep(after)
		began := time.Now()
		for due := stallTick; ; {
			select {
			case <-s.done:
				return
			default:
				time.Sleep(due - time.Since(began))
			}
			now := time.Since(began)
			for ; due <= now; due += stallTick {
				s.l.add(int64(now - due))
			}
		}
	})
	return s
}

func (s *stalls) stop() *latencies {
	close(s.done)
	s.all.Wait()
	return s.l
}

// stallMeter is the same in a process of its own, which has nothing else to do.
type stallMeter struct {
	cmd *exec.Cmd
	in  func() error
	out *bufio.Scanner
}

func startStallMeter(b *testing.B) *stallMeter {
	b.Helper()
	m := &stallMeter{cmd: program(b, "stalls")}
	in, err := m.cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	m.in, m.out = in.Close, bufio.NewScanner(out)
	if err := m.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return m
}

// measureStalls is the process of a stallMeter: it measures until its input ends and prints its histogram.
func measureStalls() {
	s := startStalls(latencyWarm)
	_, _ = os.Stdin.Read(make([]byte, 1))
	for i, n := range s.stop().buckets {
		if n > 0 {
			fmt.Println(i, n)
		}
	}
	os.Exit(0)
}

func (m *stallMeter) stop(b *testing.B) *latencies {
	b.Helper()
	_ = m.in()
	l := &latencies{}
	for m.out.Scan() {
		var i int
		var n int64
		if _, err := fmt.Sscan(m.out.Text(), &i, &n); err != nil {
			b.Fatal(err)
		}
		l.buckets[i] = n
		l.n += n
	}
	if err := m.cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	return l
}

// runDelay is how long the threads of the process have been ready to run while others had the cores; 0 where the system
// does not tell.
func runDelay() time.Duration {
	var sum time.Duration
	names, _ := filepath.Glob("/proc/self/task/*/schedstat")
	for _, name := range names {
		var ran, waited time.Duration
		text, _ := os.ReadFile(name)
		if _, err := fmt.Fscan(strings.NewReader(string(text)), &ran, &waited); err == nil {
			sum += waited
		}
	}
	return sum
}
