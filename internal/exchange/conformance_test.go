package exchange_test

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/exchange"
)

// Laws: per channel rows come in the order sent, once, with their times; watermarks rise; a watermark comes after the rows
// sent before it; End comes once and last.
func TestOrderAndCompleteness(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		const channels, rows = 3, 3000
		w := newWires(t, f, channels, nil)
		for ch := range channels {
			from := newInbox("producer", 0)
			s := w.sender(t, ch, from)
			go produce(t, w.src, s, int64(ch), rows)
		}
		want := make([]int64, channels)
		mark := make([]int64, channels)
		ended := make([]bool, channels)
		for left := channels; left > 0; {
			it := next(t, w.to)
			ch, ev := it.Channel, it.Event
			if ended[ch] {
				t.Fatalf("channel %d: %v after the end", ch, ev)
			}
			switch ev.Kind {
			case event.KindBatch:
				b := ev.Batch.(*counted)
				for i := range b.Len() {
					at := i
					if b.Live != nil {
						at = int(b.Live[i])
					}
					if r := b.Rows[at]; r.From != int64(ch) || r.N != want[ch] || b.Times[at] != want[ch] {
						t.Fatalf("channel %d: got %v at %d, want row %d", ch, r, b.Times[at], want[ch])
					}
					want[ch]++
				}
				b.Release()
			case event.KindWatermark:
				if ev.Time < mark[ch] || ev.Time > want[ch] {
					t.Fatalf("channel %d: watermark %d after %d and row %d", ch, ev.Time, mark[ch], want[ch])
				}
				mark[ch] = ev.Time
			case event.KindEnd:
				ended[ch] = true
				left--
				if want[ch] != rows || mark[ch] != rows {
					t.Errorf("channel %d ended after %d rows and watermark %d", ch, want[ch], mark[ch])
				}
			}
		}
		if it, ok, err := w.to.Poll(); ok || err != nil {
			t.Errorf("after the end: %v %v", it, err)
		}
	})
}

// produce sends rows in batches of random size, some with dead rows, with watermarks and idleness between.
func produce(t *testing.T, src *source, s exchange.Sender, from int64, rows int64) {
	rnd := rand.New(rand.NewPCG(uint64(from), 1))
	send := func(ev event.Event) {
		if err := s.Send(ev); err != nil {
			t.Error(err)
		}
	}
	for n := int64(0); n < rows; {
		k := min(int64(1+rnd.IntN(7)), rows-n)
		b := src.batch(from, n, int(k))
		if rnd.IntN(2) == 0 { // rows that are not live between those that are
			mixed := src.empty()
			live := mixed.Scratch()
			for i := range b.Rows {
				mixed.Append(row{-1, -1}, -1)
				live = append(live, int32(len(mixed.Rows)))
				mixed.Append(b.Rows[i], b.Times[i])
			}
			mixed.Live = live
			b.Release()
			b = mixed
		}
		send(event.OfBatch(b))
		n += k
		switch rnd.IntN(4) {
		case 0:
			send(event.Watermark(n))
		case 1:
			send(event.Idle())
			send(event.Active())
		}
	}
	send(event.Watermark(rows))
	send(event.End())
}

func TestBatchesAreBounded(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		w, from := newWires(t, f, 1, nil), newInbox("producer", 0)
		s := w.sender(t, 0, from)
		var sent atomic.Int64
		done := make(chan error, 1)
		go func() {
			for i := range int64(20) {
				if err := s.Send(w.src.event(0, i, 1)); err != nil {
					done <- err
					return
				}
				sent.Add(1)
			}
			done <- nil
		}()
		await(t, "three batches", func() bool { return sent.Load() >= 3 })
		blocked(t, from)
		if n := sent.Load(); n != 3 {
			t.Errorf("%d batches sent into a channel of 3", n)
		}
		for i := range 20 {
			it := next(t, w.to)
			if n := sent.Load(); n > int64(i+1+3) {
				t.Errorf("%d sent when %d were taken", n, i+1)
			}
			it.Event.Batch.Release()
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestBlockedChannelIsNotPolled(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		w, from := newWires(t, f, 2, nil), newInbox("producer", 0)
		a, b := w.sender(t, 0, from), w.sender(t, 1, from)
		send(t, a, w.src.event(0, 1, 1), w.src.event(0, 2, 1))
		send(t, b, w.src.event(1, 3, 1))
		await(t, "all batches", func() bool { return w.to.Queued(0) == 2 && w.to.Queued(1) == 1 })
		w.to.Block(0)
		if it := next(t, w.to); it.Channel != 1 {
			t.Errorf("polled the blocked channel")
		} else {
			it.Event.Batch.Release()
		}
		if w.to.Available() {
			t.Error("available although all that is there is blocked")
		}
		w.to.Unblock(0)
		transcript(t, w.to, 0, "1", "2")
	})
}

