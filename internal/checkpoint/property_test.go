package checkpoint

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/ids"
)

// bench is a task around an Aligner: channels hold rows (0), barriers (their epoch) and an end (-1), and the task obeys the
// commands.
type bench struct {
	a         *Aligner
	now       time.Duration
	queues    [][]int64
	unaligned map[int64]bool
	switchAt  map[int64]time.Duration
	before    map[int64][]int // rows in front of the barrier of an epoch, for each channel; all of them if it has none
	taken     []int
	blocked   []bool
	capturing []ids.Epoch
	captured  []int
	atCut     map[ids.Epoch][]int
	cut       []ids.Epoch
	sealed    []ids.Epoch
	forwarded []ids.Epoch
	gone      map[ids.Epoch]bool
	fed       []int
	over      int // rows that the barrier just taken has overtaken
	came      map[ids.Epoch]bool
	ordered   []bool
	tamper    func([]AlignerCommand) []AlignerCommand // a planted fault, or nil
	broken    string
}

func (b *bench) breakLaw(format string, args ...any) {
	if b.broken == "" {
		b.broken = fmt.Sprintf(format, args...)
	}
}

func (b *bench) step(e AlignerEvent) {
	commands := slices.Clone(b.a.Step(b.now, e))
	if b.tamper != nil {
		commands = b.tamper(commands)
	}
	for _, cmd := range commands {
		switch cmd := cmd.(type) {
		case Block:
			if b.blocked[cmd.Channel] {
				b.breakLaw("channel %d is blocked twice", cmd.Channel)
			}
			b.blocked[cmd.Channel] = true
		case Unblock:
			if !b.blocked[cmd.Channel] {
				b.breakLaw("channel %d is not blocked", cmd.Channel)
			}
			b.blocked[cmd.Channel] = false
		case Snapshot:
			epoch := ids.Epoch(cmd.Barrier.Epoch)
			if n := len(b.cut); n > 0 && b.cut[n-1] >= epoch {
				b.breakLaw("epoch %d is cut after %d", epoch, b.cut[n-1])
			}
			b.cut = append(b.cut, epoch)
			b.atCut[epoch] = slices.Clone(b.taken)
			clear(b.captured)
			if !cmd.Barrier.Unaligned {
				b.sealed = append(b.sealed, epoch)
				b.check(epoch)
			}
		case Forward:
			b.forwarded = append(b.forwarded, ids.Epoch(cmd.Barrier.Epoch))
		case Capture:
			if b.ordered[cmd.Channel] {
				b.breakLaw("channel %d keeps its order and is captured", cmd.Channel)
			}
			b.capturing[cmd.Channel] = cmd.Epoch
		case CaptureEnd:
			if b.capturing[cmd.Channel] != cmd.Epoch {
				b.breakLaw("channel %d is not captured for epoch %d", cmd.Channel, cmd.Epoch)
			}
			b.capturing[cmd.Channel] = 0
			b.captured[cmd.Channel] += b.over
		case Seal:
			b.sealed = append(b.sealed, cmd.Epoch)
			b.check(cmd.Epoch)
		case GiveUp:
			b.gone[cmd.Epoch] = true
			for ch, e := range b.capturing {
				if e == cmd.Epoch {
					b.capturing[ch] = 0
				}
			}
		}
	}
}

// check holds a snapshot against the rows that were in front of the barriers.
func (b *bench) check(epoch ids.Epoch) {
	for ch, want := range b.before[int64(epoch)] {
		if want < 0 {
			continue // this channel's producer gave the epoch up
		}
		got := b.atCut[epoch][ch] + b.captured[ch]
		if b.a.mode == ExactlyOnce && got != want || got < want {
			b.breakLaw("epoch %d holds %d rows of channel %d, want %d", epoch, got, ch, want)
		}
	}
}

