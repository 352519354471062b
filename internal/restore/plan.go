package restore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/snapshot"
)

// Operator is one operator of the job.
type Operator struct {
	// Name identifies its state: what manifests call it.
	Name string
	// Keys is the codec's schema of its keys, empty without keyed state or if it is not known.
	Keys []byte
	// Known says that States and KeyWidth are what the operator opens. Sources and sinks are not asked.
	Known    bool
	KeyWidth int
	States   []Opened
	Blobs    []OpenedBlob
}

// OpenedBlob is a state that an operator keeps as blobs, which begin with the schemas of keys, if there are any, and values.
type OpenedBlob struct {
	Name   string
	Keys   *codec.Schema
	Values *codec.Values
}

// Options are what the user has allowed.
type Options struct {
	// DropUnclaimed drops the state of operators that the job has not.
	DropUnclaimed bool
}

// Line is the verdict on one state, or on what an operator has left besides keyed state.
type Line struct {
	Operator string
	// State is the name of a keyed state, or words for what else there is: "positions of splits", "blobs".
	State   string
	Kind    snapshot.Kind // "" if it is no keyed state
	Verdict Verdict
	// Reasons says why, one reason each.
	Reasons []string
	// Bytes and Entries are what is known of its size: of the operator's whole keyed state, in the line of its first state; 0
	// in those that follow.
	Entries, Bytes int64
}

// Plan says what becomes of everything in a snapshot.
type Plan struct {
	Purpose snapshot.Purpose
	Epoch   uint64
	// Changed says that the program is not the one that took the snapshot.
	Changed bool
	// Lines are in the order of the snapshot, states that are new at the end of their operators.
	Lines []Line
}

// Make decides on every state of a manifest. plan is the fingerprint of the job's plan.
func Make(m *snapshot.Manifest, plan string, job []Operator, opt Options) *Plan {
	p := &Plan{Purpose: m.Purpose, Epoch: uint64(m.Epoch), Changed: m.Plan != plan}
	byName := make(map[string]*Operator, len(job))
	for i := range job {
		byName[job[i].Name] = &job[i]
	}
	for i := range m.Operators {
		saved := &m.Operators[i]
		if now := byName[saved.Name]; now != nil {
			p.claimed(m, saved, now)
		} else {
			p.unclaimed(m, saved, opt)
		}
		delete(byName, saved.Name)
	}
	for i := range job { // in the job's order
		if now := &job[i]; byName[now.Name] == now {
			p.fresh(now, func(string) bool { return false })
		}
	}
	return p
}

func (p *Plan) add(l Line) { p.Lines = append(p.Lines, l) }

// claimed decides on an operator that the job has, too.
func (p *Plan) claimed(m *snapshot.Manifest, saved *snapshot.Operator, now *Operator) {
	entries, bytes := figures(m, saved.Name)
	keys := keysRefused(saved, now)
	for i := range saved.States {
		s := &saved.States[i]
		l := Line{Operator: saved.Name, State: s.Name, Kind: s.Kind, Entries: entries, Bytes: bytes}
		entries, bytes = 0, 0
		at := slices.IndexFunc(now.States, func(o Opened) bool { return o.State.Name == s.Name })
		switch {
		case keys != "":
			l.Verdict, l.Reasons = Refuse, []string{keys}
		case !now.Known:
			l.Verdict = Reuse
		case at < 0:
			l.Verdict, l.Reasons = unopened(s, now)
		default:
			o := compare(s, &now.States[at])
			l.Verdict, l.Reasons = o.verdict, o.reasons
		}
		p.add(l)
	}
	if now.Known {
		p.blobs(saved, now)
	}
	if what, n := besides(saved, func(b *snapshot.Blob) bool { return !now.Known || !described(b.Name) }); what != "" {
		p.add(Line{Operator: saved.Name, State: what, Verdict: Reuse, Bytes: n})
	}
	p.fresh(now, func(name string) bool {
		return slices.ContainsFunc(saved.States, func(s snapshot.State) bool { return s.Name == name })
	})
}

const notOpened = "no function opens it in Open"