// send sends events and fails the test on an error.
func send(t *testing.T, s exchange.Sender, evs ...event.Event) {
	t.Helper()
	for _, ev := range evs {
		if err := s.Send(ev); err != nil {
			t.Fatal(err)
		}
	}
}

// transcript polls one item for each word and compares: a batch prints as its first row's number, a watermark
// as w and its time, a barrier as b and its epoch, the news of one with a question mark, all else by its kind.
func transcript(t *testing.T, in *exchange.Inbox, ch int, want ...string) {
	t.Helper()
	var got []string
	for range want {
		it := next(t, in)
		if it.Channel != ch {
			t.Fatalf("item of channel %d: %v", it.Channel, it.Event)
		}
		got = append(got, word(it.Event)+news(it))
		if it.Event.Batch != nil {
			it.Event.Batch.Release()
		}
	}
	if g, w := strings.Join(got, " "), strings.Join(want, " "); g != w {
		t.Fatalf("got  %s\nwant %s", g, w)
	}
}

func TestBarriersStayInOrder(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		w, from := newWires(t, f, 1, nil), newInbox("producer", 0)
		s := w.sender(t, 0, from)
		barrier := func(n uint64) event.Event {
			return event.OfBarrier(event.Barrier{Epoch: n, Purpose: event.PurposeSavepoint})
		}
		send(t, s, w.src.event(0, 1, 2), barrier(1), w.src.event(0, 3, 1), event.Watermark(3), barrier(2), barrier(3), event.End())
		transcript(t, w.to, 0, "1", "b1", "3", "w3", "b2", "b3", "end")
	})
}

func over(n uint64) event.Event {
	return event.OfBarrier(event.Barrier{Epoch: n, Purpose: event.PurposeCheckpoint, Unaligned: true})
}

// overtaken compares what the last barrier taken ahead has overtaken.
func overtaken(t *testing.T, in *exchange.Inbox, want string) {
	t.Helper()
	var got []string
	for _, ev := range in.Overtaken(0) {
		got = append(got, word(ev))
	}
	if g := strings.Join(got, " "); g != want {
		t.Errorf("overtaken: %q, want %q", g, want)
	}
}

// A barrier that is or may become unaligned is told of when it comes, and stays where it is until the task wants it.
func TestBarrierIsTakenAhead(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		w, from := newWires(t, f, 1, nil), newInbox("producer", 0)
		s := w.sender(t, 0, from)
		send(t, s, w.src.event(0, 1, 1), event.Watermark(1), w.src.event(0, 2, 1), over(5), event.Watermark(2), w.src.event(0, 3, 1))
		await(t, "all batches", func() bool { return w.to.Queued(0) == 3 })
		w.to.Block(0) // even a blocked channel lets it through
		if !w.to.HasMail() {
			t.Error("the task would not look")
		}
		transcript(t, w.to, 0, "b5?")
		if w.to.HasMail() || w.to.Available() {
			t.Error("there is more, although the channel is blocked")
		}
		w.to.Overtake(0, 5)
		transcript(t, w.to, 0, "b5")
		overtaken(t, w.to, "1 w1 2")
		w.to.Unblock(0)
		transcript(t, w.to, 0, "1", "w1")
		overtaken(t, w.to, "2")
		// The next epoch's barrier is wanted before it comes, and comes beyond the bound, with batches that the producer still held.
		w.to.Overtake(0, 6)
		force := func(n int64) {
			if err := s.Force(w.src.event(0, n, 1)); err != nil {
				t.Fatal(err)
			}
		}
		force(4)
		force(5)
		send(t, s, over(6))
		force(6)
		await(t, "all batches", func() bool { return w.to.Queued(0) == 5 })
		transcript(t, w.to, 0, "b6")
		overtaken(t, w.to, "2 w2 3 4 5")
		transcript(t, w.to, 0, "2", "w2", "3", "4", "5", "6")
		overtaken(t, w.to, "")
		// A barrier with a deadline is told of too; if nobody takes it ahead it comes in its turn.
		deadline := event.OfBarrier(event.Barrier{Epoch: 7, Purpose: event.PurposeCheckpoint, SwitchAt: 12345, Since: 99})
		send(t, s, w.src.event(0, 7, 1), deadline, w.src.event(0, 8, 1))
		await(t, "all batches", func() bool { return w.to.Queued(0) == 2 })
		it := next(t, w.to)
		if !it.News || it.Event.Barrier != deadline.Barrier {
			t.Errorf("got %+v, want the news of %+v", it, deadline)
		}
		transcript(t, w.to, 0, "7", "b7", "8")
		// Taken back: it stays where it is.
		send(t, s, w.src.event(0, 9, 1), over(8))
		await(t, "the barrier", w.to.HasMail)
		w.to.Overtake(0, 8)
		w.to.Overtake(0, 0)
		transcript(t, w.to, 0, "9", "b8")
	})
}

