package channel_test

import (
	"context"
	"errors"
	"testing"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/channel"
)

// What Wait has taken out of the channel is not lost, and a row is there as soon as it was sent.
func TestRowsComeOneByOne(t *testing.T) {
	c := make(chan int)
	src := channel.Source(c)
	r, err := src.Reader(connector.ReaderContext{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.AddSplit(connector.Split{ID: "channel"}); err != nil {
		t.Fatal(err)
	}
	poll := func() ([]int, connector.Status) {
		b := connector.Batch[int]{Rows: make([]int, 0, 4)}
		_, st, err := r.Poll(&b)
		if err != nil {
			t.Fatal(err)
		}
		return b.Rows, st
	}
	for i := range 100 {
		waited := make(chan error, 1)
		var got []int
		for st := connector.Waiting; len(got) == 0; {
			if got, st = poll(); st == connector.Waiting {
				go func() { waited <- r.Wait(context.Background()) }()
				select {
				case c <- i: // to Wait
					if err := <-waited; err != nil {
						t.Fatal(err)
					}
				case <-waited: // a token of AddSplit
				}
			}
		}
		if len(got) != 1 || got[0] != i {
			t.Fatalf("sent %d, got %v", i, got)
		}
	}
	close(c)
	if rows, st := poll(); len(rows) != 0 || st != connector.SplitDone {
		t.Errorf("a closed channel polls as %v, %d", rows, st)
	}
	if _, st := poll(); st != connector.Done {
		t.Errorf("behind the end it polls as %d", st)
	}
}

func TestSinkIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c := make(chan int, 1)
	w, err := channel.Sink(c).Writer(connector.WriterContext{Ctx: ctx})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- w.Write([]int{1, 2, 3}, nil) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a blocked Write returns %v", err)
	}
}

func TestNilChannels(t *testing.T) {
	if channel.Source[int](nil).(connector.Checker).Check() == nil || channel.Sink[int](nil).(connector.Checker).Check() == nil {
		t.Error("a nil channel passes")
	}
}
