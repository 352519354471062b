package weirtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// schedule is one disturbed run of a job: how it is set up, and what goes wrong when. It follows from its seed.
type schedule struct {
	seed        uint64
	parallelism int
	batch       int
	chained     bool
	backend     string
	unaligned   bool
	switchAfter time.Duration // of checkpoints that begin aligned
	interval    time.Duration
	concurrent  int
	incremental bool
	retained    int
	tolerable   int           // checkpoints in a row that may fail; -1 is any number
	timeout     time.Duration // of a checkpoint
	atLeastOnce bool          // rows may come twice
	slow        time.Duration // what the sink takes for each batch, so that rows are in flight everywhere
	faults      []fault
}

// fault is one thing that goes wrong.
type fault struct {
	kind faultKind
	// at is when, counted from the begin of the first run in time that somebody lives; for faults of the storage it is from
	// when on the next request is the one.
	at time.Duration
	// pick chooses a task, or what becomes of the request.
	pick int
	// parallelism is that of the run after a power cut or a stop, or from a savepoint.
	parallelism int
	// elsewhere lets a stopped job go on in another directory of checkpoints; claim lets it own the savepoint.
	elsewhere, claim bool
	// slow is how long a slow request takes.
	slow time.Duration
}

type faultKind uint8

const (
	// failTask lets one task fail.
	failTask faultKind = iota
	// powerCut ends every process at once; the job is started again, at another parallelism.
	powerCut
	// storeRefuses lets the next requests of the storage fail, though nothing was done.
	storeRefuses
	// storeForgets lets the next request of the storage be done, and its answer be lost.
	storeForgets
	// storeTears lets the next write or read end in the middle.
	storeTears
	// storeWaits lets the next request take long.
	storeWaits
	// storeFull lets the next requests find no space.
	storeFull
	// twice lets the next messages of the control plane come twice.
	twice
	// stop ends the job with a savepoint; it goes on from that.
	stop
	// save takes a savepoint among the checkpoints. When the job has ended another one is started from it.
	save
	faultKinds
	// damage takes an object of the newest checkpoint away, and then the power. Rows come twice, so that only tests that
	// allow for that draw it.
	damage
	// drain stops the job as if its sources had ended.
	drain
)

var faultNames = [...]string{"a task fails", "power cut", "the storage refuses", "the storage does, and forgets to say so", "the storage tears",
	"the storage is slow", "the storage is full", "messages come twice", "stopped with a savepoint", "a savepoint is taken", "",
	"the newest checkpoint is damaged, and the power goes", "drained"}

func (f fault) String() string {
	s := fmt.Sprintf("%8v  %s", f.at, faultNames[f.kind])
	switch f.kind {
	case failTask:
		s += fmt.Sprintf(" (number %d)", f.pick)
	case powerCut, stop, damage, drain:
		s += fmt.Sprintf(", goes on at parallelism %d", f.parallelism)
	case save:
		s += fmt.Sprintf(", from which another job is started at parallelism %d", f.parallelism)
	case storeRefuses, storeFull, twice:
		s += fmt.Sprintf(" (%d times)", f.pick)
	case storeWaits:
		s += fmt.Sprintf(" (%v, %d times)", f.slow, f.pick)
	}
	if f.elsewhere {
		s += " in another directory"
	}
	if f.claim && (f.kind == save || f.kind == stop) {
		s += " which claims it"
	}
	return s
}

