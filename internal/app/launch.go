package app

import (
	"context"
	"time"

	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/exchange"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/metrics"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/rpc"
	"github.com/weir-stream/weir/internal/task"
	"github.com/weir-stream/weir/internal/taskmanager"
)

// launcher makes the tasks of one worker out of the plan that this process has built.
type launcher struct {
	world World
	plan  *Plan
	data  *dataPlane // nil in the embedded cluster
	// metrics is the worker's group; nil if nothing is reported.
	metrics *metrics.Group
	// saving is where checkpoints are; nil if none are taken.
	saving *saving
	// depth is how many batches a channel holds; 0 is the default.
	depth int
	// onSide is HandOptions.OnSide.
	onSide func(node int, name string, b event.Batch)
	// onTask is RunOptions.OnTask.
	onTask func(fail func(error) bool)
	states states
}

// Launch implements taskmanager.Launcher.
func (l *launcher) Launch(ctx context.Context, d taskmanager.Deployment, r taskmanager.Reporter) (taskmanager.Running, error) {
	x, err := graph.Expand(l.plan.Job, graph.Cluster{Workers: len(d.Deploy.Workers)})
	if err != nil {
		return nil, err
	}
	b := &builder{launcher: l, x: x, deployment: d, reporter: r, running: newRunning(l.world, x, r, l.jobGroup(d.Job)), inboxes: map[int]*exchange.Inbox{}}
	b.running.job = d.Job
	b.running.complainEvery = l.plan.Config.Get(config.TaskCancelInterval)
	if err := b.checkPlacement(); err != nil {
		return nil, err
	}
	// What the tasks read their state with lives as long as the tasks.
	if b.running.state, err = l.newTaskStates(b.running.ctx, d); err != nil {
		return nil, err
	}
	b.makeInboxes()
	if l.data != nil {
		l.data.leave()
		if b.mesh, err = newMesh(ctx, l.world.Clock, l.data, d); err != nil {
			b.release(err)
			return nil, err
		}
		if b.mesh != nil {
			b.running.mesh, b.running.linger = b.mesh, l.data.linger
		}
	}
	for _, id := range d.Tasks {
		if err := b.task(x.TaskAt(id.Vertex, int(id.Subtask)), id); err != nil {
			b.release(err)
			return nil, err
		}
	}
	if l.onTask != nil {
		for _, t := range b.running.tasks {
			l.onTask(func(err error) bool { return t.task.Post(func() error { return err }) })
		}
	}
	if err := b.running.open(ctx); err != nil {
		b.release(err)
		return nil, err
	}
	return b.running, nil
}

// builder wires the tasks of one deployment.
type builder struct {
	*launcher
	x          *graph.ExecutionGraph
	deployment taskmanager.Deployment
	reporter   taskmanager.Reporter
	running    *running
	inboxes    map[int]*exchange.Inbox // by task index, this worker's only
	mesh       *mesh                   // nil in the embedded cluster
}

// checkPlacement compares the master's placement with what follows from this process's own plan.
func (b *builder) checkPlacement() error {
	p := b.deployment.Deploy.Placement
	for i, t := range b.x.Tasks {
		v, s := int(t.ID.Vertex), int(t.ID.Subtask)
		if v >= len(p) || s >= len(p[v]) || int(p[v][s]) != b.x.Tasks[i].Worker {
			return errs.New(errs.CodePlanMismatch, errs.ClassUser, "", "the job's plan places %v elsewhere than this process would: build must describe the same job in every process", t.ID)
		}
	}
	return nil
}

// makeInboxes makes the inboxes of this worker's tasks.
func (b *builder) makeInboxes() {
	clk := b.world.Clock
	for _, id := range b.deployment.Tasks {
		at := b.x.TaskAt(id.Vertex, int(id.Subtask))
		v := b.x.Vertex(at)
		b.inboxes[at] = exchange.NewInbox(exchange.Config{
			Name:     operator.Place(v.Name, int(id.Subtask), v.Parallelism),
			Channels: len(b.x.Inputs(at)),
			Depth:    b.depth,
			Now:      func() int64 { return clk.Now().UnixNano() },
			AfterFunc: func(d time.Duration, f func()) exchange.Timer {
				return clk.AfterFunc(d, f)
			},
		})
	}
}

