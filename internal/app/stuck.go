package app

import (
	"bytes"
	"fmt"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/weir-stream/weir/internal/events"
)

// complain reports tasks that were told to stop and still run, once an interval, with the stacks of their goroutines, until all
// have ended. What does not return is user code: the engine's own waits end at once.
func (g *running) complain(every time.Duration) {
	timer := g.world.Clock.NewTimer(every)
	defer timer.Stop()
	for waited := every; ; waited += every {
		select {
		case <-g.done:
			return
		case <-timer.C():
		}
		for _, t := range g.tasks {
			if !t.ended.Load() {
				g.world.Events.EnsureDefaults().TaskStuck(events.TaskStuck{Job: g.job, Task: t.id, Name: t.name, Since: waited, Stack: taskStack(t.name)})
			}
		}
		timer.Reset(every)
	}
}

// taskStack returns the stack of a task's goroutine, which carries its name as a label, and those of goroutines that it
// started.
func taskStack(name string) string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return err.Error()
	}
	label := fmt.Sprintf("%q:%q", "vertex", name)
	var out []string
	for stack := range strings.SplitSeq(profile.String(), "\n\n") {
		if !strings.Contains(stack, label) {
			continue
		}
		for line := range strings.Lines(stack) {
			if f := strings.Fields(line); len(f) == 4 && f[0] == "#" { // "#", address, function, place
				out = append(out, f[2]+" "+f[3])
			}
		}
	}
	return strings.Join(out, "\n")
}
