package jobmanager

import (
	"errors"
	"fmt"
	"io"

	"github.com/weir-stream/weir/internal/checkpoint"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/events"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/jobfsm"
	"github.com/weir-stream/weir/internal/rpc"
)

// peer is a connection. Its fields belong to the master's goroutine, except conn and outbox, which are safe for all.
type peer struct {
	conn   rpc.Conn
	outbox *rpc.Outbox
	worker ids.WorkerID // "" until it has said Hello and was admitted
	pid    int64
	addr   string
	seen   bool // since the last look at the heartbeats
	silent bool // at the last look it had not been seen
	bye    bool // it has said Goodbye
	why    string
}

func (p *peer) String() string { return fmt.Sprintf("worker %s (pid %d)", p.worker, p.pid) }

// Attach takes over a connection that a worker has opened. It may be called from any goroutine, before and during Run.
func (m *Master) Attach(conn rpc.Conn) {
	if !m.post(func() { m.attach(conn) }) {
		conn.Close()
	}
}

// Serve attaches all connections that a listener hands out, until that is closed.
func (m *Master) Serve(l rpc.Listener) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			if errors.Is(err, rpc.ErrClosed) {
				return nil
			}
			return err
		}
		m.Attach(conn)
	}
}

func (m *Master) attach(conn rpc.Conn) {
	p := &peer{conn: conn, outbox: rpc.NewOutbox(conn, 0)}
	m.peers[p] = true
	if m.end != nil {
		m.put(p, m.job.Generation, &rpc.Shutdown{})
	}
	m.background.Go(func() {
		// If the connection has ended, Recv says so after all that the worker still had to say.
		if err := p.outbox.Run(m.life); err != nil && errs.CodeOf(err) != errs.CodePeerLost {
			m.post(func() { m.onDisconnect(p, err) })
		}
	})
	m.background.Go(func() {
		for {
			msg, err := conn.Recv()
			if err != nil {
				m.post(func() { m.onDisconnect(p, err) })
				return
			}
			if !m.post(func() { m.onMessage(p, msg) }) {
				return
			}
		}
	})
}

// put queues a message for a connection. An error of the connection shows up as its end.
func (m *Master) put(p *peer, g ids.Generation, b rpc.Body) {
	_ = p.outbox.Put(rpc.Message{Job: m.job.ID, Generation: g, Term: m.job.Term, Body: b})
}

// onDisconnect is the end of a connection, in order or not. It comes up to twice.
func (m *Master) onDisconnect(p *peer, err error) {
	if !m.peers[p] {
		return
	}
	delete(m.peers, p)
	m.background.Go(func() { p.conn.Close() })
	if p.worker == "" {
		m.cfg.Log.Warn("a connection ended before its worker was admitted", "err", err)
		return
	}
	delete(m.workers, p.worker)
	m.figures.setWorkers(len(m.workers))
	var cause *errs.Error
	switch {
	case p.bye:
		cause = errs.New(errs.CodeWorkerLost, errs.ClassFailTask, p.String(), "it has left: %s", p.why)
	case errors.Is(err, io.EOF):
		cause = errs.New(errs.CodeWorkerLost, errs.ClassFailTask, p.String(), "it has closed its control connection without a word")
	default:
		cause = &errs.Error{Code: errs.CodeWorkerLost, Class: errs.ClassFailTask, Op: p.String(), Msg: "its control connection broke", Err: err}
	}
	if p.bye {
		m.tellLost(p, nil)
	} else {
		m.tellLost(p, cause)
	}
	m.step(jobfsm.WorkerLost{Worker: p.worker, Cause: cause})
}

// lose gives up a worker whose connection still stands.
func (m *Master) lose(p *peer, cause *errs.Error) {
	delete(m.peers, p)
	delete(m.workers, p.worker)
	m.figures.setWorkers(len(m.workers))
	m.background.Go(func() { p.conn.Close() })
	m.tellLost(p, cause)
	m.step(jobfsm.WorkerLost{Worker: p.worker, Cause: cause})
}

