package watermark

// Align pauses and resumes splits for an alignment bound, which the coordinator makes of all readers' watermarks: a split
// whose watermark is above the bound is to wait. It returns the splits to pause and to resume now; both slices are valid until the next call
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

// Slowest is the watermark that the reader reports to the coordinator: the lowest among its splits that are not idle. It is
// false if there is none: such a reader holds nobody back.
func (s *Splits) Slowest() (watermark int64, ok bool) {
	_, watermark, ok = s.Holder()
	return watermark, ok
}
