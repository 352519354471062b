package app

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/exchange"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/netx"
	"github.com/weir-stream/weir/internal/rpc"
	"github.com/weir-stream/weir/internal/taskmanager"
)

// slowDial is a network in which a connection to one address stands only when it is not wanted any more.
type slowDial struct {
	netx.Network
	to string
}

func (n slowDial) Dial(ctx context.Context, addr string) (netx.Conn, error) {
	if addr == n.to {
		<-ctx.Done()
		ctx = context.WithoutCancel(ctx)
	}
	return n.Network.Dial(ctx, addr)
}

// TestMeshThatFailsLeavesNoLink has one peer refuse, and another one answer when it is too late: its end must not go on.
func TestMeshThatFailsLeavesNoLink(t *testing.T) {
	clk := clock.Real{}
	network := netx.NewMem(clk)
	l, err := network.Listen(t.Context(), "late:1")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := taskmanager.Deployment{Job: ids.JobID{1}, Generation: 1, Deploy: &rpc.Deploy{Workers: []rpc.WorkerAddr{
		{Worker: "self"}, {Worker: "gone", DataAddr: "gone:1"}, {Worker: "late", DataAddr: "late:1"},
	}, Placement: [][]int32{{0, 1, 2}}}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		link, err := exchange.NewLink(conn, exchange.LinkConfig{Self: exchange.Peer{Job: d.Job.String(), Generation: 1, Name: "late"}, Rand: rand.Reader,
			AfterFunc: func(d time.Duration, f func()) exchange.Timer { return clk.AfterFunc(d, f) }})
		if err == nil {
			<-link.Done()
		}
	}()
	if _, err := newMesh(t.Context(), clk, &dataPlane{clock: clk, network: slowDial{network, "late:1"}, rand: rand.Reader}, d); err == nil {
		t.Fatal("a mesh without one of its peers")
	}
	<-ended
}
