package window

import "slices"

// LiveSession is one live session of a key.
type LiveSession struct {
	// Window is the session as it is now: its timers and the memory of its trigger belong to this window.
	Window Window
	// Home names the place where its content is kept: the start of the first window of the session that still has its
	// content. Content stays there while the window grows, so that growing costs nothing. No two live sessions of a key
	// have the same home, because a home lies within its session and sessions are disjoint.
	Home int64
}

// Sessions are the live sessions of one key. Windows are disjoint, do not touch, and are sorted by start.
//
// The zero value is empty. Live may be read, stored and restored; it holds no pointers.
type Sessions struct {
	// Live are the sessions by rising start.
	Live []LiveSession
}

// Merge says what Add did.
type Merge struct {
	// Into is the session that the row belongs to now.
	Into LiveSession
	// Index is the place of Into in Live.
	Index int
	// Old are the sessions that Into replaces. It is empty if the row opened a session, or lies within one that did not
	// grow. Otherwise the caller, in this order: lets the trigger merge the states of Old into that of Into.Window;
	// clears trigger, timers and cleanup timer of each Old.Window; merges the content of each Old.Home other than
	// Into.Home into Into.Home. The slice is valid until the next Add.
	Old []LiveSession
	// Opened is true if the row opened a session.
	Opened bool
}

// Add puts the window of a row into the sessions. It finds its place by binary search; m.Old is used again, so that no
// memory is taken in the long run.
func (s *Sessions) Add(w Window, m *Merge) {
	m.Old, m.Opened = m.Old[:0], false
	// Ends rise with starts, so the first session that w can touch is the first with End >= w.Start.
	from, _ := slices.BinarySearchFunc(s.Live, w.Start, func(x LiveSession, start int64) int {
		if x.Window.End < start {
			return -1
		}
		return 1
	})
	to := from
	merged := w
	for to < len(s.Live) && s.Live[to].Window.Intersects(w) {
		merged = merged.Cover(s.Live[to].Window)
		to++
	}
	m.Index = from
	switch {
	case to == from:
		m.Opened = true
		m.Into = LiveSession{Window: w, Home: w.Start}
		s.Live = slices.Insert(s.Live, from, m.Into)
		return
	case to == from+1 && merged == s.Live[from].Window:
		m.Into = s.Live[from]
		return
	}
	m.Old = append(m.Old, s.Live[from:to]...)
	m.Into = LiveSession{Window: merged, Home: s.Live[from].Home}
	s.Live[from] = m.Into
	s.Live = slices.Delete(s.Live, from+1, to)
}

// Find returns the session whose window is exactly w. A timer of a window that has merged into another finds nothing.
func (s *Sessions) Find(w Window) (LiveSession, bool) {
	i, ok := s.search(w)
	if !ok {
		return LiveSession{}, false
	}
	return s.Live[i], true
}

// Remove forgets the session whose window is exactly w, and reports whether there was one.
func (s *Sessions) Remove(w Window) bool {
	i, ok := s.search(w)
	if ok {
		s.Live = slices.Delete(s.Live, i, i+1)
	}
	return ok
}

func (s *Sessions) search(w Window) (int, bool) {
	i, ok := slices.BinarySearchFunc(s.Live, w.Start, func(x LiveSession, start int64) int {
		switch {
		case x.Window.Start < start:
			return -1
		case x.Window.Start > start:
			return 1
		}
		return 0
	})
	return i, ok && s.Live[i].Window == w
}
