package recovery_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/testkit/seeds"
)

var kills = flag.Int("kills", 6, "how many processes TestRandomKills kills")

// Any process of the job may be killed at any time: workers, also while they are replaced, and the coordinator.
func TestRandomKills(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of real time for each kill")
	}
	seeds.Run(t, 1, killSome)
}

func killSome(t *testing.T, random *rand.Rand) {
	n := 5_000 * (*kills + 2)
	dir, args := t.TempDir(), []string{"-D", "restart-strategy.exponential-delay.initial-backoff=20 ms", "-D", "restart-strategy.exponential-delay.max-backoff=100 ms"}
	p := start(t, dir, n, 10_000, 3, map[int64]int64{}, args...)
	for range *kills {
		_, rows := p.counts()
		p.awaitRows(rows + 1 + random.IntN(4000))
		pids := p.workers()
		victim := random.IntN(len(pids) + 1)
		p.watch()
		killed := time.Now()
		if victim < len(pids) {
			if err := syscall.Kill(pids[victim], syscall.SIGKILL); err != nil && err != os.ErrProcessDone {
				t.Log(err)
			}
			t.Logf("worker killed; first new row after %v", p.first().Sub(killed))
			continue
		}
		_ = p.cmd.Process.Kill()
		<-p.done
		best, _ := p.counts()
		p = start(t, dir, n, 10_000, 1+random.IntN(3), best, args...)
		p.watch()
		t.Logf("coordinator killed; first new row after %v", p.first().Sub(killed))
	}
	p.finish(n)
}
