package exchange

import (
	"fmt"
	"slices"
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
type model struct {
	list, news []event.Event
	ahead      uint64 // the epoch whose barrier goes ahead
	overtaken  []string
}

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

// pop removes the first event, unless a barrier is told of or goes ahead.
func (m *model) pop() (ev event.Event, news bool) {
	at := 0
	for i, e := range m.list {
		if e.Kind == event.KindBarrier && e.Barrier.Epoch == m.ahead && m.ahead > 0 {
			at, m.ahead = i, 0
			m.news = slices.DeleteFunc(m.news, func(n event.Event) bool { return n.Barrier.Epoch == e.Barrier.Epoch })
			ev = e
		}
	}
	if ev.Kind == event.KindNone && len(m.news) > 0 {
		ev = m.news[0]
		m.news = m.news[1:]
		return ev, true
	}
	ev = m.list[at]
	if at > 0 {
		// What was overtaken keeps its place before what comes later: nothing merges over the gap.
		m.list[at] = event.Event{Kind: event.KindBarrier, Barrier: event.Barrier{Epoch: gone}}
		m.overtaken = nil
		for _, e := range m.list[:at] {
			if e.Kind == event.KindBatch || e.Kind == event.KindWatermark {
				m.overtaken = append(m.overtaken, show(e))
			}
		}
	} else {
		m.list = m.list[1:]
		m.overtaken = nil
	}
	for len(m.list) > 0 && m.list[0].Kind == event.KindBarrier && m.list[0].Barrier.Epoch == gone {
		m.list = m.list[1:]
	}
	return ev, false
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
			wanted := m.ahead
			want, news := m.pop()
			if show(it.Event) != show(want) || it.News != news {
				t.Fatalf("sent %s, polled %s: got %s %v, want %s %v", strings.Join(sent, " "), strings.Join(left, " "), show(it.Event), it.News, show(want), news)
			}
			if wanted > 0 && m.ahead == 0 {
				var got []string
				for _, ev := range in.Overtaken(0) {
					got = append(got, show(ev))
				}
				if fmt.Sprint(got) != fmt.Sprint(m.overtaken) {
					t.Fatalf("sent %s, polled %s: overtaken %v, want %v", strings.Join(sent, " "), strings.Join(left, " "), got, m.overtaken)
				}
			}
			left = append(left, show(it.Event))
		}
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			var ev event.Event
			switch rapid.IntRange(0, 10).Draw(t, "step") {
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
			case 8:
				m.ahead = uint64(rapid.IntRange(0, i+5).Draw(t, "epoch"))
				in.Overtake(0, m.ahead)
				for _, e := range m.list {
					if e.Kind == event.KindBarrier && e.Barrier.Epoch == m.ahead {
						m.news = slices.DeleteFunc(m.news, func(n event.Event) bool { return n.Barrier.Epoch == m.ahead })
					}
				}
				continue
			default:
				poll()
				continue
			}
			sent = append(sent, show(ev))
			if ev.Barrier.Unaligned && ev.Barrier.Epoch != m.ahead {
				m.news = append(m.news, ev)
			}
			m.push(ev)
			in.offer(0, ev, false)
		}
		m.ahead = 0
		in.Overtake(0, 0)
		for len(m.list) > 0 {
			poll()
		}
		poll()
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
