package source

import "github.com/weir-stream/weir/internal/event"

// split is what the operator knows of one split.
type split struct {
	id        string
	max       int64 // highest event time seen
	watermark int64
	lastRow   int64 // processing time of the last batch
	idle      bool
	paused    bool
}

// splits follows the watermarks of the splits that a task reads.
type splits struct {
	bound     int64 // out-of-orderness in ms
	idleAfter int64 // ms, 0 = never
	limit     int64 // splits with a watermark above it are paused
	open      []*split
	byID      map[string]*split
	watermark int64 // what has been released; never falls
	idle      bool
}

func newSplits(bound, idleAfter int64, aligned bool) *splits {
	s := &splits{bound: bound, idleAfter: idleAfter, limit: event.MaxTime, byID: map[string]*split{}, watermark: event.NoTime}
	if aligned {
		s.limit = event.NoTime // until every split has shown its first rows
	}
	return s
}

func (s *splits) add(id string, now int64) {
	p := &split{id: id, max: event.NoTime, watermark: event.NoTime, lastRow: now}
	s.open = append(s.open, p)
	s.byID[id] = p
}

func (s *splits) remove(id string) {
	p := s.byID[id]
	if p == nil {
		return
	}
	delete(s.byID, id)
	for i, o := range s.open {
		if o == p {
			s.open = append(s.open[:i], s.open[i+1:]...)
			break
		}
	}
}

// saw notes a batch of a split with its highest event time (NoTime if no row had one). It reports whether a split has to be
// paused.
func (s *splits) saw(id string, max, now int64) (pause bool) {
	p := s.byID[id]
	if p == nil {
		return false
	}
	p.lastRow, p.idle = now, false
	if max > p.max {
		p.max = max
		p.watermark = subtract(max, s.bound+1)
	}
	if p.watermark > s.limit && !p.paused {
		p.paused = true
		return true
	}
	return false
}

// lowest returns the lowest watermark of the open splits that are not idle; ok is false if there is none.
func (s *splits) lowest() (low int64, ok bool) {
	low = event.MaxTime
	for _, p := range s.open {
		if !p.idle {
			ok = true
			low = min(low, p.watermark)
		}
	}
	return low, ok
}

// rise returns the watermark to emit, if it rose.
func (s *splits) rise() (int64, bool) {
	low, ok := s.lowest()
	if !ok || low <= s.watermark {
		return s.watermark, false
	}
	s.watermark = low
	return low, true
}

// markIdle marks splits that have sent nothing for too long, and returns whether all of them are idle and when to look
// again (0: never). A paused split is not idle: it is kept from reading.
func (s *splits) markIdle(now int64) (all bool, next int64) {
	if s.idleAfter <= 0 || len(s.open) == 0 {
		return false, 0
	}
	all = true
	for _, p := range s.open {
		if p.paused {
			p.lastRow = now
		}
		due := p.lastRow + s.idleAfter
		if now >= due {
			p.idle = true
			continue
		}
		all = false
		if next == 0 || due < next {
			next = due
		}
	}
	return all, next
}

// align sets the limit and returns whether the set of paused splits changed.
func (s *splits) align(limit int64, now int64) (changed bool) {
	s.limit = limit
	for _, p := range s.open {
		if pause := p.watermark > limit; pause != p.paused {
			p.paused, p.lastRow = pause, now
			changed = true
		}
	}
	return changed
}

// paused returns the set of paused splits, and whether they are all.
func (s *splits) pausedSet() (set map[string]bool, all bool) {
	set = make(map[string]bool)
	for _, p := range s.open {
		if p.paused {
			set[p.id] = true
		}
	}
	return set, len(set) == len(s.open) && len(set) > 0
}

// subtract returns a-b without wrapping below the least value.
func subtract(a, b int64) int64 {
	if a < event.NoTime+b {
		return event.NoTime
	}
	return a - b
}