// poll takes the next event of a channel, first a barrier that may overtake.
func (b *bench) poll(ch int) {
	q, at := b.queues[ch], 0
	if i := slices.IndexFunc(q, func(v int64) bool {
		return v > 0 && b.capturing[ch] == ids.Epoch(v)
	}); i >= 0 {
		at = i
	}
	v := q[at]
	b.over = 0
	for _, w := range q[:at] {
		if w == 0 {
			b.over++
		}
	}
	b.queues[ch] = slices.Delete(slices.Clone(q), at, at+1)
	switch {
	case v == 0:
		b.taken[ch]++
		if b.capturing[ch] > 0 {
			b.captured[ch]++
		}
	case v < 0:
		b.step(ChannelEnded{ch})
	default:
		b.came[ids.Epoch(v)] = true // without, no barrier reaches the task; see the transcript all_ended
		b.step(BarrierCame{ch, b.barrier(v), b.switchAt[v]})
	}
}

func (b *bench) barrier(epoch int64) event.Barrier {
	return event.Barrier{Epoch: uint64(epoch), Purpose: event.PurposeCheckpoint, Unaligned: b.unaligned[epoch]}
}

func newBench(mode Mode, channels int) *bench {
	return &bench{
		a: NewAligner(mode, channels), queues: make([][]int64, channels), unaligned: map[int64]bool{},
		switchAt: map[int64]time.Duration{}, before: map[int64][]int{}, taken: make([]int, channels),
		blocked: make([]bool, channels), capturing: make([]ids.Epoch, channels), captured: make([]int, channels),
		atCut: map[ids.Epoch][]int{}, gone: map[ids.Epoch]bool{}, fed: make([]int, channels), came: map[ids.Epoch]bool{},
		ordered: make([]bool, channels),
	}
}

func (b *bench) ready() (out []int) {
	for ch, q := range b.queues {
		if len(q) > 0 && !b.blocked[ch] {
			out = append(out, ch)
		}
	}
	return out
}

// feed gives each channel some rows, then the barrier of an epoch, perhaps an end. It reports whether no channel omits the
// barrier, as one does whose producer has given the epoch up.
func (b *bench) feed(t *rapid.T, e int64, seen bool, ended []bool) (whole bool) {
	whole = true
	b.before[e] = make([]int, len(ended))
	for ch := range ended {
		if ended[ch] {
			b.before[e][ch] = b.fed[ch]
			continue
		}
		n := rapid.IntRange(0, 3).Draw(t, "rows")
		b.fed[ch] += n
		b.queues[ch] = append(b.queues[ch], make([]int64, n)...)
		b.before[e][ch] = b.fed[ch]
		if rapid.IntRange(0, 9).Draw(t, "omit") == 0 {
			b.before[e][ch] = -1
			whole = false
		} else {
			b.queues[ch] = append(b.queues[ch], e)
			if !b.ordered[ch] && (b.unaligned[e] || seen && rapid.Bool().Draw(t, "seen")) {
				b.step(BarrierSeen{ch, b.barrier(e), b.switchAt[e]})
			}
		}
		if rapid.IntRange(0, 5).Draw(t, "end") == 0 {
			ended[ch] = true
			b.queues[ch] = append(b.queues[ch], -1)
		}
	}
	return whole
}

