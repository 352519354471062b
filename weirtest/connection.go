package weirtest

import "github.com/weir-stream/weir/internal/rpc"

// connection lets messages about checkpoints come twice on a control connection.
func (d *disturbance) connection(c rpc.Conn) rpc.Conn { return &repeating{Conn: c, d: d} }

// repeating belongs to the goroutine that receives.
type repeating struct {
	rpc.Conn
	d     *disturbance
	again *rpc.Message
}

func (c *repeating) Recv() (rpc.Message, error) {
	if c.again != nil {
		m := *c.again
		c.again = nil
		return m, nil
	}
	m, err := c.Conn.Recv()
	if err != nil {
		return m, err
	}
	switch m.Body.(type) {
	case *rpc.CheckpointTrigger, *rpc.CheckpointAbort, *rpc.CheckpointComplete, *rpc.CheckpointAck, *rpc.CheckpointDecline, *rpc.TaskDrained:
		if c.d.repeats() {
			c.again = &m
		}
	}
	return m, nil
}

// repeats reports whether the next message comes twice.
func (d *disturbance) repeats() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.twice == 0 {
		return false
	}
	d.twice--
	return true
}