// draw makes the schedule of a seed for a job whose undisturbed run takes so long.
func draw(seed uint64, length time.Duration) schedule {
	r := rand.New(rand.NewPCG(seed, 0x63686173))
	pick := func(of ...int) int { return of[r.IntN(len(of))] }
	s := schedule{seed: seed, parallelism: 1 + r.IntN(3), batch: pick(1, 2, 7, 30), chained: r.IntN(2) == 0, backend: "paged", concurrent: pick(1, 1, 2)}
	length = length * time.Duration(undisturbed.batch) / time.Duration(s.batch) // a batch takes the same time, whatever its rows
	s.interval = max(2*time.Millisecond, (length / time.Duration(pick(3, 6, 12, 25, 50))).Round(100*time.Microsecond))
	switch r.IntN(8) {
	case 0, 1:
		s.backend = "model"
	case 2:
		s.backend = "lsm"
	}
	s.incremental, s.retained, s.tolerable = r.IntN(4) > 0, 1+r.IntN(3), pick(-1, -1, 0, 1, 2)
	s.timeout = time.Duration(pick(20, 60, 600_000, 600_000)) * time.Millisecond
	switch r.IntN(3) {
	case 0:
		s.unaligned, s.concurrent = true, 1
	case 1:
		s.unaligned, s.concurrent, s.switchAfter = true, 1, time.Duration(1+r.IntN(5))*time.Millisecond
	}
	if r.IntN(2) == 0 {
		s.slow = time.Duration(1+r.IntN(3000)) * time.Microsecond
	}
	for range 1 + r.IntN(5) {
		f := fault{kind: faultKind(r.IntN(int(faultKinds))), at: time.Duration(r.Int64N(int64(length)*5/4 + 1)).Round(10 * time.Microsecond)}
		switch r.IntN(12) { // what tells most
		case 0, 1, 2, 3:
			f.kind = powerCut
		case 4:
			f.kind, f.at = stop, f.at/time.Duration(s.parallelism)
		case 5:
			f.kind, f.at = save, f.at/time.Duration(s.parallelism)
		}
		f.pick, f.parallelism = r.IntN(8), 1+r.IntN(3)
		if f.kind == stop {
			f.elsewhere, f.claim = r.IntN(2) == 0, r.IntN(3) == 0
		}
		f.claim = f.claim || f.kind == save && r.IntN(2) == 0
		switch f.kind {
		case storeRefuses, storeFull:
			f.pick = 1 + r.IntN(pick(4, 4, 60)) // the last is more than is tried again
		case twice:
			f.pick = 1 + r.IntN(4)
		case storeWaits:
			f.pick, f.slow = 1, time.Duration(1+r.IntN(100))*time.Millisecond
		}
		s.faults = append(s.faults, f)
	}
	if r.IntN(3) == 0 { // the power goes while the storage is slow: whatever is done in the wrong order shows
		f := fault{kind: storeWaits, at: s.faults[0].at, pick: 1 + r.IntN(20), slow: time.Duration(1+r.IntN(30)) * time.Millisecond}
		cut := fault{kind: powerCut, at: f.at + time.Duration(r.Int64N(int64(f.slow)*int64(f.pick))), parallelism: 1 + r.IntN(3)}
		s.faults = append(s.faults, f, cut)
	}
	slices.SortStableFunc(s.faults, func(a, b fault) int { return int(a.at - b.at) })
	return s
}

func (s schedule) String() string {
	var b strings.Builder
	barriers := "aligned barriers"
	if s.unaligned {
		barriers = "unaligned barriers"
		if s.switchAfter > 0 {
			barriers += fmt.Sprintf(" after %v", s.switchAfter)
		}
	}
	chained := "chained"
	if !s.chained {
		chained = "unchained"
	}
	kind := "whole"
	if s.incremental {
		kind = "incremental"
	}
	if s.atLeastOnce {
		kind += ", at least once"
	}
	fmt.Fprintf(&b, "seed %d: parallelism %d, batches of %d, %s, state backend %s, checkpoints every %v (%d at a time, %d kept, %d in a row may fail, %v each, %s), %s, %v in the sink for each batch\n",
		s.seed, s.parallelism, s.batch, chained, s.backend, s.interval, s.concurrent, s.retained, s.tolerable, s.timeout, kind, barriers, s.slow)
	for _, f := range s.faults {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

// shorten looks for the shortest schedule that still fails, by leaving out faults and settings one after the other.
func shorten(s schedule, fails func(schedule) bool) schedule {
	for again := true; again; {
		again = false
		for i := range s.faults {
			less := s
			less.faults = slices.Delete(slices.Clone(s.faults), i, i+1)
			if fails(less) {
				s, again = less, true
				break
			}
		}
	}
	for _, simpler := range []func(*schedule){
		func(s *schedule) { s.unaligned, s.switchAfter = false, 0 },
		func(s *schedule) { s.switchAfter = 0 },
		func(s *schedule) { s.concurrent = 1 },
		func(s *schedule) { s.backend = "paged" },
		func(s *schedule) { s.incremental = false },
		func(s *schedule) { s.retained, s.tolerable, s.timeout = 1, -1, 10*time.Minute },
		func(s *schedule) { s.slow = 0 },
		func(s *schedule) { s.chained = true },
		func(s *schedule) { s.batch = 30 },
		func(s *schedule) { s.parallelism = 1 },
	} {
		less := s
		simpler(&less)
		if less.String() != s.String() && fails(less) {
			s = less
		}
	}
	return s
}