// dropExited forgets the connection of a process that has ended, so that one that replaces it may come. What the connection
// still holds could change nothing.
func (m *Master) dropExited(w ids.WorkerID, cause *errs.Error) {
	p := m.workers[w]
	if p == nil || m.end != nil || m.cfg.Restart == nil || m.phase == jobfsm.Finishing {
		return
	}
	delete(m.peers, p)
	delete(m.workers, w)
	m.figures.setWorkers(len(m.workers))
	m.background.Go(func() { p.conn.Close() })
	m.tellLost(p, cause)
}

// lookForSilence is called twice in each heartbeat timeout: who was silent between three looks is lost.
func (m *Master) lookForSilence() {
	for _, p := range m.workers {
		switch {
		case p.seen:
			p.seen, p.silent = false, false
		case !p.silent:
			p.silent = true
		default:
			m.lose(p, errs.New(errs.CodeWorkerLost, errs.ClassFailTask, p.String(),
				"no sign of life for %v (heartbeat.timeout): the process hangs, or the machine or the network is overloaded", m.cfg.HeartbeatTimeout))
		}
	}
}

func (m *Master) onHello(p *peer, h *rpc.Hello) {
	refuse := func(code errs.Code, format string, args ...any) {
		cause := errs.New(code, errs.ClassFailJob, "worker "+string(h.Worker), format, args...)
		m.cfg.Log.Warn("refused a worker", "err", cause)
		m.put(p, m.job.Generation, &rpc.Shutdown{Failure: cause})
	}
	proved := p.conn.Peer()
	_, wanted := m.expected[h.Worker]
	switch {
	case p.worker != "":
		refuse(errs.CodeBug, "it has said hello twice")
	case proved != "" && proved != string(h.Worker):
		refuse(errs.CodeWorkerLost, "its certificate is that of %q", proved)
	case !wanted:
		refuse(errs.CodeWorkerLost, "it is not one of the job's workers %v", m.job.Workers)
	case m.expected[h.Worker]:
		refuse(errs.CodeWorkerLost, "a worker of this name is, or was, part of this deployment already")
	default:
		m.expected[h.Worker] = true
		p.worker, p.pid, p.addr = h.Worker, h.PID, h.DataAddr
		m.workers[h.Worker] = p
		m.figures.setWorkers(len(m.workers))
		m.addrs[h.Worker] = h.DataAddr
		m.cfg.Events.WorkerConnected(events.WorkerConnected{Worker: h.Worker, Addr: h.DataAddr})
		m.step(jobfsm.WorkerJoined{Worker: h.Worker, Fingerprint: h.Fingerprint, Version: h.Version})
	}
}

func (m *Master) onMessage(p *peer, msg rpc.Message) {
	if !m.peers[p] {
		return // given up
	}
	p.seen, p.silent = true, false
	switch b := msg.Body.(type) {
	case *rpc.Hello:
		m.onHello(p, b)
		return
	case *rpc.Goodbye:
		p.bye, p.why = true, b.Reason
		return
	case *rpc.Heartbeat:
		return
	}
	region, present := m.regions.of[msg.Generation]
	if p.worker == "" || msg.Job != m.job.ID || !present {
		m.cfg.Log.Debug("dropped a message of another deployment", "worker", p.worker, "generation", msg.Generation, "type", fmt.Sprintf("%T", msg.Body))
		return
	}
	m.onReport(p, region, msg.Body)
}

