package rpc

// This file lists the fields of every message in the order of the wire; docs/format/control.md says the same in words.

func (m *Message) code(c *coder) {
	c.id((*[16]byte)(&m.Job))
	c.uint64((*uint64)(&m.Generation))
	c.uint64((*uint64)(&m.Term))
	m.Body.code(c)
}

func (b *Hello) code(c *coder) {
	c.string((*string)(&b.Worker))
	c.int64(&b.PID)
	c.string(&b.DataAddr)
	c.string(&b.Fingerprint)
	c.string(&b.Version)
}

func (*Deployed) code(*coder) {}

func (b *DeployFailed) code(c *coder) { c.failure(&b.Failure) }

func (b *TaskPhase) code(c *coder) {
	c.task(&b.Task)
	c.uint8((*uint8)(&b.Phase))
	c.failure(&b.Failure)
}

func (b *SplitRequest) code(c *coder) { c.op(&b.Source) }

func (b *SourceProgress) code(c *coder) {
	c.op(&b.Source)
	c.int64(&b.Watermark)
	c.bool(&b.Idle)
	c.bool(&b.Blocked)
}

func (b *Metrics) code(c *coder) {
	list(c, &b.Operators, 13, func(m *OpMetrics) {
		c.op(&m.Op)
		c.int64(&m.RowsIn)
		c.int64(&m.RowsOut)
		c.int64(&m.Late)
		c.int64(&m.Bad)
		c.int64(&m.Watermark)
		c.duration(&m.Busy)
		c.duration(&m.Idle)
		c.duration(&m.Backpressured)
		list(c, &m.Counters, 2, func(n *Count) {
			c.string(&n.Name)
			c.int64(&n.Value)
		})
	})
}

func (b *Side) code(c *coder) {
	c.op(&b.Source)
	c.uint64(&b.Seq)
	c.bytes(&b.Payload)
}

func (*Heartbeat) code(*coder) {}

func (b *TaskStacks) code(c *coder) {
	c.tasks(&b.Tasks)
	c.duration(&b.Waited)
	c.string(&b.Stacks)
}

func (b *Goodbye) code(c *coder) { c.string(&b.Reason) }

func (b *CheckpointAck) code(c *coder) {
	c.task(&b.Task)
	c.uint64((*uint64)(&b.Epoch))
	c.bytes(&b.Part)
	c.int64(&b.Size)
	c.int64(&b.Written)
	c.int64(&b.InFlight)
	c.duration(&b.Aligned)
	c.duration(&b.Cut)
	c.duration(&b.Stored)
}

func (b *CheckpointDecline) code(c *coder) {
	c.task(&b.Task)
	c.uint64((*uint64)(&b.Epoch))
	c.failure(&b.Failure)
}

func (b *TaskDrained) code(c *coder) { c.task(&b.Task) }

func (b *Deploy) code(c *coder) {
	c.int32(&b.Self)
	list(c, &b.Workers, 2, func(w *WorkerAddr) {
		c.string((*string)(&w.Worker))
		c.string(&w.DataAddr)
	})
	list(c, &b.Placement, 1, func(p *[]int32) {
		list(c, p, 1, func(w *int32) { c.int32(w) })
	})
	c.tasks(&b.Region)
	c.int32(&b.Attempt)
	list(c, &b.Options, 2, func(o *Option) {
		c.string(&o.Key)
		c.string(&o.Value)
	})
	c.bytes(&b.Secret)
	c.string(&b.Restore.Dir)
	c.string(&b.Restore.Manifest)
}

func (*Start) code(*coder) {}

func (b *SplitAssign) code(c *coder) {
	c.op(&b.Source)
	list(c, &b.Splits, 2, func(s *Split) {
		c.string(&s.ID)
		c.bytes(&s.State)
	})
	c.bool(&b.NoMore)
}

func (b *AlignTo) code(c *coder) {
	c.int32((*int32)(&b.Vertex))
	c.int32(&b.Op)
	c.int64(&b.Max)
	c.int32(&b.Slowest)
	c.int64(&b.SlowestMax)
}

func (b *SideAck) code(c *coder) {
	c.op(&b.Source)
	c.uint64(&b.Seq)
}

func (b *Cancel) code(c *coder) { c.string(&b.Reason) }

func (b *Shutdown) code(c *coder) { c.failure(&b.Failure) }

func (b *CheckpointTrigger) code(c *coder) {
	c.uint64((*uint64)(&b.Epoch))
	c.uint8(&b.Purpose)
	c.bool(&b.Unaligned)
	c.bool(&b.Drain)
	c.duration(&b.SwitchIn)
	c.string(&b.Target)
	c.tasks(&b.Tasks)
}

func (b *CheckpointAbort) code(c *coder) {
	c.uint64((*uint64)(&b.Epoch))
	c.bool(&b.Whole)
	c.tasks(&b.Tasks)
}

func (b *CheckpointComplete) code(c *coder) {
	c.uint64((*uint64)(&b.Epoch))
	c.bool(&b.Stop)
	c.tasks(&b.Tasks)
}