// unopened decides on a state that the operator does not open now. A function's may come back with it; what an operator of the
// engine has left to one that does not know it would be lost in silence.
func unopened(s *snapshot.State, now *Operator) (Verdict, []string) {
	switch {
	case strings.HasPrefix(s.Name, "windows/"):
		return Refuse, []string{"the operator keeps its windows in another form now: their kind has changed, or they have got or lost a trigger or an evictor, or the accumulator had a fixed size and has none now, or the reverse. Take that back, or give the operator another name or UID."}
	case ofFunction(s.Name) || !slices.ContainsFunc(now.States, ofEngine):
		return Keep, []string{notOpened}
	}
	return Refuse, []string{"another kind of operator wrote it. Take the kind back, or give the operator another name or UID."}
}

// ofFunction says whether a state of a window operator belongs to the function that it calls.
func ofFunction(name string) bool {
	return strings.HasPrefix(name, "key/") || strings.HasPrefix(name, "window/")
}

// ofEngine says whether a state is one that an operator of the engine opens for itself. Timers say nothing: functions have them.
func ofEngine(o Opened) bool {
	timers := o.State.Kind == snapshot.KindEventTimers || o.State.Kind == snapshot.KindProcessingTimer
	return !timers && (o.Values == nil || !o.Values.Migratable)
}

// fresh adds the states of an operator that the snapshot has not. Timers are not named: every operator has them.
func (p *Plan) fresh(now *Operator, saved func(name string) bool) {
	for i := range now.States {
		s := &now.States[i].State
		if !saved(s.Name) && s.Kind != snapshot.KindEventTimers && s.Kind != snapshot.KindProcessingTimer {
			p.add(Line{Operator: now.Name, State: s.Name, Kind: s.Kind, Verdict: New, Reasons: []string{"not in the snapshot: it starts empty"}})
		}
	}
}

// Keys is the encoding of an operator's keys. Schema may be empty if it is not known, Width is 0 if keys vary in size.
type Keys struct {
	Schema []byte
	Width  int
}

// Refuse says why state that was kept by the keys was cannot be found by the keys k, or "".
func (k Keys) Refuse(was Keys) string {
	if len(was.Schema) == 0 || len(k.Schema) == 0 {
		if k.Width != was.Width {
			return fmt.Sprintf("its keys had %d bytes when it was written and have %d now (0: they vary). Key the stream as before, or give the operator another name or UID.", was.Width, k.Width)
		}
		return ""
	}
	old, _, err := codec.ParseSchema(was.Schema)
	if err != nil {
		return fmt.Sprintf("the schema of its keys cannot be read: %v", err)
	}
	now, _, err := codec.ParseSchema(k.Schema)
	if err != nil {
		return fmt.Sprintf("the schema that the job gives its keys cannot be read: %v", err)
	}
	if !old.Equal(now) {
		return fmt.Sprintf("its keys were %s when it was written and are %s now. Keys cannot change. Key the stream by %s, or give the operator another name or UID.", old, now, old)
	}
	return ""
}

// keysRefused says why the keys of an operator's state cannot be found again, or "".
func keysRefused(saved *snapshot.Operator, now *Operator) string {
	if len(saved.States) == 0 {
		return ""
	}
	was := Keys{saved.KeySchema, saved.KeyWidth}
	if len(was.Schema) == 0 && len(now.States) == 0 { // nothing of the operator needs to be found, or it is not known what
		return ""
	}
	return Keys{now.Keys, now.KeyWidth}.Refuse(was)
}

const unclaimed = "the job has no operator of that name or UID"

// unclaimed decides on an operator that the job has not.
func (p *Plan) unclaimed(m *snapshot.Manifest, saved *snapshot.Operator, opt Options) {
	l := Line{Operator: saved.Name, Verdict: Refuse, Reasons: []string{unclaimed}}
	if opt.DropUnclaimed {
		l.Verdict = Drop
	}
	entries, bytes := figures(m, saved.Name)
	for i := range saved.States {
		l.State, l.Kind, l.Entries, l.Bytes = saved.States[i].Name, saved.States[i].Kind, entries, bytes
		entries, bytes = 0, 0
		p.add(l)
	}
	if what, n := besides(saved, func(*snapshot.Blob) bool { return true }); what != "" {
		l.State, l.Kind, l.Entries, l.Bytes = what, "", 0, n
		p.add(l)
	}
}

