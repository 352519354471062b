package windowop

import (
	"github.com/weir-stream/weir/window"
)

// slider combines the panes of sliding windows incrementally, so that a window costs a few steps a key and not one a
// pane and key. It is the two-stacks scheme of Tangwongsan, Hirzel, Schneider and Wu (General Incremental Sliding-Window
// Aggregation, VLDB 2015) with tables in place of values:
//
//   - front: for the older panes, the combination of each pane with all that follow it up to the turn;
//   - back: the combination of the panes behind the turn.
//
// A window is front[its first pane] and back together. When the window's first pane lies behind the turn, the turn moves:
// front is made anew from the window's panes, newest first, and back is emptied.
//
// A row that comes behind the watermark but still belongs to open windows changes a pane that has been combined already: amend
// adds it to back, or to every suffix that holds its pane.
type slider[A any] struct {
	host  sliderHost[A]
	front []suffix[A] // by rising start
	back  accumulators[A]
	upTo  int64 // end of the last pane in back, or of front
	turn  int64 // end of the last pane in front
	ready bool
}

// suffix is the combination of a pane with those behind it, up to the turn.
type suffix[A any] struct {
	start int64
	accs  accumulators[A]
}

// sliderHost is the operator that a slider serves.
type sliderHost[A any] interface {
	newTable() accumulators[A]
	recycle(accumulators[A])
	mergeInto(to, from *accumulators[A]) error
	emit(enc []byte, w window.Window, acc *A) error
	merge(acc, from *A)
}

func newSlider[A any](host sliderHost[A]) *slider[A] {
	return &slider[A]{host: host, back: host.newTable()}
}

// fire emits a window, whose live panes are in.
func (s *slider[A]) fire(w window.Window, in []*pane[A]) error {
	if !s.ready || w.Start >= s.turn {
		if err := s.rebuild(in); err != nil {
			return err
		}
	}
	for _, p := range in {
		if p.span.Start < s.upTo {
			continue
		}
		if err := s.host.mergeInto(&s.back, &p.accs); err != nil {
			return err
		}
		s.upTo = p.span.End
	}
	s.dropBefore(w.Start)
	if len(s.front) == 0 {
		return s.back.each(func(_ uint64, key []byte, acc *A) error { return s.host.emit(key, w, acc) })
	}
	return s.emitBoth(w, &s.front[0].accs)
}

// emitBoth emits the keys of front, each combined with back, and then the keys that only back has.
func (s *slider[A]) emitBoth(w window.Window, front *accumulators[A]) error {
	var scratch A
	empty := s.back.Len() == 0
	err := front.each(func(hash uint64, key []byte, acc *A) error {
		if empty {
			return s.host.emit(key, w, acc)
		}
		behind, err := s.back.read(hash, key, &scratch)
		if err != nil {
			return err
		}
		if behind == nil {
			return s.host.emit(key, w, acc)
		}
		var sum A
		s.host.merge(&sum, acc)
		s.host.merge(&sum, behind)
		return s.host.emit(key, w, &sum)
	})
	if err != nil || empty {
		return err
	}
	return s.back.each(func(hash uint64, key []byte, acc *A) error {
		before, err := front.read(hash, key, &scratch)
		if err != nil || before != nil {
			return err
		}
		return s.host.emit(key, w, acc)
	})
}

// rebuild moves the turn behind the given panes.
func (s *slider[A]) rebuild(in []*pane[A]) error {
	s.dropBefore(s.turn)
	s.back.Reset()
	s.front = make([]suffix[A], len(in))
	for i := len(in) - 1; i >= 0; i-- {
		f := suffix[A]{start: in[i].span.Start, accs: s.host.newTable()}
		s.front[i] = f
		if err := s.host.mergeInto(&f.accs, &in[i].accs); err != nil {
			return err
		}
		if i+1 < len(in) {
			if err := s.host.mergeInto(&f.accs, &s.front[i+1].accs); err != nil {
				return err
			}
		}
	}
	s.turn = in[len(in)-1].span.End
	s.upTo, s.ready = s.turn, true
	return nil
}

// holds reports whether the pane that begins at start has been combined.
func (s *slider[A]) holds(start int64) bool { return s != nil && s.ready && start < s.upTo }

// amend adds a change of a pane that has been combined. A pane that front does not know makes it be built anew.
func (s *slider[A]) amend(start int64, hash uint64, key []byte, f func(acc *A)) error {
	if start >= s.turn {
		return s.back.update(hash, key, f)
	}
	known := false
	for i := range s.front {
		if s.front[i].start <= start {
			if err := s.front[i].accs.update(hash, key, f); err != nil {
				return err
			}
			known = s.front[i].start == start
		}
	}
	s.ready = s.ready && known
	return nil
}

// dropBefore forgets the suffixes that begin before start.
func (s *slider[A]) dropBefore(start int64) {
	n := 0
	for n < len(s.front) && s.front[n].start < start {
		if s.front[n].accs.Table != nil {
			s.host.recycle(s.front[n].accs)
		}
		n++
	}
	s.front = s.front[n:]
}

// drop is told that a pane is forgotten.
func (s *slider[A]) drop(p *pane[A]) {
	if s != nil {
		s.dropBefore(p.span.End)
	}
}

func (s *slider[A]) close() {
	if s == nil {
		return
	}
	for _, f := range s.front {
		if f.accs.Table != nil {
			f.accs.Close()
		}
	}
	s.back.Close()
}
