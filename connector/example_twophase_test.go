package connector_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/conntest"
)

// Shelf is an external system: boxes are filled, sealed and then put on display, each in one step that lasts.
type Shelf struct {
	boxes     map[string][]string // being filled, or sealed
	displayed map[string][]string
	ask       func(operation string) error // for tests: may refuse an operation
}

func (s *Shelf) fill(box string, rows []string) error {
	if err := s.ask("fill"); err != nil {
		return err
	}
	s.boxes[box] = slices.Clone(rows)
	return nil
}

// display is true for done if the box was on display already.
func (s *Shelf) display(box string) (done, known bool, err error) {
	if err := s.ask("display"); err != nil {
		return false, false, err
	}
	if _, done := s.displayed[box]; done {
		return true, true, nil
	}
	rows, known := s.boxes[box]
	if known {
		s.displayed[box] = rows
		delete(s.boxes, box)
	}
	return false, known, nil
}

// ShelfSink writes texts to a Shelf, one box an epoch and subtask.
type ShelfSink struct{ shelf *Shelf }

// Name implements connector.Sink.
func (s ShelfSink) Name() string { return "shelf" }

// Writer implements connector.Sink.
func (s ShelfSink) Writer(ctx connector.WriterContext) (connector.Writer[string], error) {
	return &shelfWriter{shelf: s.shelf, ctx: ctx}, nil
}

// Committer implements connector.TwoPhase.
func (s ShelfSink) Committer(ctx connector.WriterContext) (connector.Committer, error) {
	return shelfCommitter{s.shelf, boxPrefix(ctx)}, nil
}

// boxPrefix is what the names of an attempt's boxes begin with: no other attempt has it.
func boxPrefix(ctx connector.WriterContext) string { return ctx.Attempt + "/" }

type shelfWriter struct {
	shelf *Shelf
	ctx   connector.WriterContext
	rows  []string
	boxes int
}

// Write implements connector.Writer. Strings never change, so that they may be kept.
func (w *shelfWriter) Write(rows []string, _ []int64) error {
	w.rows = append(w.rows, rows...)
	return nil
}

// Flush implements connector.Writer. Until a barrier comes the rows need not be safe.
func (w *shelfWriter) Flush() error { return nil }

// Prepare implements connector.Preparer.
func (w *shelfWriter) Prepare(connector.Barrier) (p connector.Prepared, err error) {
	if len(w.rows) == 0 {
		return p, nil
	}
	box := fmt.Sprintf("%s%d/%d", boxPrefix(w.ctx), w.ctx.Subtask, w.boxes)
	if err := w.shelf.fill(box, w.rows); err != nil {
		return p, err
	}
	p.Committables = []connector.Committable{{Data: []byte("1 " + box), Range: fmt.Sprintf("%d rows in box %s", len(w.rows), box)}}
	w.rows = w.rows[:0]
	w.boxes++
	return p, nil
}

// Close implements connector.Writer. A box that is full may be in a checkpoint, and stays.
func (w *shelfWriter) Close() error { return nil }

type shelfCommitter struct {
	shelf  *Shelf
	prefix string
}

// Commit implements connector.Committer.
func (c shelfCommitter) Commit(_ context.Context, requests []connector.CommitRequest) []connector.Answer {
	answers := make([]connector.Answer, len(requests))
	for i, r := range requests {
		box, ok := strings.CutPrefix(string(r.Data), "1 ") // the version
		if !ok {
			answers[i] = connector.Answer{Outcome: connector.CommitFailed, Err: errors.New("written by a later version of this program")}
			continue
		}
		done, known, err := c.shelf.display(box)
		switch {
		case err != nil:
			answers[i] = connector.Answer{Outcome: connector.CommitRetry, Err: err}
		case done:
			answers[i].Outcome = connector.CommitAlready
		case !known:
			answers[i] = connector.Answer{Outcome: connector.CommitFailed, Err: errors.New("somebody has taken the box away")}
		default:
			answers[i].Outcome = connector.CommitDone
		}
	}
	return answers
}

// Sweep implements connector.Sweeper: boxes of earlier attempts that no checkpoint lists are thrown away.
func (c shelfCommitter) Sweep(_ context.Context, restored *connector.Restored) error {
	listed := map[string]bool{}
	if restored != nil {
		for _, r := range restored.AllCommittables {
			listed[strings.TrimPrefix(string(r.Data), "1 ")] = true
		}
	}
	for box := range c.shelf.boxes {
		if !listed[box] && !strings.HasPrefix(box, c.prefix) {
			delete(c.shelf.boxes, box)
		}
	}
	return nil
}

// Close implements connector.Committer.
func (c shelfCommitter) Close() error { return nil }

// A sink with two-phase commit, moved by hand as the engine does: rows are displayed when their checkpoint is complete.
func ExampleTwoPhase() {
	shelf := &Shelf{boxes: map[string][]string{}, displayed: map[string][]string{}, ask: func(string) error { return nil }}
	var sink connector.Sink[string] = ShelfSink{shelf}
	ctx := connector.WriterContext{Ctx: context.Background(), Attempt: "first", Parallelism: 1, Checkpoints: true}

	writer, _ := sink.Writer(ctx)
	writer.Write([]string{"a", "b"}, []int64{connector.NoTime, connector.NoTime})
	prepared, _ := writer.(connector.Preparer).Prepare(connector.Barrier{Epoch: 1})
	fmt.Println("prepared:", len(shelf.displayed), "on display")

	// The manifest of checkpoint 1 is durable now.
	committer, _ := sink.(connector.TwoPhase).Committer(ctx)
	request := []connector.CommitRequest{{Committable: prepared.Committables[0], Epoch: 1}}
	fmt.Println("commit:", committer.Commit(ctx.Ctx, request)[0].Outcome, shelf.displayed["first/0/0"])

	// The answer is lost, and the checkpoint restored.
	request[0].Restored = true
	fmt.Println("commit:", committer.Commit(ctx.Ctx, request)[0].Outcome)
	// Output:
	// prepared: 0 on display
	// commit: done [a b]
	// commit: already done
}

func TestExampleConforms(t *testing.T) {
	conntest.TwoPhase(t, conntest.TwoPhaseCase[string]{
		Row: func(i int) string { return fmt.Sprint("row ", i) },
		New: func() conntest.TwoPhaseTarget[string] {
			s := &Shelf{boxes: map[string][]string{}, displayed: map[string][]string{}}
			return conntest.TwoPhaseTarget[string]{
				Sink:  ShelfSink{s},
				Fault: func(ask func(string) error) { s.ask = ask },
				Visible: func() (rows []string, err error) {
					for _, b := range s.displayed {
						rows = append(rows, b...)
					}
					return rows, nil
				},
				Lose: func() { clear(s.boxes) },
				Leftovers: func() (left []string) {
					for b := range s.boxes {
						left = append(left, b)
					}
					return left
				},
			}
		},
	})
}
