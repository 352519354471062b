package rpc

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
)

// wireVersion is the first byte of every message. Master and workers are of one version, so a change of the encoding needs
// no more than a new number here: the other side then says so instead of misreading.
const wireVersion = 2

// messageBytesMax bounds one encoded message. Payloads are far smaller (rpc.Side is cut by its producer); the largest
// messages are a Deploy (4 bytes a task, some 60 a worker) and TaskStacks.
const messageBytesMax = 16 << 20

// kind numbers the bodies on the wire. Numbers are never used again.
type kind uint8

const (
	kindHello              kind = 1
	kindDeployed           kind = 2
	kindDeployFailed       kind = 3
	kindTaskPhase          kind = 4
	kindSplitRequest       kind = 5
	kindSourceProgress     kind = 6
	kindMetrics            kind = 7
	kindSide               kind = 8
	kindHeartbeat          kind = 9
	kindTaskStacks         kind = 10
	kindGoodbye            kind = 11
	kindCheckpointAck      kind = 12
	kindCheckpointDecline  kind = 13
	kindTaskDrained        kind = 14
	kindDeploy             kind = 32
	kindStart              kind = 33
	kindSplitAssign        kind = 34
	kindAlignTo            kind = 35
	kindSideAck            kind = 36
	kindCancel             kind = 37
	kindShutdown           kind = 38
	kindCheckpointTrigger  kind = 39
	kindCheckpointAbort    kind = 40
	kindCheckpointComplete kind = 41
)

func (*Hello) kind() kind              { return kindHello }
func (*Deployed) kind() kind           { return kindDeployed }
func (*DeployFailed) kind() kind       { return kindDeployFailed }
func (*TaskPhase) kind() kind          { return kindTaskPhase }
func (*SplitRequest) kind() kind       { return kindSplitRequest }
func (*SourceProgress) kind() kind     { return kindSourceProgress }
func (*Metrics) kind() kind            { return kindMetrics }
func (*Side) kind() kind               { return kindSide }
func (*Heartbeat) kind() kind          { return kindHeartbeat }
func (*TaskStacks) kind() kind         { return kindTaskStacks }
func (*Goodbye) kind() kind            { return kindGoodbye }
func (*CheckpointAck) kind() kind      { return kindCheckpointAck }
func (*CheckpointDecline) kind() kind  { return kindCheckpointDecline }
func (*TaskDrained) kind() kind        { return kindTaskDrained }
func (*Deploy) kind() kind             { return kindDeploy }
func (*Start) kind() kind              { return kindStart }
func (*SplitAssign) kind() kind        { return kindSplitAssign }
func (*AlignTo) kind() kind            { return kindAlignTo }
func (*SideAck) kind() kind            { return kindSideAck }
func (*Cancel) kind() kind             { return kindCancel }
func (*Shutdown) kind() kind           { return kindShutdown }
func (*CheckpointTrigger) kind() kind  { return kindCheckpointTrigger }
func (*CheckpointAbort) kind() kind    { return kindCheckpointAbort }
func (*CheckpointComplete) kind() kind { return kindCheckpointComplete }

// newBody returns an empty body of a kind, nil if there is none.
func newBody(k kind) Body {
	switch k {
	case kindHello:
		return new(Hello)
	case kindDeployed:
		return new(Deployed)
	case kindDeployFailed:
		return new(DeployFailed)
	case kindTaskPhase:
		return new(TaskPhase)
	case kindSplitRequest:
		return new(SplitRequest)
	case kindSourceProgress:
		return new(SourceProgress)
	case kindMetrics:
		return new(Metrics)
	case kindSide:
		return new(Side)
	case kindHeartbeat:
		return new(Heartbeat)
	case kindTaskStacks:
		return new(TaskStacks)
	case kindGoodbye:
		return new(Goodbye)
	case kindCheckpointAck:
		return new(CheckpointAck)
	case kindCheckpointDecline:
		return new(CheckpointDecline)
	case kindTaskDrained:
		return new(TaskDrained)
	case kindDeploy:
		return new(Deploy)
	case kindStart:
		return new(Start)
	case kindSplitAssign:
		return new(SplitAssign)
	case kindAlignTo:
		return new(AlignTo)
	case kindSideAck:
		return new(SideAck)
	case kindCancel:
		return new(Cancel)
	case kindShutdown:
		return new(Shutdown)
	case kindCheckpointTrigger:
		return new(CheckpointTrigger)
	case kindCheckpointAbort:
		return new(CheckpointAbort)
	case kindCheckpointComplete:
		return new(CheckpointComplete)
	}
	return nil
}

// AppendMessage appends the encoding of m to dst.
func AppendMessage(dst []byte, m Message) []byte {
	c := &coder{buf: dst}
	c.buf = append(c.buf, wireVersion, byte(m.Body.kind()))
	m.code(c)
	return c.buf
}

