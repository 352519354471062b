package asyncop

type markKind uint8

const (
	markNone markKind = iota
	markWatermark
	markIdle
	markActive
)

// mark is what rows must not overtake.
type mark struct {
	kind markKind
	time int64 // of a watermark
}

// queue holds the rows under way and the marks between them, in segments.
type queue[T, U any] struct {
	single bool // a segment holds one row: results come in the order of the rows
	segs   []*segment[T, U]
}

// segment is a stretch of rows whose results may come in any order.
type segment[T, U any] struct {
	open   int          // rows that are not done
	ready  []*row[T, U] // done and not emitted, in the order of their completion
	closed bool         // no rows are added any more
	mark   mark         // sent behind the segment's rows

	first, last *row[T, U] // the rows that have not been emitted, in their order
}

// append adds a row to those that have not been emitted.
func (s *segment[T, U]) append(r *row[T, U]) {
	if r.prev = s.last; r.prev == nil {
		s.first = r
	} else {
		r.prev.next = r
	}
	s.last = r
}

// remove takes a row out of them.
func (s *segment[T, U]) remove(r *row[T, U]) {
	if r.prev == nil {
		s.first = r.next
	} else {
		r.prev.next = r.next
	}
	if r.next == nil {
		s.last = r.prev
	} else {
		r.next.prev = r.prev
	}
	r.prev, r.next = nil, nil
}

func (q *queue[T, U]) empty() bool { return len(q.segs) == 0 }

// last returns the segment that takes rows.
func (q *queue[T, U]) last() *segment[T, U] {
	if n := len(q.segs); n > 0 && !q.segs[n-1].closed {
		return q.segs[n-1]
	}
	s := &segment[T, U]{}
	q.segs = append(q.segs, s)
	return s
}

// add puts a row at the end.
func (q *queue[T, U]) add(r *row[T, U]) {
	s := q.last()
	s.open++
	s.append(r)
	s.closed = q.single
	r.seg = s
}

// close puts a mark at the end. Of two watermarks without a row between them the later one is enough.
func (q *queue[T, U]) close(m mark) {
	if n := len(q.segs); n > 0 {
		switch s := q.segs[n-1]; {
		case s.mark.kind == markNone:
			s.closed, s.mark = true, m
			return
		case s.mark.kind == markWatermark && m.kind == markWatermark:
			s.mark = m
			return
		}
	}
	q.segs = append(q.segs, &segment[T, U]{closed: true, mark: m})
}

// finished notes that a row of the segment is done.
func (s *segment[T, U]) finished(r *row[T, U]) {
	s.open--
	s.ready = append(s.ready, r)
}

// next takes the next row or mark that nothing holds back; nil and markNone mean that there is none.
func (q *queue[T, U]) next() (*row[T, U], mark) {
	for len(q.segs) > 0 {
		s := q.segs[0]
		if len(s.ready) > 0 {
			r := s.ready[0]
			s.ready[0] = nil
			s.ready = s.ready[1:]
			s.remove(r)
			return r, mark{}
		}
		if s.open > 0 {
			break
		}
		// The last segment goes too, even if it could take more rows: the next row opens another.
		q.segs[0] = nil
		q.segs = q.segs[1:]
		if s.mark.kind != markNone {
			return nil, s.mark
		}
	}
	return nil, mark{}
}