// onReport handles what an admitted worker reports on the present deployment of a region.
func (m *Master) onReport(p *peer, region int, body rpc.Body) {
	switch b := body.(type) {
	case *rpc.Deployed:
		m.step(jobfsm.Deployed{Worker: p.worker, Region: region})
	case *rpc.DeployFailed:
		m.step(jobfsm.DeployFailed{Worker: p.worker, Region: region, Cause: failureOr(b.Failure, p)})
	case *rpc.TaskPhase:
		m.onTaskPhase(p, b)
	case *rpc.Metrics:
		m.figures.store(b.Operators)
	case *rpc.Side:
		if m.admits(p, b.Source) {
			m.onSide(p.worker, b)
		}
	case *rpc.SplitRequest:
		d := m.splits[sourceKey{int32(b.Source.Task.Vertex), b.Source.Op}]
		if d != nil && m.admits(p, b.Source) {
			d.request(int(b.Source.Task.Subtask))
		}
	case *rpc.SourceProgress:
		if m.admits(p, b.Source) {
			m.align.progress(b)
		}
	case *rpc.CheckpointAck, *rpc.CheckpointDecline, *rpc.TaskDrained:
		m.onCheckpointReport(p, body)
	case *rpc.TaskStacks:
		m.tellStuck(b)
		if m.cfg.Stuck != nil {
			m.cfg.Stuck(p.worker, b)
		}
	default:
		m.cfg.Log.Warn("a message that a master does not expect", "worker", p.worker, "type", fmt.Sprintf("%T", b))
	}
}

// onCheckpointReport hands what tasks say of checkpoints to the coordinator.
func (m *Master) onCheckpointReport(p *peer, body rpc.Body) {
	if m.ckpt == nil {
		return
	}
	switch b := body.(type) {
	case *rpc.CheckpointAck:
		if m.admits(p, rpc.OpRef{Task: b.Task}) {
			m.ckpt.onAck(b)
		}
	case *rpc.CheckpointDecline:
		if m.admits(p, rpc.OpRef{Task: b.Task}) {
			m.ckpt.onDecline(b)
		}
	case *rpc.TaskDrained:
		if m.admits(p, rpc.OpRef{Task: b.Task}) {
			m.ckpt.step(checkpoint.Drained{Task: b.Task})
		}
	}
}

// admits reports whether an operator lies in a task that the worker runs; a worker that speaks of others is ignored.
func (m *Master) admits(p *peer, r rpc.OpRef) bool {
	ok := m.job.valid(r) && m.job.Workers[m.job.Placement[r.Task.Vertex][r.Task.Subtask]] == p.worker
	if !ok {
		m.cfg.Log.Warn("a worker speaks of a task that it does not run", "worker", p.worker, "task", r.Task)
	}
	return ok
}

func (m *Master) onTaskPhase(p *peer, b *rpc.TaskPhase) {
	e := jobfsm.TaskMoved{Worker: p.worker, Task: b.Task, Phase: jobfsm.TaskPhase(b.Phase)}
	if b.Phase > rpc.PhaseFailed || b.Phase < rpc.PhaseRunning || !m.admits(p, rpc.OpRef{Task: b.Task}) {
		m.cfg.Log.Warn("a phase that a worker does not report", "worker", p.worker, "task", b.Task, "phase", b.Phase)
		return
	}
	if b.Phase == rpc.PhaseFailed {
		e.Cause = failureOr(b.Failure, p)
		m.failures = append(m.failures, taskFailure{e.Cause, b.Task})
	}
	before := m.figures.setTask(b.Task, b.Phase.String())
	m.tellTask(p.worker, b.Task, before, b.Phase.String(), e.Cause)
	if b.Phase.Ended() {
		m.align.end(int32(b.Task.Vertex), b.Task.Subtask)
	}
	if b.Phase == rpc.PhaseFinished && m.ckpt != nil {
		m.ckpt.step(checkpoint.Finished{Task: b.Task})
	}
	m.step(e)
}

func failureOr(e *errs.Error, p *peer) *errs.Error {
	if e == nil {
		return errs.New(errs.CodeBug, errs.ClassBug, p.String(), "a failure without an error")
	}
	return e
}
