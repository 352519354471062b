package watermark

import "github.com/weir-stream/weir/internal/sat"

// Strategy says how a source makes watermarks. Times are in ms.
type Strategy struct {
	// New makes the generator of a split. It must not be nil.
	New func() Generator
	// IdleAfter is how long a split may give no row before it is idle; 0 means for ever.
	IdleAfter int64
	// AheadMax is how far ahead of the clock a row's time may move the watermark; 0 means any distance. A time beyond it
	// is counted and otherwise ignored, so that one row stamped in the far future does not close every window.
	AheadMax int64
}

// SplitID names a split within one Splits.
type SplitID int

// split is one split that a reader has.
type split struct {
	live      bool
	idle      bool
	paused    bool
	generator Generator
	watermark int64
	// quiet is how long the split has given no row, without the time in which it could not have given one; it was
	// brought up to date at the time since.
	quiet int64
	since int64
}

// Splits merges the watermarks of the splits that one reader has at a time. Splits come and go.
//
// Idleness is decided from the times that are handed in. Time in which a split cannot give rows does not count: while it
// is paused, and while the reader is blocked because its output takes no more.
type Splits struct {
	strategy Strategy
	splits   []split
	free     []SplitID
	live     int
	settled  bool // no further split is on its way
	blocked  bool
	ended    bool
	out      output
	ahead    int64
	scratch  []int64
}

// NewSplits returns a merger for a reader that has no split yet, and expects some. from is None, or the watermark of a
// restored reader.
func NewSplits(s Strategy, from int64) *Splits {
	return &Splits{strategy: s, out: output{watermark: from}}
}

// Current is the merged watermark.
func (s *Splits) Current() int64 { return s.out.watermark }

// Ahead is how many rows had a time too far in the future to count.
func (s *Splits) Ahead() int64 { return s.ahead }

// Len is the number of splits.
func (s *Splits) Len() int { return s.live }

// Split is what is known of a split, for those who look at it from outside.
func (s *Splits) Split(id SplitID) (watermark int64, idle, paused bool) {
	x := &s.splits[id]
	return x.watermark, x.idle, x.paused
}

// Holder is the split that the result waits for.
func (s *Splits) Holder() (id SplitID, watermark int64, ok bool) {
	for i := range s.splits {
		x := &s.splits[i]
		if x.live && !x.idle && (!ok || x.watermark < watermark) {
			id, watermark, ok = SplitID(i), x.watermark, true
		}
	}
	return id, watermark, ok
}

// Expect says whether further splits are on their way to this reader. As long as they are, a reader without splits holds its
// watermark where it is: the next split's rows may be old. When none are, it is idle, so that nobody waits for a reader
// that has nothing to read. The next Tick says what changes.
func (s *Splits) Expect(more bool) { s.settled = !more }

// Add gives the reader a split. It holds the result back until it has a watermark or is idle. The next Tick says what
// changes: several splits that come together are not to flicker between active and idle.
func (s *Splits) Add(now int64) SplitID {
	x := split{live: true, generator: s.strategy.New(), watermark: None, since: now}
	s.live++
	if n := len(s.free); n > 0 {
		id := s.free[n-1]
		s.free = s.free[:n-1]
		s.splits[id] = x
		return id
	}
	s.splits = append(s.splits, x)
	return SplitID(len(s.splits) - 1)
}

// Save returns how far a split has come and whether it is idle, for Restore in a later run.
func (s *Splits) Save(id SplitID) (watermark int64, idle bool) {
	x := &s.splits[id]
	return max(x.watermark, x.generator.Watermark()), x.idle
}

// Restore lets a split that was just added go on from what Save returned.
func (s *Splits) Restore(id SplitID, watermark int64, idle bool) {
	s.splits[id].watermark, s.splits[id].idle = watermark, idle
}

// Remove takes a split away, because it ended or was given to another reader. Its watermark counts no more. The next Tick
// says what changes.
func (s *Splits) Remove(id SplitID) {
	s.splits[id] = split{}
	s.free = append(s.free, id)
	s.live--
}

// Observe takes the times of rows that a split gave. It is to be called before they are sent on; what it means for the
// watermark is said by Tick, after they were sent. The slice is borrowed for the call.
func (s *Splits) Observe(id SplitID, times []int64, now int64) {
	x := &s.splits[id]
	if len(times) == 0 {
		return
	}
	x.idle, x.quiet, x.since = false, 0, now
	if s.strategy.AheadMax > 0 {
		times = s.sane(times, sat.Add(now, s.strategy.AheadMax))
	}
	x.generator.Observe(times)
}

// sane is times without those above limit. It copies only if there are any.
func (s *Splits) sane(times []int64, limit int64) []int64 {
	highest := None
	for _, t := range times {
		highest = max(highest, t)
	}
	if highest <= limit {
		return times
	}
	s.scratch = s.scratch[:0]
	for _, t := range times {
		if t <= limit {
			s.scratch = append(s.scratch, t)
		}
	}
	s.ahead += int64(len(times) - len(s.scratch))
	return s.scratch
}

// CaughtUp says that the source knows a split to have nothing more at present. It is idle at once, without waiting for the
// timeout, until its next row.
func (s *Splits) CaughtUp(id SplitID) { s.splits[id].idle = true }

// Block says that the reader's output takes no more, and with false that it does again.
func (s *Splits) Block(blocked bool, now int64) {
	for i := range s.splits {
		s.age(&s.splits[i], now)
	}
	s.blocked = blocked
}

// age brings the quiet time of a split up to date.
func (s *Splits) age(x *split, now int64) {
	if !x.paused && !s.blocked && now > x.since {
		x.quiet += now - x.since
	}
	x.since = max(x.since, now)
}

// Tick reads all generators and all quiet times, and says what is to be sent. It is called periodically, after rows that
// may move the watermark were sent, and after Add, Remove and CaughtUp.
func (s *Splits) Tick(now int64) Change {
	if s.ended {
		return Change{}
	}
	least, most, any := Final, None, false
	for i := range s.splits {
		x := &s.splits[i]
		if !x.live {
			continue
		}
		s.age(x, now)
		x.watermark = max(x.watermark, x.generator.Watermark())
		if s.strategy.IdleAfter > 0 && x.quiet >= s.strategy.IdleAfter {
			x.idle = true
		}
		if x.idle {
			most = max(most, x.watermark)
			continue
		}
		least, any = min(least, x.watermark), true
	}
	switch {
	case any:
		return s.out.to(least, false)
	case s.live == 0 && !s.settled:
		return s.out.to(None, false)
	}
	return s.out.to(most, true)
}

// End says that the reader will get no more splits and has none: the final watermark is to be sent.
func (s *Splits) End() Change {
	s.ended = true
	return s.out.to(Final, false)
}

// NextDeadline is the time at which the first split becomes idle if no row comes; false if none will.
func (s *Splits) NextDeadline() (at int64, ok bool) {
	if s.strategy.IdleAfter <= 0 || s.blocked {
		return 0, false
	}
	for i := range s.splits {
		x := &s.splits[i]
		if !x.live || x.idle || x.paused {
			continue
		}
		if d := sat.Add(x.since, s.strategy.IdleAfter-x.quiet); !ok || d < at {
			at, ok = d, true
		}
	}
	return at, ok
}
