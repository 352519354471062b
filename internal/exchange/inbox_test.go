package exchange_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/exchange"
)

// row is the row type of the tests: who sent it and its number.
type row struct {
	From, N int64
}

var started = time.Now()

func now() int64 { return int64(time.Since(started)) }

func afterFunc(d time.Duration, f func()) exchange.Timer { return time.AfterFunc(d, f) }

func newInbox(name string, channels int) *exchange.Inbox {
	return exchange.NewInbox(exchange.Config{Name: name, Channels: channels, Now: now, AfterFunc: afterFunc})
}

// batchOf returns a batch of rows numbered from first.
func batchOf(pool *event.Pool[row], from, first int64, n int) event.Batch {
	b := pool.Get()
	for i := range n {
		b.Append(row{from, first + int64(i)}, event.NoTime)
	}
	return b
}

// next waits for an item and fails the test on an error.
func next(t *testing.T, in *exchange.Inbox) exchange.Item {
	t.Helper()
	for {
		it, ok, err := in.Poll()
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			return it
		}
		if err := in.Wait(exchange.Never); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMailsComeFirstAndEndAWait(t *testing.T) {
	in, from := newInbox("consumer", 1), newInbox("producer", 0)
	defer in.Close()
	s := in.Sender(0, from)
	if err := s.Send(event.Watermark(1)); err != nil {
		t.Fatal(err)
	}
	if in.HasMail() || !in.Available() {
		t.Fatal("a watermark is available and no mail")
	}
	ran := 0
	in.Post(func() error { ran++; return nil })
	if !in.HasMail() {
		t.Fatal("no mail seen")
	}
	if it := next(t, in); it.Mail == nil || it.Mail() != nil || ran != 1 {
		t.Fatalf("first item %+v", it)
	}
	if it := next(t, in); it.Event != event.Watermark(1) {
		t.Fatalf("second item %+v", it)
	}
	go in.Post(func() error { return errors.New("seen") })
	if it := next(t, in); it.Mail == nil || it.Mail().Error() != "seen" {
		t.Fatalf("third item %+v", it)
	}
	in.Cancel(nil)
	if in.Post(func() error { return nil }) {
		t.Error("a mail was accepted after Cancel")
	}
	if _, _, err := in.Poll(); !errs.IsCanceled(err) {
		t.Errorf("Poll after Cancel: %v", err)
	}
}

func TestWaitEndsAtItsDeadlineAndCountsAsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newInbox("task", 1)
		defer in.Close()
		for _, d := range []time.Duration{10 * time.Millisecond, 5 * time.Millisecond, time.Second} {
			start := now()
			if err := in.Wait(start + int64(d)); err != nil {
				t.Fatal(err)
			}
			if took := time.Duration(now() - start); took != d {
				t.Errorf("waited %v instead of %v", took, d)
			}
		}
		if idle, back := in.Times(); idle != 1015*time.Millisecond || back != 0 {
			t.Errorf("idle %v, backpressured %v", idle, back)
		}
		// A timer left over from a wait that ended early must not end a later one before its time.
		go func() {
			time.Sleep(time.Millisecond)
			in.Post(func() error { return nil })
		}()
		if err := in.Wait(now() + int64(10*time.Millisecond)); err != nil || !in.HasMail() {
			t.Fatal("the mail did not end the wait", err)
		}
		next(t, in)
		start := now()
		if err := in.Wait(start + int64(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if took := time.Duration(now() - start); took != time.Minute {
			t.Errorf("waited %v instead of a minute", took)
		}
	})
}

func TestSendBlocksAtTheDepthAndCountsAsBackpressured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, from := newInbox("consumer", 1), newInbox("producer", 0)
		pool := event.NewPool[row](8)
		s := in.Sender(0, from)
		sent := 0
		done := make(chan error, 1)
		go func() {
			for i := range 10 {
				if err := s.Send(event.OfBatch(batchOf(pool, 0, int64(i), 1))); err != nil {
					done <- err
					return
				}
				sent++
			}
			done <- nil
		}()
		synctest.Wait()
		if sent != exchange.DefaultDepth || in.Queued(0) != exchange.DefaultDepth {
			t.Fatalf("%d sent, %d queued", sent, in.Queued(0))
		}
		if s.Available() {
			t.Error("available although full")
		}
		time.Sleep(time.Second)
		for i := range 10 {
			it := next(t, in)
			if got := it.Event.Batch.(*event.Records[row]).Rows[0].N; got != int64(i) {
				t.Errorf("batch %d came in place of %d", got, i)
			}
			it.Event.Batch.Release()
			synctest.Wait()
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if idle, back := from.Times(); idle != 0 || back != time.Second {
			t.Errorf("producer idle %v, backpressured %v", idle, back)
		}
		in.Close()
		from.Close()
	})
}