// release undoes a launch that came to nothing.
func (b *builder) release(err error) {
	b.running.cancel()
	b.running.state.close()
	b.mesh.abort(err)
	for _, in := range b.inboxes {
		_ = in.Close()
	}
}

// task makes one task and adds it to what runs.
func (b *builder) task(at int, id ids.TaskID) error {
	v := b.x.Vertex(at)
	inputs := b.x.Inputs(at)
	gates := make([]int, len(inputs))
	for i, ch := range inputs {
		gates[i] = ch.Gate
		if err := b.receive(at, ch); err != nil {
			return err
		}
	}
	outputs, err := b.outputs(at)
	if err != nil {
		return err
	}
	conf := b.plan.Config
	timeout := conf.Get(config.BufferTimeout)
	if !conf.Get(config.BufferTimeoutEnabled) {
		timeout = -1
	}
	ops := make([]task.Op, len(v.Operators))
	for i, op := range v.Operators {
		if ops[i], err = chainOp(op, outputs); err != nil {
			return err
		}
	}
	head, err := sourceOf(v.Head())
	if err != nil {
		return err
	}
	b.running.add(id, traits{aligned: head != nil && head.Drift > 0, remote: b.mesh != nil, vertex: v}, task.Config{
		ID: id, JobID: b.deployment.Job, Events: b.world.Events, Job: b.plan.Job.Name, Vertex: v.Name, Parallelism: v.Parallelism, Ops: ops, OnSide: b.sideHook(v),
		Inbox: b.inboxes[at], Gates: gates, Channels: b.channelsOf(inputs), BatchRows: conf.Get(config.BatchRows), BufferTimeout: timeout,
		WatermarkInterval: conf.Get(config.AutoWatermarkInterval),
		Clock:             b.world.Clock, Log: b.world.Log, FS: b.world.FS,
		OpenState: b.openState,
	})
	return nil
}

// jobGroup returns where the tasks of a job report, or nil.
func (l *launcher) jobGroup(job ids.JobID) *metrics.Group {
	if l.metrics == nil {
		return nil
	}
	return l.metrics.Job(metrics.JobVars{ID: job.String(), Name: l.plan.Job.Name})
}

// sideHook returns what watches the side outputs of a vertex, or nil.
func (b *builder) sideHook(v *graph.Vertex) func(op int, name string, batch event.Batch) {
	if b.onSide == nil {
		return nil
	}
	return func(op int, name string, batch event.Batch) { b.onSide(v.Operators[op].Node.ID, name, batch) }
}

// chainOp turns an operator of the plan into one of a task.
func chainOp(op graph.ChainedOp, outputs map[int]*edgeOutput) (task.Op, error) {
	out := task.Op{Name: op.Node.Label(), KeySchema: op.Node.KeySchema()}
	switch f := op.Node.Factory.(type) {
	case operator.Maker:
		out.Make = f
	default:
		d, err := sourceOf(op.Node)
		if err != nil || d == nil {
			return out, errs.New(errs.CodeBug, errs.ClassBug, op.Node.Label(), "the plan holds %T where an operator is made", op.Node.Factory)
		}
		out.Make = d.Make
	}
	for _, n := range op.Next {
		codec, _ := n.Edge.Codec.(operator.CodecMaker)
		out.Next = append(out.Next, task.Next{To: n.To, Side: n.Edge.Side, Hash: hasherOf(n.Edge), Codec: codec})
	}
	for _, e := range op.Outputs {
		o := outputs[e]
		out.Outputs = append(out.Outputs, task.Output{To: o.out, Side: o.edge.Side, Hash: hasherOf(o.edge)})
	}
	return out, nil
}

func hasherOf(e graph.Edge) operator.HasherMaker {
	if e.Partition.Kind != graph.Keyed {
		return nil
	}
	h, _ := e.Partition.Fn.(operator.HasherMaker)
	return h
}

// outputs makes the outgoing edges of a task, by edge id.
func (b *builder) outputs(at int) (map[int]*edgeOutput, error) {
	out := map[int]*edgeOutput{}
	self := b.x.Tasks[at]
	for _, o := range b.x.Outputs(at) {
		senders := make([]exchange.Sender, len(o.Channels))
		for i, ch := range o.Channels {
			var err error
			if senders[i], err = b.sender(at, o.Edge, ch); err != nil {
				return nil, err
			}
		}
		name := b.x.Vertex(at).Name + " -> " + b.x.Job.Vertices[o.Edge.To].Name
		part, err := partitionOf(o.Edge, int(self.ID.Subtask), len(senders))
		if err != nil {
			return nil, err
		}
		out[o.Edge.ID] = &edgeOutput{out: exchange.NewOutput(name, part, senders), edge: o.Edge.Edge}
	}
	return out, nil
}