// ParseMessage reads what AppendMessage wrote. The message does not refer to b. It allocates at most a constant times
// len(b), whatever b holds.
func ParseMessage(b []byte) (Message, error) {
	if len(b) < 2 {
		return Message{}, wireError("a message of %d bytes; the shortest has 20", len(b))
	}
	if b[0] != wireVersion {
		return Message{}, wireError("message format %d, this process speaks %d: the peer is of another version of the engine; "+
			"start all processes from the same binary", b[0], wireVersion)
	}
	m := Message{Body: newBody(kind(b[1]))}
	if m.Body == nil {
		return Message{}, wireError("unknown message kind %d", b[1])
	}
	c := &coder{buf: b[2:], decode: true}
	m.code(c)
	if c.err == nil && len(c.buf) > 0 {
		c.fail("%d bytes too many", len(c.buf))
	}
	if c.err != nil {
		return Message{}, wireError("message of kind %d: %v", b[1], c.err)
	}
	return m, nil
}

func wireError(format string, args ...any) error {
	return errs.New(errs.CodeWire, errs.ClassFailTask, "control connection", format, args...)
}

// coder walks over the fields of a message, writing or reading each: one description of every message serves both
// directions. After an error every call leaves its field zero.
type coder struct {
	decode bool
	buf    []byte // written so far, or left to read
	err    error
}

func (c *coder) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
	c.buf = nil
}

func (c *coder) uint64(v *uint64) {
	if !c.decode {
		c.buf = binary.AppendUvarint(c.buf, *v)
		return
	}
	x, n := binary.Uvarint(c.buf)
	if n <= 0 {
		c.fail("a number is cut off or longer than 64 bits")
		return
	}
	*v, c.buf = x, c.buf[n:]
}

func (c *coder) int64(v *int64) {
	if !c.decode {
		c.buf = binary.AppendVarint(c.buf, *v)
		return
	}
	x, n := binary.Varint(c.buf)
	if n <= 0 {
		c.fail("a number is cut off or longer than 64 bits")
		return
	}
	*v, c.buf = x, c.buf[n:]
}

func (c *coder) int32(v *int32) {
	x := int64(*v)
	c.int64(&x)
	if x < math.MinInt32 || x > math.MaxInt32 {
		c.fail("%d does not fit into 32 bits", x)
		return
	}
	if c.decode { // a message that is written may be read by others at the same time
		*v = int32(x)
	}
}

func (c *coder) uint8(v *uint8) {
	if !c.decode {
		c.buf = append(c.buf, *v)
		return
	}
	if len(c.buf) == 0 {
		c.fail("a byte is missing")
		return
	}
	*v, c.buf = c.buf[0], c.buf[1:]
}

func (c *coder) bool(v *bool) {
	var x uint8
	if *v {
		x = 1
	}
	c.uint8(&x)
	if x > 1 {
		c.fail("a truth value of %d", x)
		return
	}
	if c.decode {
		*v = x == 1
	}
}

func (c *coder) duration(v *time.Duration) { c.int64((*int64)(v)) }

// length codes the number of elements that follow, each of at least size bytes, and returns it.
func (c *coder) length(n, size int) int {
	x := uint64(n)
	c.uint64(&x)
	if c.decode && x > uint64(len(c.buf)/size) {
		c.fail("%d elements announced, %d bytes left", x, len(c.buf))
		return 0
	}
	return int(x)
}

func (c *coder) bytes(v *[]byte) {
	n := c.length(len(*v), 1)
	if !c.decode {
		c.buf = append(c.buf, *v...)
		return
	}
	*v = nil
	if n > 0 {
		*v = append(make([]byte, 0, n), c.buf[:n]...)
		c.buf = c.buf[n:]
	}
}

func (c *coder) string(v *string) {
	n := c.length(len(*v), 1)
	if !c.decode {
		c.buf = append(c.buf, *v...)
		return
	}
	*v, c.buf = string(c.buf[:n]), c.buf[n:]
}

func (c *coder) id(v *[16]byte) {
	if !c.decode {
		c.buf = append(c.buf, v[:]...)
		return
	}
	if len(c.buf) < len(v) {
		c.fail("an id is cut off")
		return
	}
	c.buf = c.buf[copy(v[:], c.buf):]
}

func (c *coder) task(v *ids.TaskID) {
	c.int32((*int32)(&v.Vertex))
	c.int32(&v.Subtask)
	c.int32(&v.Attempt)
}

func (c *coder) tasks(v *[]ids.TaskID) { list(c, v, 3, c.task) }

func (c *coder) op(v *OpRef) {
	c.task(&v.Task)
	c.int32(&v.Op)
}

// failure codes an error or nil. The chain of causes becomes text: behind the wire only code, class and operation count.
func (c *coder) failure(v **errs.Error) {
	present := *v != nil
	c.bool(&present)
	if !present || c.err != nil {
		return
	}
	var e errs.Error
	if !c.decode {
		e = **v
		if e.Err != nil {
			cause := e.Err.Error()
			if e.Msg != "" {
				cause = e.Msg + ": " + cause
			}
			e.Msg = cause
		}
	}
	c.string((*string)(&e.Code))
	c.uint8((*uint8)(&e.Class))
	c.string(&e.Op)
	c.string(&e.Msg)
	if c.decode {
		*v = &e
	}
}

// list codes a slice; size is the least number of bytes of one element.
func list[T any](c *coder, v *[]T, size int, elem func(*T)) {
	n := c.length(len(*v), size)
	if c.decode {
		*v = nil
		if n == 0 {
			return
		}
		*v = make([]T, n)
	}
	for i := range *v {
		if elem(&(*v)[i]); c.err != nil {
			return
		}
	}
}
