package checkpoint

import (
	"fmt"
	"strings"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/ids"
)

var purposeNames = [...]string{"flush", "checkpoint", "savepoint", "stop", "rescale"}

func purposeName(p event.Purpose) string {
	if int(p) < len(purposeNames) {
		return purposeNames[p]
	}
	return fmt.Sprintf("purpose(%d)", p)
}

func tasks(list []ids.TaskID) string {
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = t.String()
	}
	return "[" + strings.Join(names, " ") + "]"
}

// Format renders commands of a Coordinator, one a line, for transcripts and traces.
func Format(commands []Command) string {
	var b strings.Builder
	for _, c := range commands {
		switch c := c.(type) {
		case ReserveEpochs:
			fmt.Fprintf(&b, "reserve through=%d", c.Through)
		case Trigger:
			fmt.Fprintf(&b, "trigger epoch=%d %s", c.Barrier.Epoch, purposeName(c.Barrier.Purpose))
			b.WriteString(flags(c.Barrier.Unaligned, " unaligned", c.Drain, " drain"))
			if c.SwitchAt > 0 {
				fmt.Fprintf(&b, " switch-at=%v", c.SwitchAt)
			}
			b.WriteString(" " + tasks(c.Tasks))
		case Abort:
			fmt.Fprintf(&b, "abort epoch=%d %s", c.Epoch, tasks(c.Tasks))
		case WriteManifest:
			fmt.Fprintf(&b, "write-manifest epoch=%d %s acked=%s", c.Epoch, purposeName(c.Purpose), tasks(c.Acked))
			if len(c.Finished) > 0 {
				b.WriteString(" finished=" + tasks(c.Finished))
			}
			if c.Target != "" {
				b.WriteString(" target=" + c.Target)
			}
		case NotifyComplete:
			fmt.Fprintf(&b, "notify-complete epoch=%d%s %s", c.Epoch, flags(c.Stop, " stop", false, ""), tasks(c.Tasks))
		case Forget:
			fmt.Fprintf(&b, "forget epoch=%d", c.Epoch)
		case Completed:
			fmt.Fprintf(&b, "completed epoch=%d %s", c.Epoch, purposeName(c.Purpose))
		case Failed:
			fmt.Fprintf(&b, "failed epoch=%d %v missing=%s", c.Epoch, c.Reason, tasks(c.Missing))
		case Answer:
			fmt.Fprintf(&b, "answer request=%d epoch=%d %v", c.Request, c.Epoch, c.Reason)
		case FailJob:
			fmt.Fprintf(&b, "fail-job epoch=%d %v", c.Epoch, c.Reason)
		case RestorePoint:
			fmt.Fprintf(&b, "restore-point epoch=%d%s", c.Epoch, flags(c.Owned, " owned", false, ""))
		case StepDown:
			b.WriteString("step-down")
		case Note:
			b.WriteString("note " + c.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func flags(a bool, as string, b bool, bs string) (s string) {
	if a {
		s += as
	}
	if b {
		s += bs
	}
	return s
}

// FormatAligner renders commands of an Aligner, one a line.
func FormatAligner(commands []AlignerCommand) string {
	var b strings.Builder
	for _, c := range commands {
		switch c := c.(type) {
		case Block:
			fmt.Fprintf(&b, "block in=%d", c.Channel)
		case Unblock:
			fmt.Fprintf(&b, "unblock in=%d", c.Channel)
		case Snapshot:
			fmt.Fprintf(&b, "snapshot epoch=%d%s", c.Barrier.Epoch, flags(c.Barrier.Unaligned, " unaligned", false, ""))
		case Forward:
			fmt.Fprintf(&b, "forward epoch=%d%s", c.Barrier.Epoch, flags(c.Barrier.Unaligned, " unaligned", false, ""))
		case Capture:
			fmt.Fprintf(&b, "capture in=%d epoch=%d", c.Channel, c.Epoch)
		case CaptureEnd:
			fmt.Fprintf(&b, "capture-end in=%d epoch=%d", c.Channel, c.Epoch)
		case Seal:
			fmt.Fprintf(&b, "seal epoch=%d", c.Epoch)
		case GiveUp:
			fmt.Fprintf(&b, "give-up epoch=%d", c.Epoch)
		case Remark:
			b.WriteString("remark " + c.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
