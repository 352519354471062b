package exchange

import (
	"fmt"
	"math/rand/v2"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/keygroup"
)

// Partition says how an Output spreads rows over its senders. The zero value is Forward.
type Partition struct {
	kind   partition
	start  int
	seed   uint64
	custom func(b event.Batch, targets []int32) error
}

type partition uint8

const (
	forward partition = iota
	keyed
	roundRobin
	shuffle
	broadcast
	global
	custom
)

var partitionNames = [...]string{"forward", "keyed", "round-robin", "shuffle", "broadcast", "global", "custom"}

// String returns the kind's name.
func (p Partition) String() string { return partitionNames[p.kind] }

// Forward sends everything to the one sender of the output.
func Forward() Partition { return Partition{kind: forward} }

// Keyed sends a row to the owner of its key group; sender i must lead to subtask i, for all subtasks. Batches must carry
// hashes.
func Keyed() Partition { return Partition{kind: keyed} }

// Rebalance sends to all senders in turn, beginning with start, which should differ between producing subtasks so that
// they do not all begin with the same consumer. A batch that is at least half full goes to one sender whole; smaller ones
// are split into a run of rows for each sender. (Flink deals out single rows; over many batches the shares are the same.)
func Rebalance(start int) Partition { return Partition{kind: roundRobin, start: start} }

// Rescale is Rebalance over the near group of consumers that the graph connects the producer with.
func Rescale(start int) Partition { return Rebalance(start) }

// Shuffle sends to random senders, in the same portions as Rebalance. Equal seeds give equal choices.
func Shuffle(seed uint64) Partition { return Partition{kind: shuffle, seed: seed} }

// Broadcast sends every row to every sender.
func Broadcast() Partition { return Partition{kind: broadcast} }

// Global sends everything to sender 0; the others get only watermarks, barriers and the end.
func Global() Partition { return Partition{kind: global} }

// Custom lets f choose: it fills in the number of the sender for each live row, in order. An error fails the task.
func Custom(f func(b event.Batch, targets []int32) error) Partition {
	return Partition{kind: custom, custom: f}
}

// splitter sorts the rows of a batch by target. Its slices are used again for each batch.
type splitter struct {
	targets []int32 // by live row
	rows    []int32 // physical rows, ordered by target
	ends    []int32 // end of each target's part of rows
}

// size makes room for n rows and p targets and clears the counts.
func (s *splitter) size(n, p int) {
	if cap(s.targets) < n {
		s.targets, s.rows = make([]int32, n), make([]int32, n)
	}
	s.targets, s.rows = s.targets[:n], s.rows[:n]
	if len(s.ends) != p {
		s.ends = make([]int32, p)
	}
	clear(s.ends)
}

// byKey fills targets and counts with the owners of the rows' key groups.
func (s *splitter) byKey(hashes []uint64, sel []int32) {
	p := uint64(len(s.ends))
	ends, targets := s.ends, s.targets
	if sel == nil {
		hashes = hashes[:len(targets)]
		for i, h := range hashes {
			t := ((h>>keygroup.Shift+1)*p - 1) >> keygroup.Bits
			targets[i] = int32(t)
			ends[t]++
		}
		return
	}
	sel = sel[:len(targets)]
	for i, row := range sel {
		t := ((hashes[row]>>keygroup.Shift+1)*p - 1) >> keygroup.Bits
		targets[i] = int32(t)
		ends[t]++
	}
}

// count fills the counts from targets, and returns an error if one of them is out of range.
func (s *splitter) count() error {
	for i, t := range s.targets {
		if t < 0 || int(t) >= len(s.ends) {
			return fmt.Errorf("the partitioner chose target %d for row %d, but targets are 0 to %d", t, i, len(s.ends)-1)
		}
		s.ends[t]++
	}
	return nil
}

// sort orders the row numbers by target, keeping the order within each.
func (s *splitter) sort(sel []int32) {
	at := int32(0)
	for t, n := range s.ends {
		s.ends[t] = at
		at += n
	}
	rows, ends := s.rows, s.ends
	if sel == nil {
		for i, t := range s.targets {
			rows[ends[t]] = int32(i)
			ends[t]++
		}
		return
	}
	for i, t := range s.targets {
		rows[ends[t]] = sel[i]
		ends[t]++
	}
}

// only returns the target that all n rows have, or -1.
func (s *splitter) only(n int) int {
	for t, c := range s.ends {
		if c != 0 {
			if int(c) == n {
				return t
			}
			return -1
		}
	}
	return -1
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x57656972)) }
