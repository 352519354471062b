package restore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend/expiry"
)

// Opened is a keyed state as an operator of the job opens it.
type Opened struct {
	State snapshot.State
	// Values is how values of former schemas are read; nil if the state has no values of the user's.
	Values *codec.Values
}

// Verdict is what becomes of one saved state.
type Verdict string

// The verdicts.
const (
	// Reuse: the bytes are what the operator expects.
	Reuse Verdict = "reuse"
	// Migrate: every value is rewritten as it is loaded.
	Migrate Verdict = "migrate"
	// Keep: no operator opens the state now. It stays in the snapshots of its operator as it is.
	Keep Verdict = "keep"
	// Drop: its operator is gone, and the user has allowed that its state goes too.
	Drop Verdict = "drop"
	// Refuse: the job cannot start from it.
	Refuse Verdict = "refuse"
	// New: the state is opened and not in the snapshot. It starts empty.
	New Verdict = "new"
)

// outcome is a verdict on one state with its reasons.
type outcome struct {
	verdict Verdict
	reasons []string
	rewrite codec.Rewrite
	// Of a value, keep bytes stay as they are, behind them drop are left out and stamp are put in, before what rewrite makes of
	// the rest.
	keep, drop int
	stamp      []byte
}

// moves says whether values are rewritten.
func (o *outcome) moves() bool { return o.rewrite != nil || o.drop > 0 || len(o.stamp) > 0 }

func refused(format string, args ...any) outcome {
	return outcome{verdict: Refuse, reasons: []string{fmt.Sprintf(format, args...)}}
}

const orRename = "or give the new state another name"

// kindWords are the kinds as messages name them.
var kindWords = map[snapshot.Kind]string{
	snapshot.KindValue: "a value", snapshot.KindList: "a list", snapshot.KindMap: "a map",
	snapshot.KindEventTimers: "event-time timers", snapshot.KindProcessingTimer: "processing-time timers",
}

// compare decides on one state.
func compare(saved *snapshot.State, opened *Opened) outcome {
	now := &opened.State
	switch {
	case saved.Kind != now.Kind:
		return refused("it was %s when it was written and is %s now. Keep it %s, %s.", kindWords[saved.Kind], kindWords[now.Kind], kindWords[saved.Kind], orRename)
	case saved.NamespaceWidth != now.NamespaceWidth && (len(saved.Schema) == 0 || len(now.Schema) == 0):
		return refused("its namespaces had %d bytes when it was written and have %d now (-1: they vary). Keep the windows, %s.", saved.NamespaceWidth, now.NamespaceWidth, orRename)
	case bytes.Equal(saved.Schema, now.Schema) && saved.Width == now.Width && saved.NamespaceWidth == now.NamespaceWidth && len(saved.Schema) > 0:
		return outcome{verdict: Reuse}
	case len(saved.Schema) == 0 && len(now.Schema) == 0:
		if saved.Width != now.Width {
			return refused("its values had %d bytes when they were written and have %d now (0: they vary), and no schema tells more.", saved.Width, now.Width)
		}
		return outcome{verdict: Reuse}
	}
	return compareSchemas(saved, opened)
}

func compareSchemas(saved *snapshot.State, opened *Opened) outcome {
	was, err := codec.ParseTable(saved.Schema)
	if err != nil {
		return refused("its schema cannot be read: %v", err)
	}
	is, err := codec.ParseTable(opened.State.Schema)
	if err != nil {
		return refused("the schema that the job gives it cannot be read: %v", err)
	}
	switch {
	case was.Namespace != is.Namespace || saved.NamespaceWidth != opened.State.NamespaceWidth:
		return refused("it was kept by %s when it was written and by %s now. Keep the windows, or give the operator another name or UID.", space(was), space(is))
	case was.Layout != is.Layout || was.Prefix != is.Prefix:
		return refused("the operator laid it out as %q when it was written and does as %q now. Keep the kind of operator, or give it another name or UID.", was.Layout, is.Layout)
	case !was.Entry.Equal(is.Entry):
		return refused("the keys of its entries were %s when it was written and are %s now. Keys cannot change. Keep %s, %s.", was.Entry, is.Entry, was.Entry, orRename)
	case (was.Value == nil) != (is.Value == nil):
		return refused("only one of then and now has values of the program's own. Keep the kind of operator, %s.", orRename)
	case was.Value == nil && was.Expiry == is.Expiry:
		return outcome{verdict: Reuse}
	case was.Value == nil:
		o := outcome{verdict: Reuse}
		o.restamp(was.Expiry, is.Expiry)
		return o
	case opened.Values == nil:
		if !was.Value.Equal(is.Value) || was.Expiry != is.Expiry {
			return refused("value was %s when it was written and is %s now. Keep %s, %s.", was.Value, is.Value, was.Value, orRename)
		}
		return outcome{verdict: Reuse}
	}
	o := convert(was, opened.Values)
	if o.verdict != Refuse {
		o.restamp(was.Expiry, is.Expiry)
	}
	return o
}

// restamp adds what a change of the time to live does. Stamps of one clock mean nothing to another.
func (o *outcome) restamp(was, is string) {
	switch {
	case was == is && is != "":
		o.keep += expiry.StampBytes
		return
	case was == is:
		return
	case is == "":
		o.reasons = append(o.reasons, "it has no time to live any more: nothing expires from now on")
	case was == "":
		o.reasons = append(o.reasons, "it has a time to live in "+is+" now: the age of all that is there counts from the restore")
	default:
		o.reasons = append(o.reasons, "its time to live was in "+was+" and is in "+is+" now: the age of all that is there counts from the restore")
	}
	o.verdict = Migrate
	if was != "" {
		o.drop = expiry.StampBytes
	}
	if is != "" {
		unknown := int64(expiry.Unknown)
		o.stamp = binary.LittleEndian.AppendUint64(nil, uint64(unknown))
	}
}

// convert compares the values of two tables that agree in everything else.
func convert(was *codec.Table, values *codec.Values) outcome {
	c, err := values.From(was.Value)
	if err != nil {
		text := err.Error()
		if e, ok := err.(*errs.Error); ok {
			text = e.Msg
		}
		if !values.Migratable {
			text = strings.ReplaceAll(text, "or register a migration function", "or give the operator another name or UID")
		}
		return outcome{verdict: Refuse, reasons: strings.Split(text, "\n")}
	}
	o := outcome{verdict: Reuse, rewrite: c.Rewrite, keep: was.Prefix}
	if c.Rewrite != nil {
		o.verdict = Migrate
	}
	for _, change := range c.Changes {
		o.reasons = append(o.reasons, change.String())
	}
	if c.Migration != "" {
		o.reasons = append(o.reasons, "by the migration from "+c.Migration)
	}
	return o
}

func space(t *codec.Table) string {
	if t.Namespace == "" {
		return "key alone"
	}
	return "key and " + t.Namespace
}