// checkAligner drives an Aligner through a random schedule and says which law broke.
func checkAligner(t *rapid.T, tamper func([]AlignerCommand) []AlignerCommand) string {
	kind := rapid.SampledFrom([]string{"aligned", "at-least-once", "unaligned", "switch"}).Draw(t, "kind")
	mode := ExactlyOnce
	if kind == "at-least-once" {
		mode = AtLeastOnce
	}
	channels := rapid.IntRange(1, 3).Draw(t, "channels")
	b := newBench(mode, channels)
	b.tamper = tamper
	for ch := range channels {
		if rapid.IntRange(0, 3).Draw(t, "ordered") == 0 {
			b.ordered[ch] = true
			b.a.KeepOrder(ch)
		}
	}
	ended := make([]bool, channels)
	single := kind == "unaligned" || kind == "switch"
	must := map[ids.Epoch]bool{} // epochs that nobody gives up
	drain := func(most int) {
		for range most {
			ready := b.ready()
			if len(ready) == 0 || b.broken != "" {
				return
			}
			b.poll(rapid.SampledFrom(ready).Draw(t, "channel"))
			if rapid.IntRange(0, 3).Draw(t, "pass") == 0 {
				b.now++
				b.step(Passed{})
			}
		}
	}
	abort := func(epoch ids.Epoch) {
		delete(must, epoch)
		b.step(Aborted{epoch})
	}
	rounds := rapid.IntRange(1, 4).Draw(t, "rounds")
	for e := int64(1); e <= int64(rounds); e++ {
		if last := ids.Epoch(e - 1); single && last > 0 && !slices.Contains(b.sealed, last) {
			abort(last)
		}
		b.unaligned[e] = kind == "unaligned"
		if kind == "switch" {
			b.switchAt[e] = b.now + time.Duration(rapid.IntRange(1, 4).Draw(t, "deadline"))
		}
		must[ids.Epoch(e)] = true
		if !b.feed(t, e, kind == "switch", ended) {
			delete(must, ids.Epoch(e))
		}
		drain(rapid.IntRange(0, 12).Draw(t, "polls"))
		if rapid.IntRange(0, 5).Draw(t, "abort") == 0 {
			abort(ids.Epoch(rapid.Int64Range(1, e).Draw(t, "aborted")))
		}
	}
	for ch := range channels {
		if !ended[ch] {
			b.queues[ch] = append(b.queues[ch], -1)
		}
	}
	drain(1000)
	b.atEnd(must)
	return b.broken
}

// atEnd says what must hold when every channel has ended.
func (b *bench) atEnd(must map[ids.Epoch]bool) {
	for ch, q := range b.queues {
		if len(q) > 0 {
			b.breakLaw("channel %d is stuck with %v", ch, q)
		}
		if b.blocked[ch] || b.capturing[ch] > 0 {
			b.breakLaw("channel %d is blocked or captured after its end", ch)
		}
	}
	for e := range must {
		if b.came[e] && !slices.Contains(b.sealed, e) {
			b.breakLaw("epoch %d was never cut", e)
		}
	}
	if !slices.Equal(b.cut, b.forwarded) {
		b.breakLaw("cut %v and forwarded %v", b.cut, b.forwarded)
	}
}

// TestAlignerLaws: whatever the order in which channels deliver rows, barriers and ends, in every mode, a snapshot holds the
// rows in front of the barriers and no others (at-least-once: at least those), blocks are balanced, and nothing is stuck.
func TestAlignerLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if broken := checkAligner(t, nil); broken != "" {
			t.Fatal(broken)
		}
	})
}

// TestAlignerLawsBite plants a fault into what the task does; each must break a law.
func TestAlignerLawsBite(t *testing.T) {
	without := func(drop func(AlignerCommand) bool) func([]AlignerCommand) []AlignerCommand {
		return func(list []AlignerCommand) []AlignerCommand { return slices.DeleteFunc(list, drop) }
	}
	for _, c := range []struct {
		name   string
		tamper func([]AlignerCommand) []AlignerCommand
	}{
		{"nothing is blocked", without(func(c AlignerCommand) bool {
			_, block := c.(Block)
			_, unblock := c.(Unblock)
			return block || unblock
		})},
		{"a channel stays blocked", without(func(c AlignerCommand) bool { _, ok := c.(Unblock); return ok })},
		{"in-flight rows are not captured", without(func(c AlignerCommand) bool {
			_, capture := c.(Capture)
			_, end := c.(CaptureEnd)
			return capture || end
		})},
		{"a capture has no end", without(func(c AlignerCommand) bool { _, ok := c.(CaptureEnd); return ok })},
		{"a barrier is not sent on", without(func(c AlignerCommand) bool { _, ok := c.(Forward); return ok })},
		{"an unaligned epoch is not sealed", without(func(c AlignerCommand) bool { _, ok := c.(Seal); return ok })},
	} {
		found := ""
		example := rapid.Custom(func(t *rapid.T) string { return checkAligner(t, c.tamper) })
		for seed := 0; seed < 400 && found == ""; seed++ {
			found = example.Example(seed)
		}
		if found == "" {
			t.Errorf("%s: not found", c.name)
		}
		t.Logf("%s: %s", c.name, found)
	}
}

