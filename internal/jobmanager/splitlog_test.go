package jobmanager

import (
	"slices"
	"testing"

	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/rpc"
)

func splits(names ...string) (out []rpc.Split) {
	for _, n := range names {
		out = append(out, rpc.Split{ID: n})
	}
	return out
}

// What a reader is given again is what it was given since the checkpoint that it is restored from, whichever that is.
func TestSplitLog(t *testing.T) {
	var l splitLog
	since := func(epoch, subtask int) (out []string) {
		for _, s := range l.since(ids.Epoch(epoch), subtask) {
			out = append(out, s.ID)
		}
		return out
	}
	want := func(epoch, subtask int, names ...string) {
		t.Helper()
		if got := since(epoch, subtask); !slices.Equal(got, names) || !l.reaches(ids.Epoch(epoch)) {
			t.Errorf("since %d reader %d was given %v, want %v", epoch, subtask, got, names)
		}
	}
	l.mark(0)
	l.add(0, splits("a", "b"))
	l.add(1, splits("c"))
	l.mark(1)
	l.add(0, splits("d"))
	l.mark(2)
	l.add(1, splits("e"))
	want(0, 0, "a", "b", "d")
	want(0, 1, "c", "e")
	want(1, 0, "d")
	want(2, 0)
	want(2, 1, "e")

	l.complete(2)
	want(2, 1, "e")
	l.complete(1) // late: it is of no use any more
	if l.reaches(1) || len(l.splits) != 1 {
		t.Errorf("after epoch 2 is complete, %d splits and epoch 1 are still there", len(l.splits))
	}

	l.mark(3)
	l.add(0, make([]rpc.Split, logMax))
	if l.reaches(2) || l.reaches(3) || len(l.splits) > 0 {
		t.Error("too many splits are remembered")
	}
	l.add(0, splits("f"))
	l.mark(4)
	l.add(0, splits("g"))
	want(4, 0, "g")
}
