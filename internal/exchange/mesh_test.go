package exchange_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/exchange"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/netx"
)

// mesh is a keyed edge from 2 to 2 tasks over two processes: task i of each side lives in process i, and so half of the
// channels are local and half go over the link, in both directions.
type mesh struct {
	src   *source
	links [2]*exchange.Link
	from  [2]*exchange.Inbox
	to    [2]*exchange.Inbox
	outs  [2]*exchange.Output
}

// hashing is codec with the hashes made again, as behind every edge between processes.
type hashing struct{ codec }

func (c hashing) Decode(src []byte) (event.Batch, error) {
	b, err := c.codec.Decode(src)
	if err == nil {
		hash(b.(*counted))
	}
	return b, err
}

func hash(b *counted) {
	b.Hash = b.Hash[:0]
	for _, r := range b.Rows {
		b.Hash = append(b.Hash, mix(uint64(r.N)))
	}
}

func newMesh(t *testing.T) *mesh {
	m := &mesh{src: newSource(t)}
	a, b := connect(t, netx.Real{})
	m.links[0], m.links[1] = newLinks(t, a, b, nil)
	for i := range 2 {
		m.from[i], m.to[i] = newInbox("producer", 0), newInbox("consumer", 2)
	}
	var senders [2][2]exchange.Sender
	for i := range 2 {
		for j := range 2 {
			if i == j {
				senders[i][j] = m.to[j].Sender(i, m.from[i])
				continue
			}
			id := exchange.ChannelID(10*i + j)
			if err := m.links[j].Receive(id, m.to[j], i, hashing{codec{m.src}}); err != nil {
				t.Fatal(err)
			}
			senders[i][j] = m.links[i].Sender(id, hashing{codec{m.src}}, m.from[i])
		}
		m.outs[i] = exchange.NewOutput("mesh", exchange.Keyed(), senders[i][:])
	}
	return m
}

// produce emits rows until the end or an error, waiting as a task does.
func (m *mesh) produce(i int, rows int64) error {
	out, in := m.outs[i], m.from[i]
	defer out.Close()
	defer in.Close()
	for n := int64(0); n < rows; n += 10 {
		for !out.Available() {
			if err := in.WaitOutput(exchange.Never); err != nil {
				return err
			}
		}
		b := m.src.batch(int64(i), n, 10)
		hash(b)
		if err := out.Emit(b); err != nil {
			return err
		}
		if n%100 == 0 {
			if err := out.Event(event.Watermark(n)); err != nil {
				return err
			}
		}
	}
	if err := out.Event(event.End()); err != nil {
		return err
	}
	return nil
}

// consume counts rows until both channels have ended, checking owner and order.
func (m *mesh) consume(t *testing.T, j int) (rows int64, err error) {
	in := m.to[j]
	defer in.Close()
	last := [2]int64{-1, -1}
	for left := 2; left > 0; {
		it, ok, err := in.Poll()
		if err != nil {
			return rows, err
		}
		if !ok {
			if err := in.Wait(exchange.Never); err != nil {
				return rows, err
			}
			continue
		}
		switch it.Event.Kind {
		case event.KindEnd:
			left--
		case event.KindBatch:
			b := it.Event.Batch.(*counted)
			for k, r := range b.Rows {
				if r.From != int64(it.Channel) || r.N <= last[it.Channel] || keygroup.Owner(keygroup.Of(b.Hash[k]), 2) != j {
					t.Errorf("row %v after %d on channel %d of task %d", r, last[it.Channel], it.Channel, j)
				}
				last[it.Channel] = r.N
				rows++
			}
			b.Release()
		}
	}
	return rows, nil
}

func TestKeyedEdgeOverTwoProcesses(t *testing.T) {
	m := newMesh(t)
	const rows = 20000
	var wg sync.WaitGroup
	var got [2]int64
	for i := range 2 {
		wg.Go(func() {
			if err := m.produce(i, rows); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			var err error
			if got[i], err = m.consume(t, i); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got[0]+got[1] != 2*rows || got[0] < rows*9/10 || got[1] < rows*9/10 {
		t.Errorf("the tasks got %v rows", got)
	}
	wg.Go(func() {
		if err := m.links[0].Close(); err != nil {
			t.Error(err)
		}
	})
	if err := m.links[1].Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

// Whatever is cancelled or cut, and whenever: everybody returns, nobody with an unexpected error, and no batch is left.
func TestCancelAtAnyMoment(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for round := range 60 {
		m := newMesh(t)
		var wg sync.WaitGroup
		check := func(err error) {
			if err != nil && !errs.IsCanceled(err) && errs.CodeOf(err) != errs.CodePeerLost {
				t.Error(err)
			}
		}
		for i := range 2 {
			wg.Go(func() { check(m.produce(i, 100000)) })
			wg.Go(func() {
				_, err := m.consume(t, i)
				check(err)
			})
		}
		time.Sleep(time.Duration(rnd.IntN(2000)) * time.Microsecond) // any moment will do
		switch round % 3 {
		case 0:
			m.from[rnd.IntN(2)].Cancel(nil)
		case 1:
			m.to[rnd.IntN(2)].Cancel(nil)
		case 2:
			m.links[rnd.IntN(2)].Abort(errors.New("cut"))
		}
		for i := range 2 {
			m.from[i].Cancel(nil)
			m.to[i].Cancel(nil)
		}
		wg.Wait()
		for _, l := range m.links {
			l.Abort(nil)
			<-l.Done()
		}
		if n := m.src.live.Load(); n != 0 {
			t.Fatalf("round %d: %d batches left", round, n)
		}
	}
}