// TestCoordinatorLaws feeds a Coordinator events in any order, sensible or not, and keeps its own simple books: an epoch is
// complete only if its manifest was durable, and its manifest is written only if every task that was not gone had acked; a
// request is answered once; epochs rise; an epoch that is being written is not given up; nothing is overdue after a step.
func TestCoordinatorLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{
			Interval: time.Duration(rapid.IntRange(0, 5).Draw(t, "interval")), Timeout: 7, Final: rapid.Bool().Draw(t, "final"),
			ConcurrentMax: rapid.IntRange(1, 3).Draw(t, "concurrent"), TolerableFailures: rapid.IntRange(-1, 2).Draw(t, "tolerable"),
			Retain: rapid.IntRange(1, 3).Draw(t, "retain"), EpochBlock: rapid.IntRange(1, 4).Draw(t, "block"),
		}
		c, err := NewCoordinator(cfg)
		if err != nil {
			t.Fatal(err)
		}
		b := books{acked: map[ids.Epoch]map[ids.TaskID]bool{}, gone: map[ids.TaskID]bool{}, writing: map[ids.Epoch]bool{},
			written: map[ids.Epoch]bool{}, open: map[uint64]bool{}, kept: map[ids.Epoch]bool{}, purpose: map[ids.Epoch]event.Purpose{}}
		now, request := time.Duration(0), uint64(0)
		b.note(t, c.Step(0, Begin{}))
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(0, 3).Draw(t, "pass"))
			e := b.draw(t, &request)
			if e == nil {
				continue
			}
			b.before(e)
			b.note(t, c.Step(now, e))
			if at, ok := c.NextDeadline(); ok && at <= now {
				t.Fatalf("due at %v, and it is %v", at, now)
			}
		}
		b.note(t, c.Step(now, Ended{}))
		for e := range b.writing {
			b.before(ManifestWritten{e})
			b.note(t, c.Step(now, ManifestWritten{e}))
		}
		if len(b.open) > 0 {
			t.Fatalf("never answered: %v", b.open)
		}
	})
}

// books is what TestCoordinatorLaws remembers.
type books struct {
	attempt  int32
	runs     bool
	ready    bool // RestorePoint was said
	epoch    ids.Epoch
	reserve  ids.Epoch
	reserved ids.Epoch
	acked    map[ids.Epoch]map[ids.TaskID]bool
	gone     map[ids.TaskID]bool
	writing  map[ids.Epoch]bool
	written  map[ids.Epoch]bool
	open     map[uint64]bool
	kept     map[ids.Epoch]bool
	purpose  map[ids.Epoch]event.Purpose
}

func (b *books) draw(t *rapid.T, request *uint64) Event {
	tasks := twoAndOne(b.attempt)
	id := tasks[rapid.IntRange(0, 2).Draw(t, "task")].ID
	if rapid.IntRange(0, 9).Draw(t, "old") == 0 {
		id.Attempt--
	}
	epoch := b.epoch - min(b.epoch, ids.Epoch(rapid.IntRange(0, 2).Draw(t, "back")))
	switch rapid.IntRange(0, 15).Draw(t, "event") {
	case 0:
		return Tick{}
	case 1:
		*request++
		b.open[*request] = true
		return Asked{Request: *request, Purpose: event.Purpose(rapid.IntRange(0, 4).Draw(t, "purpose")), Drain: rapid.Bool().Draw(t, "drain")}
	case 2:
		return Declined{id, epoch}
	case 3:
		return Drained{id}
	case 4:
		return Finished{id}
	case 5:
		if b.runs {
			return Restarting{}
		}
	case 6, 7:
		if b.ready && !b.runs {
			b.attempt++
			return Running{twoAndOne(b.attempt)}
		}
	case 8:
		if b.writing[epoch] {
			return ManifestFailed{Epoch: epoch}
		}
	case 9, 10:
		return ManifestWritten{epoch}
	case 11:
		if b.reserve > b.reserved {
			return Reserved{b.reserve}
		}
	default:
		return Acked{id, epoch}
	}
	return nil
}

