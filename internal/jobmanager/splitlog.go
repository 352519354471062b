package jobmanager

import (
	"slices"

	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/rpc"
)

// splitLog remembers which splits a source has handed out since the checkpoint that a restart would begin from. When some of
// its readers are restarted and others are not, the enumerator goes on: what it has given to those readers since then comes
// to them again, with what the checkpoint holds of them, and so each split stays in one place. It belongs to the master's
// goroutine.
type splitLog struct {
	splits []PlacedSplit
	marks  []splitMark // rising
	lost   bool        // there were too many
}

// splitMark is how many of the splits were handed out before the enumerator's snapshot of an epoch.
type splitMark struct {
	epoch ids.Epoch
	at    int
}

// logMax bounds the splits that are remembered between two checkpoints.
const logMax = 1 << 18

// add notes splits that were handed out, or are about to be.
func (l *splitLog) add(subtask int, splits []rpc.Split) {
	if l.lost {
		return
	}
	if len(l.splits)+len(splits) > logMax {
		*l = splitLog{lost: true}
		return
	}
	for _, s := range splits {
		l.splits = append(l.splits, PlacedSplit{Split: s, Subtask: subtask})
	}
}

// mark notes that the enumerator's state was taken for an epoch. From there on everything is known again.
func (l *splitLog) mark(epoch ids.Epoch) {
	if l.lost {
		*l = splitLog{}
	}
	l.marks = append(l.marks, splitMark{epoch, len(l.splits)})
}

// complete forgets what was handed out before an epoch that is complete.
func (l *splitLog) complete(epoch ids.Epoch) {
	i := slices.IndexFunc(l.marks, func(k splitMark) bool { return k.epoch == epoch })
	if i < 0 {
		return
	}
	at := l.marks[i].at
	l.splits = slices.Delete(l.splits, 0, at)
	l.marks = slices.Delete(l.marks, 0, i)
	for i := range l.marks {
		l.marks[i].at -= at
	}
}

// reaches reports whether it is known what was handed out since an epoch.
func (l *splitLog) reaches(epoch ids.Epoch) bool {
	return !l.lost && slices.ContainsFunc(l.marks, func(k splitMark) bool { return k.epoch == epoch })
}

// since lists what a reader was given since an epoch.
func (l *splitLog) since(epoch ids.Epoch, subtask int) (out []rpc.Split) {
	i := slices.IndexFunc(l.marks, func(k splitMark) bool { return k.epoch == epoch })
	if i < 0 {
		return nil
	}
	for _, s := range l.splits[l.marks[i].at:] {
		if s.Subtask == subtask {
			out = append(out, s.Split)
		}
	}
	return out
}