type edgeOutput struct {
	out  *exchange.Output
	edge graph.Edge
}

func (b *builder) sender(from int, e *graph.JobEdge, ch graph.Channel) (exchange.Sender, error) {
	if ch.Local {
		return b.inboxes[ch.To].Sender(ch.Index, b.inboxes[from]), nil
	}
	link, err := b.linkTo(ch.To)
	if err != nil {
		return nil, err
	}
	codec, err := codecOf(e.Edge)
	if err != nil {
		return nil, err
	}
	return link.Sender(channelID(ch.ID), codec, b.inboxes[from]), nil
}

// receive leads a channel from another process into a task's inbox.
func (b *builder) receive(at int, ch graph.Channel) error {
	if ch.Local {
		return nil
	}
	link, err := b.linkTo(ch.From)
	if err != nil {
		return err
	}
	codec, err := codecOf(b.x.Job.Edges[ch.ID.Edge].Edge)
	if err != nil {
		return err
	}
	return link.Receive(channelID(ch.ID), b.inboxes[at], ch.Index, codec)
}

// linkTo returns the link to the worker of a task.
func (b *builder) linkTo(task int) (*exchange.Link, error) {
	w := b.x.Tasks[task].Worker
	if b.mesh == nil || b.mesh.links[w] == nil {
		return nil, errs.New(errs.CodeBug, errs.ClassBug, "", "a channel leads to worker %d, to which there is no link", w)
	}
	return b.mesh.links[w], nil
}

// channelID names a channel on the links. Parallelism is at most 32,768, so that 16 bits hold a subtask.
func channelID(id graph.ChannelID) exchange.ChannelID {
	return exchange.ChannelID(uint64(id.Edge)<<32 | uint64(id.From)<<16 | uint64(id.To))
}

// codecOf makes the codec of an edge that leaves the process.
func codecOf(e graph.Edge) (event.Codec, error) {
	make, ok := e.Codec.(operator.CodecMaker)
	if !ok {
		return nil, errs.New(errs.CodeBug, errs.ClassBug, e.Type, "an edge holds %T where a codec is made", e.Codec)
	}
	codec, err := make()
	return codec, errs.Wrap(err, errs.CodeCodec, errs.ClassUser, e.Type, "rows of this type cannot go to another process")
}

// partitionOf turns the plan's partition into the exchange's.
func partitionOf(e *graph.JobEdge, subtask, n int) (exchange.Partition, error) {
	switch p := e.Edge.Partition; p.Kind {
	case graph.Forward:
		return exchange.Forward(), nil
	case graph.Keyed:
		return exchange.Keyed(), nil
	case graph.Rebalance:
		return exchange.Rebalance(subtask), nil
	case graph.Rescale:
		return exchange.Rescale(subtask), nil
	case graph.Shuffle:
		return exchange.Shuffle(uint64(e.ID)<<32 | uint64(subtask)), nil
	case graph.Broadcast:
		return exchange.Broadcast(), nil
	case graph.Global:
		return exchange.Global(), nil
	case graph.Custom:
		make, ok := p.Fn.(operator.ChooserMaker)
		if !ok {
			return exchange.Partition{}, errs.New(errs.CodeBug, errs.ClassBug, e.Edge.Type, "a custom partition holds %T", p.Fn)
		}
		var choose operator.Chooser // made in the task, since making it runs user code
		return exchange.Custom(func(b event.Batch, targets []int32) error {
			if choose == nil {
				choose = make()
			}
			choose(b, n, targets)
			return nil
		}), nil
	default:
		return exchange.Partition{}, errs.New(errs.CodeBug, errs.ClassBug, e.Edge.Type, "unknown partition %v", p.Kind)
	}
}

// opRef names an operator of a task for the control plane.
func opRef(id ids.TaskID, op int) rpc.OpRef { return rpc.OpRef{Task: id, Op: int32(op)} }