// The barriers of a channel that keeps its order are as all other events, whatever they say.
func TestChannelThatKeepsItsOrder(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		w, from := newWires(t, f, 1, nil), newInbox("producer", 0)
		w.to.KeepOrder(0)
		s := w.sender(t, 0, from)
		send(t, s, w.src.event(0, 1, 1), over(1), w.src.event(0, 2, 1))
		await(t, "all batches", func() bool { return w.to.Queued(0) == 2 })
		if w.to.HasMail() {
			t.Error("the barrier is told of")
		}
		transcript(t, w.to, 0, "1", "b1", "2")
	})
}

// A task that waits for room or for mail hears of a barrier that overtakes.
func TestBarrierWakesWhoWaitsForRoom(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		w, from := newWires(t, f, 1, nil), newInbox("producer", 0)
		s := w.sender(t, 0, from)
		send(t, s, w.src.event(0, 1, 1), w.src.event(0, 2, 1), over(1))
		for !w.to.HasMail() {
			if err := w.to.WaitOutput(exchange.Never); err != nil {
				t.Fatal(err)
			}
		}
		transcript(t, w.to, 0, "b1?")
	})
}

func news(it exchange.Item) string {
	if it.News {
		return "?"
	}
	return ""
}

func word(ev event.Event) string {
	digit := func(n int64) string { return string(rune('0' + n)) }
	switch ev.Kind {
	case event.KindBatch:
		return digit(ev.Batch.(*counted).Rows[0].N)
	case event.KindWatermark:
		return "w" + digit(ev.Time)
	case event.KindBarrier:
		return "b" + digit(int64(ev.Barrier.Epoch))
	}
	return ev.Kind.String()
}

// A channel may end without the barrier that is wanted: what is in front of the end is then all there is.
func TestEndInsteadOfABarrier(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		w, from := newWires(t, f, 1, nil), newInbox("producer", 0)
		s := w.sender(t, 0, from)
		w.to.Overtake(0, 4)
		send(t, s, w.src.event(0, 1, 1), event.Watermark(2), event.End())
		await(t, "the end", w.to.HasMail)
		transcript(t, w.to, 0, "end?")
		overtaken(t, w.to, "1 w2")
		w.to.Overtake(0, 5)
		transcript(t, w.to, 0, "end?", "1")
		overtaken(t, w.to, "w2")
		transcript(t, w.to, 0, "w2", "end")
	})
	each(t, func(t *testing.T, f form) { // the barrier did come, and is not taken yet
		w, from := newWires(t, f, 1, nil), newInbox("producer", 0)
		s := w.sender(t, 0, from)
		w.to.Overtake(0, 4)
		send(t, s, w.src.event(0, 1, 1), over(4), w.src.event(0, 2, 1), event.End())
		await(t, "all batches", func() bool { return w.to.Queued(0) == 2 })
		w.to.Block(0)
		transcript(t, w.to, 0, "b4")
		overtaken(t, w.to, "1")
	})
}