// before enters an event before the machine sees it.
func (b *books) before(e Event) {
	switch e := e.(type) {
	case Acked:
		if e.Task.Attempt == b.attempt {
			if b.acked[e.Epoch] == nil {
				b.acked[e.Epoch] = map[ids.TaskID]bool{}
			}
			b.acked[e.Epoch][e.Task] = true
		}
	case Finished:
		b.gone[e.Task] = true
	case Running:
		b.runs, b.ready = true, false
	case Restarting:
		b.runs = false
	case Reserved:
		b.reserved = e.Through
	case ManifestWritten:
		b.written[e.Epoch] = b.written[e.Epoch] || b.writing[e.Epoch]
		delete(b.writing, e.Epoch)
	case ManifestFailed:
		delete(b.writing, e.Epoch)
	}
}

// note enters the commands and checks them.
func (b *books) note(t *rapid.T, commands []Command) {
	for _, cmd := range commands {
		switch cmd := cmd.(type) {
		case ReserveEpochs:
			b.reserve = cmd.Through
		case RestorePoint:
			if len(b.writing) > 0 {
				t.Fatalf("restore while manifests are written: %v", b.writing)
			}
			for kept := range b.kept {
				if kept > cmd.Epoch {
					t.Fatalf("restore of %d, and %d is complete", cmd.Epoch, kept)
				}
			}
			b.ready = true
		case Trigger:
			epoch := ids.Epoch(cmd.Barrier.Epoch)
			if epoch > b.reserved || b.writing[epoch] || b.written[epoch] {
				t.Fatalf("trigger of epoch %d, reserved %d", epoch, b.reserved)
			}
			b.epoch = max(b.epoch, epoch)
			b.purpose[epoch] = cmd.Barrier.Purpose
		case WriteManifest:
			for _, task := range twoAndOne(b.attempt) {
				if !b.gone[task.ID] && !b.acked[cmd.Epoch][task.ID] {
					t.Fatalf("manifest of epoch %d without %v", cmd.Epoch, task.ID)
				}
			}
			b.writing[cmd.Epoch] = true
		case Abort:
			if b.writing[cmd.Epoch] || b.written[cmd.Epoch] {
				t.Fatalf("epoch %d given up after its manifest was written", cmd.Epoch)
			}
		case Completed:
			if !b.written[cmd.Epoch] {
				t.Fatalf("epoch %d complete without a manifest", cmd.Epoch)
			}
			if cmd.Purpose != event.PurposeSavepoint {
				b.kept[cmd.Epoch] = true
			}
		case NotifyComplete:
			if !b.written[cmd.Epoch] || b.purpose[cmd.Epoch] == event.PurposeSavepoint {
				t.Fatalf("sinks hear of epoch %d", cmd.Epoch)
			}
		case Forget:
			if !b.kept[cmd.Epoch] || b.purpose[cmd.Epoch] == event.PurposeStop {
				t.Fatalf("epoch %d forgotten", cmd.Epoch)
			}
			delete(b.kept, cmd.Epoch)
			if len(b.kept) == 0 {
				t.Fatal("nothing is left to restore")
			}
		case Answer:
			if !b.open[cmd.Request] {
				t.Fatalf("request %d answered twice", cmd.Request)
			}
			delete(b.open, cmd.Request)
			if cmd.Reason == ReasonNone && !b.written[cmd.Epoch] {
				t.Fatalf("request %d: epoch %d is not complete", cmd.Request, cmd.Epoch)
			}
		}
	}
	_ = Format(commands)
}

// TestReasons: each reason has a name and a sentence of its own.
func TestReasons(t *testing.T) {
	seen := map[string]bool{}
	for r := range reasonCount {
		for _, s := range []string{r.String(), r.Sentence()} {
			if s == "" || seen[s] {
				t.Errorf("reason %d: %q", r, s)
			}
			seen[s] = true
		}
	}
}
