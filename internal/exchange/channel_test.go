package exchange

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-stream/weir/internal/event"
	"pgregory.net/rapid"
)

// mark is a batch that is nothing but a number.
type mark struct {
	event.Batch
	n int
}

func show(ev event.Event) string {
	switch ev.Kind {
	case event.KindBatch:
		return fmt.Sprint(ev.Batch.(mark).n)
	case event.KindWatermark:
		return fmt.Sprintf("w%d", ev.Time)
	case event.KindBarrier:
		if ev.Barrier.Unaligned {
			return fmt.Sprintf("B%d", ev.Barrier.Epoch)
		}
		return fmt.Sprintf("b%d", ev.Barrier.Epoch)
	}
	return ev.Kind.String()
}

// model is the queue written for reading: one list of everything not polled yet, in the order sent. A watermark and the
// state of idleness that follow the last batch or barrier are found by looking back.
type model struct{ list []event.Event }

func (m *model) push(ev event.Event) {
	tail := len(m.list)
	for tail > 0 && m.list[tail-1].Kind != event.KindBatch && m.list[tail-1].Kind != event.KindBarrier {
		tail--
	}
	group := m.list[tail:]
	var mark []event.Event
	for _, e := range group {
		if e.Kind == event.KindWatermark {
			mark = []event.Event{e}
		}
	}
	switch ev.Kind {
	case event.KindWatermark:
		if len(mark) > 0 {
			ev.Time = max(ev.Time, mark[0].Time)
		}
		m.list = append(m.list[:tail:tail], ev)
	case event.KindIdle, event.KindActive:
		m.list = append(append(m.list[:tail:tail], mark...), ev)
	default:
		m.list = append(m.list, ev)
	}
}

// pop removes the first barrier if it is unaligned, and the first event otherwise.
func (m *model) pop() event.Event {
	at := 0
	for i, e := range m.list {
		if e.Kind == event.KindBarrier && e.Barrier.Epoch != gone {
			if e.Barrier.Unaligned {
				at = i
			}
			break
		}
	}
	ev := m.list[at]
	if at > 0 {
		// What was overtaken keeps its place before what comes later: nothing merges over the gap.
		m.list[at] = event.Event{Kind: event.KindBarrier, Barrier: event.Barrier{Epoch: gone}}
	} else {
		m.list = m.list[1:]
	}
	for len(m.list) > 0 && m.list[0].Kind == event.KindBarrier && m.list[0].Barrier.Epoch == gone {
		m.list = m.list[1:]
	}
	return ev
}

const gone = 1 << 40

func TestQueueAgainstItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := NewInbox(Config{Channels: 1, Depth: 1 << 20, Now: func() int64 { return 0 }})
		var m model
		var sent, left []string
		batches := 0
		poll := func() {
			it, ok, err := in.Poll()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				if len(m.list) != 0 {
					t.Fatalf("nothing polled where the model has %s", show(m.list[0]))
				}
				return
			}
			want := m.pop()
			if show(it.Event) != show(want) {
				t.Fatalf("sent %s, polled %s: got %s, want %s", strings.Join(sent, " "), strings.Join(left, " "), show(it.Event), show(want))
			}
			left = append(left, show(it.Event))
		}
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			var ev event.Event
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0, 1:
				batches++
				ev = event.OfBatch(mark{n: batches})
			case 2, 3:
				ev = event.Watermark(int64(rapid.IntRange(0, 9).Draw(t, "time")))
			case 4:
				ev = event.Idle()
			case 5:
				ev = event.Active()
			case 6:
				ev = event.OfBarrier(event.Barrier{Epoch: uint64(i + 1)})
			case 7:
				ev = event.OfBarrier(event.Barrier{Epoch: uint64(i + 1), Unaligned: true})
			default:
				poll()
				continue
			}
			sent = append(sent, show(ev))
			m.push(ev)
			in.offer(0, ev, false)
		}
		for len(m.list) > 0 {
			poll()
		}
		poll()
	})
}

// Law: with any mix of calls, each event between the channel's start and the barrier of an epoch that was not polled
// before the first call belongs to the epoch exactly once.
func TestInflightHandsOutOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := NewInbox(Config{Channels: 1, Depth: 1 << 20, Now: func() int64 { return 0 }})
		n, barrierAt := 0, -1
		got := map[int]int{}
		note := func(evs []event.Event) {
			for _, ev := range evs {
				got[ev.Batch.(mark).n]++
			}
		}
		for range rapid.IntRange(0, 5).Draw(t, "before") {
			in.offer(0, event.OfBatch(mark{n: n}), false)
			n++
		}
		first := 0
		for range rapid.IntRange(0, n).Draw(t, "polled before") {
			in.Poll()
			first++
		}
		note(in.Inflight(0, 4)) // another channel's barrier has come
		polled := false
		step := func(kind int) {
			switch kind {
			case 0:
				in.offer(0, event.OfBatch(mark{n: n}), false)
				n++
			case 1:
				if barrierAt < 0 {
					barrierAt = n
					in.offer(0, event.OfBarrier(event.Barrier{Epoch: 4, Unaligned: true}), false)
				}
			case 2:
				it, ok, _ := in.Poll()
				switch {
				case !ok:
				case it.Event.Kind == event.KindBarrier:
					polled = true
					note(in.Inflight(0, 4))
				case !polled && it.SeenBy < 4:
					note([]event.Event{it.Event})
				}
			}
		}
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			step(rapid.IntRange(0, 2).Draw(t, "step"))
		}
		step(1)
		for in.Available() {
			step(2)
		}
		for i := range n {
			want := 0
			if i >= first && i < barrierAt {
				want = 1
			}
			if got[i] != want {
				t.Fatalf("batch %d of %d, barrier at %d, first %d: handed out %d times", i, n, barrierAt, first, got[i])
			}
		}
	})
}

func TestChannelsTakeTurns(t *testing.T) {
	in := NewInbox(Config{Channels: 130, Depth: 2, Now: func() int64 { return 0 }})
	for _, ch := range []int{0, 64, 129} {
		for i := range 5 {
			in.offer(ch, event.OfBatch(mark{n: ch*10 + i}), true)
		}
	}
	var got []string
	for in.Available() {
		it, _, _ := in.Poll()
		got = append(got, show(it.Event))
	}
	if want := "0 1 640 641 1290 1291 2 3 642 643 1292 1293 4 644 1294"; strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}
