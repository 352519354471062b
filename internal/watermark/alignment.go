package watermark

import "slices"

// Align pauses and resumes splits for an alignment bound, which comes from Alignment.Bound: a split whose watermark is
// above the bound is to wait. It returns the splits to pause and to resume now; both slices are valid until the next call
// of Align. A paused split is not idle and still counts: its rows are only waiting.
func (s *Splits) Align(bound, now int64, pause, resume []SplitID) ([]SplitID, []SplitID) {
	pause, resume = pause[:0], resume[:0]
	for i := range s.splits {
		x := &s.splits[i]
		if !x.live {
			continue
		}
		x.watermark = max(x.watermark, x.generator.Watermark())
		ahead := x.watermark > bound
		if ahead == x.paused {
			continue
		}
		s.age(x, now)
		x.paused = ahead
		if ahead {
			pause = append(pause, SplitID(i))
		} else {
			resume = append(resume, SplitID(i))
		}
	}
	return pause, resume
}

// Slowest is the watermark that the reader reports to the alignment of its group: the lowest among its splits that are not
// idle. It is false if there is none: such a reader holds nobody back.
func (s *Splits) Slowest() (watermark int64, ok bool) {
	_, watermark, ok = s.Holder()
	return watermark, ok
}

// Member names a reader within an alignment group.
type Member struct {
	// Source is the source's place in the job; several sources may be of one group.
	Source int
	// Subtask is the reader's number.
	Subtask int
}

// Alignment is the coordinator's part: it knows how far the readers of one group are. The slowest is never told to wait, so
// a group never stops by itself.
type Alignment struct {
	driftMax int64
	members  map[Member]int64
}

// NewAlignment returns the alignment of a group without members. driftMax is how far ahead of the slowest a split may be,
// in ms.
func NewAlignment(driftMax int64) *Alignment {
	return &Alignment{driftMax: driftMax, members: map[Member]int64{}}
}

// Report takes what a reader's Slowest said. A reader for which it was false, because it has no split or only idle ones,
// leaves the group until it has something to report.
func (a *Alignment) Report(m Member, watermark int64, ok bool) {
	if !ok {
		delete(a.members, m)
		return
	}
	a.members[m] = watermark
}

// Forget removes a reader that has ended or failed.
func (a *Alignment) Forget(m Member) { delete(a.members, m) }

// Bound is how far a split of the group may be: the slowest reader's watermark plus the drift. It is Final, which stops
// nobody, if no reader reports, and None, which stops everybody who has a watermark, as long as one has none yet.
func (a *Alignment) Bound() int64 {
	least := Final
	for _, w := range a.members {
		least = min(least, w)
	}
	if least == None {
		return None
	}
	return satAdd(least, a.driftMax)
}

// Members are the readers that count at present, in order, with what they reported.
func (a *Alignment) Members() []Member {
	list := make([]Member, 0, len(a.members))
	for m := range a.members {
		list = append(list, m)
	}
	slices.SortFunc(list, func(x, y Member) int {
		if x.Source != y.Source {
			return x.Source - y.Source
		}
		return x.Subtask - y.Subtask
	})
	return list
}
