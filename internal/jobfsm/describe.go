package jobfsm

import (
	"fmt"
	"strings"
)

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
		return fmt.Sprintf("worker %s deployed", e.Worker)
	case DeployFailed:
		return fmt.Sprintf("worker %s failed to deploy: %v", e.Worker, e.Cause)
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
			fmt.Fprintf(&b, "deploy %s", c.Worker)
		case Start:
			fmt.Fprintf(&b, "start %s", c.Worker)
		case Cancel:
			fmt.Fprintf(&b, "cancel %s (%s)", c.Worker, c.Reason)
		case Shutdown:
			fmt.Fprintf(&b, "shutdown %s", c.Worker)
			if c.Cause != nil {
				fmt.Fprintf(&b, " (%v)", c.Cause)
			}
		case Kill:
			fmt.Fprintf(&b, "kill %s (%s)", c.Worker, c.Reason)
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
