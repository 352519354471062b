package jobfsm

import (
	"fmt"
	"strings"

	"github.com/weir-stream/weir/internal/ids"
)

// unitName names the tasks of a region on a worker: "w1" for those of region 0, which most jobs have alone.
func unitName(w ids.WorkerID, region int) string {
	if region == 0 {
		return string(w)
	}
	return fmt.Sprintf("%s/%d", w, region)
}

// describe renders an event for notes.
func describe(e Event) string {
	switch e := e.(type) {
	case WorkerJoined:
		return fmt.Sprintf("worker %s joined", e.Worker)
	case WorkerLost:
		return fmt.Sprintf("worker %s lost", e.Worker)
	case WorkerExited:
		return fmt.Sprintf("worker %s exited", e.Worker)
	case Deployed:
		return fmt.Sprintf("worker %s deployed", unitName(e.Worker, e.Region))
	case DeployFailed:
		return fmt.Sprintf("worker %s failed to deploy: %v", unitName(e.Worker, e.Region), e.Cause)
	case TaskMoved:
		s := fmt.Sprintf("task %v of worker %s %s", e.Task, e.Worker, e.Phase)
		if e.Cause != nil {
			s += ": " + e.Cause.Error()
		}
		return s
	case MasterFailed:
		return fmt.Sprintf("failure: %v", e.Cause)
	case CancelAsked:
		return "cancel"
	case SidesTaken:
		return "side rows taken"
	case Decided:
		return fmt.Sprintf("decided: restart %v", e.Restart)
	case DeadlinePassed:
		return fmt.Sprintf("deadline %s", e.Kind)
	}
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", e), "jobfsm."))
}

// Format renders commands, one a line, for transcripts and traces.
func Format(commands []Command) string {
	var b strings.Builder
	for _, c := range commands {
		switch c := c.(type) {
		case Deploy:
			fmt.Fprintf(&b, "deploy %s", unitName(c.Worker, c.Region))
		case Start:
			fmt.Fprintf(&b, "start %s", unitName(c.Worker, c.Region))
		case Cancel:
			fmt.Fprintf(&b, "cancel %s (%s)", unitName(c.Worker, c.Region), c.Reason)
		case Shutdown:
			fmt.Fprintf(&b, "shutdown %s", c.Worker)
			if c.Cause != nil {
				fmt.Fprintf(&b, " (%v)", c.Cause)
			}
		case Kill:
			fmt.Fprintf(&b, "kill %s (%s)", c.Worker, c.Reason)
		case Widened:
			fmt.Fprintf(&b, "widened by %v", c.Regions)
		case AskRestart:
			fmt.Fprintf(&b, "ask restart: %v", c.Cause)
		case Replace:
			fmt.Fprintf(&b, "replace %s", c.Worker)
		case DrainSides:
			b.WriteString("drain sides")
		case SetDeadline:
			fmt.Fprintf(&b, "set deadline %s", c.Kind)
		case ClearDeadline:
			fmt.Fprintf(&b, "clear deadline %s", c.Kind)
		case Enter:
			fmt.Fprintf(&b, "enter %s", c.Phase)
		case End:
			b.WriteString("end")
			if c.Cause != nil {
				fmt.Fprintf(&b, ": %v", c.Cause)
			}
			if len(c.Abandoned) > 0 {
				fmt.Fprintf(&b, " abandoned %v", c.Abandoned)
			}
		case Note:
			b.WriteString(c.Text)
		}
		b.WriteByte('\n')
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}