// figures adds up the objects with keyed state of an operator.
func figures(m *snapshot.Manifest, operator string) (entries, bytes int64) {
	for i := range m.Objects {
		if o := &m.Objects[i]; o.Operator == operator && (o.Kind == snapshot.ObjectEntries || o.Kind == snapshot.ObjectDelta) {
			entries, bytes = entries+o.Entries, bytes+o.RawBytes
		}
	}
	return entries, bytes
}

// besides says what an operator has left that is no keyed state, and its size. The watermarks alone are nothing that is missed.
func besides(o *snapshot.Operator, counts func(b *snapshot.Blob) bool) (what string, bytes int64) {
	var parts []string
	if n := len(o.Positions); n > 0 {
		parts = append(parts, fmt.Sprintf("%d splits", n))
		for i := range o.Positions {
			bytes += int64(len(o.Positions[i].Data))
		}
	}
	names := map[string]bool{}
	for i := range o.Blobs {
		b := &o.Blobs[i]
		if b.Name == watermarkBlob || !counts(b) {
			continue
		}
		if !names[b.Name] {
			names[b.Name] = true
			parts = append(parts, strings.TrimPrefix(b.Name, "weir."))
		}
		bytes += int64(len(b.Data)) + b.Length
	}
	return strings.Join(parts, ", "), bytes
}

// watermarkBlob is what tasks keep of an operator's watermark.
const watermarkBlob = "weir.watermark-out"

// Refused returns an error that lists everything that is refused, or nil.
func (p *Plan) Refused() error {
	var lines []string
	gone := p.gone(Refuse)
	for i := 0; i < len(p.Lines); {
		l := &p.Lines[i]
		n := 1
		if l.Verdict == Refuse && !l.unclaimed() {
			for n < len(p.Lines)-i && p.Lines[i+n].Operator == l.Operator && p.Lines[i+n].Verdict == Refuse && slices.Equal(p.Lines[i+n].Reasons, l.Reasons) {
				n++
			}
			for _, r := range l.Reasons {
				lines = append(lines, fmt.Sprintf("%s of operator %q: %s", what(p.Lines[i:i+n]), l.Operator, r))
			}
		}
		i += n
	}
	if len(gone) > 0 {
		lines = append(lines, fmt.Sprintf("The job has no %s. Name the operators as they were, or give them the UIDs that the state is kept under; or pass --allow-non-restored-state, and it is dropped.",
			strings.Join(gone, ", ")))
	}
	if lines == nil {
		return nil
	}
	return errs.New(errs.CodeSchema, errs.ClassUser, "restore", "%s %d cannot be restored by this program; nothing has been started or changed:\n- %s",
		p.Purpose, p.Epoch, strings.Join(lines, "\n- "))
}

func (l *Line) unclaimed() bool { return len(l.Reasons) == 1 && l.Reasons[0] == unclaimed }

// what names the states of lines of one operator.
func what(lines []Line) string {
	var names []string
	for i := range lines {
		if lines[i].Kind == "" {
			names = append(names, lines[i].State)
		} else {
			names = append(names, fmt.Sprintf("state %q", lines[i].State))
		}
	}
	return strings.Join(names, ", ")
}

// gone lists the operators that the job has not, with what they have left, if that has the verdict.
func (p *Plan) gone(v Verdict) (out []string) {
	for i := 0; i < len(p.Lines); {
		l := &p.Lines[i]
		n := 1
		for n < len(p.Lines)-i && p.Lines[i+n].Operator == l.Operator {
			n++
		}
		if l.Verdict == v && l.unclaimed() {
			out = append(out, fmt.Sprintf("operator %q (%s)", l.Operator, what(p.Lines[i:i+n])))
		}
		i += n
	}
	return out
}

// Dropped lists what is dropped, for the user to be told.
func (p *Plan) Dropped() []string { return p.gone(Drop) }
