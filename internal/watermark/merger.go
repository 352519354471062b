package watermark

import "github.com/weir-stream/weir/internal/planted"

// phase is where an input of a Merger stands.
type phase uint8

const (
	// counted: active, and the result waits for it.
	counted phase = iota
	// behind: active, but it came back from idleness with a watermark below the result. It counts again as soon as it has
	// caught up. Were it counted at once, one sleeper would stop everybody else.
	behind
	// asleep: idle.
	asleep
	// ended: it had its final watermark. Nobody waits for it, and its watermark is no candidate for anything: inputs that
	// are merely idle must not be closed by another one's end.
	ended
)

type input struct {
	watermark int64
	phase     phase
}

// Merger merges the watermarks of a fixed number of inputs. A new one is active and has no watermark.
//
// A step costs O(1) unless the input held the result back, and O(inputs) then.
type Merger struct {
	inputs []input
	open   int // inputs that have not ended
	awake  int // inputs that are counted or behind
	out    output
}

// NewMerger returns a merger of n inputs; n is at least one. from is the watermark to begin with: None, or the one that a
// restored operator had, since a watermark never falls.
func NewMerger(n int, from int64) *Merger {
	m := &Merger{inputs: make([]input, n), open: n, awake: n, out: output{watermark: from}}
	for i := range m.inputs {
		m.inputs[i].watermark = None
	}
	return m
}

// Len is the number of inputs.
func (m *Merger) Len() int { return len(m.inputs) }

// Current is the merged watermark.
func (m *Merger) Current() int64 { return m.out.watermark }

// IsIdle reports whether all inputs are idle or at their end.
func (m *Merger) IsIdle() bool { return m.out.idle }

// Holder is the input that the result waits for: the first of those with the lowest watermark. It is false if there is
// none.
func (m *Merger) Holder() (index int, watermark int64, ok bool) {
	watermark = Final
	for i, in := range m.inputs {
		if in.phase == counted && (!ok || in.watermark < watermark) {
			index, watermark, ok = i, in.watermark, true
		}
	}
	return index, watermark, ok
}

// Input is what the merger knows of an input, for those who look at it from outside.
func (m *Merger) Input(i int) (watermark int64, idle, finished bool) {
	in := m.inputs[i]
	return in.watermark, in.phase == asleep, in.phase == ended
}

// Watermark takes a watermark of an input. One that does not rise is ignored, and so is one of an idle input, which has to
// say first that it is active. Final ends the input.
func (m *Merger) Watermark(i int, t int64) Change {
	if t == Final {
		return m.End(i)
	}
	in := &m.inputs[i]
	if in.phase == asleep || in.phase == ended || t <= in.watermark {
		return Change{}
	}
	held := in.phase == counted && in.watermark <= m.out.watermark
	in.watermark = t
	if in.phase == behind {
		if t < m.out.watermark {
			return Change{}
		}
		// It has caught up. It may now be the only one that counts, and so the lowest.
		in.phase = counted
		held = true
	}
	if !held {
		return Change{}
	}
	return m.settle()
}

// Idle says that an input is idle.
func (m *Merger) Idle(i int) Change {
	if planted.Is(planted.IdleTakenForEnd) {
		return m.End(i)
	}
	in := &m.inputs[i]
	if in.phase == asleep || in.phase == ended {
		return Change{}
	}
	in.phase = asleep
	m.awake--
	return m.settle()
}

// Active says that an input is no longer idle.
func (m *Merger) Active(i int) Change {
	in := &m.inputs[i]
	if in.phase != asleep {
		return Change{}
	}
	in.phase = counted
	if in.watermark < m.out.watermark {
		in.phase = behind
	}
	m.awake++
	return m.settle()
}

// End says that an input has ended: it had its final watermark.
func (m *Merger) End(i int) Change {
	in := &m.inputs[i]
	if in.phase == ended {
		return Change{}
	}
	if in.phase != asleep {
		m.awake--
	}
	in.phase, in.watermark = ended, Final
	m.open--
	return m.settle()
}

// settle computes the result anew. The result may stay where it is although the inputs allow more: when all that is awake
// lies behind.
func (m *Merger) settle() Change {
	if m.open == 0 {
		// The final watermark is sent by an output that is active, whatever it was.
		return m.out.to(Final, false)
	}
	least, most, any := Final, None, false
	for _, in := range m.inputs {
		switch in.phase {
		case counted:
			least, any = min(least, in.watermark), true
		case asleep:
			most = max(most, in.watermark)
		}
	}
	switch {
	case m.awake == 0:
		return m.out.to(most, true)
	case any:
		return m.out.to(least, false)
	}
	return m.out.to(None, false)
}