// Epochs that were given up leave barriers behind, which a newer one overtakes as all else.
func TestBarrierOvertakesOlderOnes(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		w, from := newWires(t, f, 1, nil), newInbox("producer", 0)
		s := w.sender(t, 0, from)
		send(t, s, w.src.event(0, 1, 1), event.OfBarrier(event.Barrier{Epoch: 1}), w.src.event(0, 2, 1), over(2), w.src.event(0, 3, 1), over(3))
		await(t, "all batches", func() bool { return w.to.Queued(0) == 3 })
		transcript(t, w.to, 0, "b2?", "b3?")
		w.to.Overtake(0, 3)
		transcript(t, w.to, 0, "b3")
		overtaken(t, w.to, "1 2 3")
		transcript(t, w.to, 0, "1", "b1", "2", "b2", "3")
	})
}

func TestControlEventsMergeInTheQueue(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		w, from := newWires(t, f, 1, nil), newInbox("producer", 0)
		s := w.sender(t, 0, from)
		send(t, s, w.src.event(0, 1, 1))
		for i := range int64(10000) {
			send(t, s, event.Idle(), event.Watermark(i/2000), event.Idle(), event.Active())
		}
		send(t, s, w.src.event(0, 2, 1))
		await(t, "all batches", func() bool { return w.to.Queued(0) == 2 })
		transcript(t, w.to, 0, "1", "w4", "active", "2")
	})
}

func TestEndIsLast(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		w, from := newWires(t, f, 1, nil), newInbox("producer", 0)
		s := w.sender(t, 0, from)
		send(t, s, event.End())
		for _, ev := range []event.Event{event.End(), event.Watermark(1)} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s after the end was taken", ev.Kind)
					}
				}()
				s.Send(ev)
			}()
		}
		transcript(t, w.to, 0, "end")
	})
}

func TestCancelWakesABlockedSend(t *testing.T) {
	for _, who := range []string{"producer", "consumer"} {
		t.Run(who, func(t *testing.T) {
			each(t, func(t *testing.T, f form) {
				w, from := newWires(t, f, 1, nil), newInbox("producer", 0)
				s := w.sender(t, 0, from)
				done := make(chan error, 1)
				go func() {
					for i := int64(0); ; i++ {
						if err := s.Send(w.src.event(0, i, 1)); err != nil {
							done <- err
							return
						}
					}
				}()
				blocked(t, from)
				if who == "producer" {
					from.Cancel(nil)
				} else {
					w.to.Cancel(nil)
				}
				if err := <-done; !errs.IsCanceled(err) {
					t.Errorf("Send returned %v", err)
				}
				if err := s.Send(w.src.event(0, 0, 1)); !errs.IsCanceled(err) {
					t.Errorf("the next Send returned %v", err)
				}
			})
		})
	}
}

// A task that finds its output unavailable waits for room without becoming deaf to mails.
func TestWaitOutput(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		w, from := newWires(t, f, 1, nil), newInbox("producer", 1)
		s := w.sender(t, 0, from)
		send(t, s, w.src.event(0, 1, 1), w.src.event(0, 2, 1), w.src.event(0, 3, 1))
		if s.Available() {
			t.Fatal("available although full")
		}
		other := newInbox("other", 0)
		send(t, from.Sender(0, other), event.Watermark(1)) // input must not end the wait
		go func() {
			blocked(t, from)
			from.Post(func() error { return nil })
		}()
		for !from.HasMail() {
			if err := from.WaitOutput(exchange.Never); err != nil {
				t.Fatal(err)
			}
		}
		if it := next(t, from); it.Mail == nil {
			t.Fatalf("no mail but %v", it)
		}
		taken := make(chan bool)
		go func() {
			defer close(taken)
			for range 3 {
				next(t, w.to).Event.Batch.Release()
			}
		}()
		for !s.Available() {
			if err := from.WaitOutput(exchange.Never); err != nil {
				t.Fatal(err)
			}
		}
		<-taken
		send(t, s, w.src.event(0, 4, 1))
		transcript(t, w.to, 0, "4")
	})
}
