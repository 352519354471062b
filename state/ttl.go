package state

import (
	"time"
)

// TTL is how long a state keeps something that nobody uses. Descriptors make it by their method TTL.
type TTL struct {
	// After is the age at which something has expired.
	After time.Duration
	// RefreshOnRead, ShowExpired and EventTime say that the option of that name was given.
	RefreshOnRead, ShowExpired, EventTime bool
}

// TTLOption changes how a state's time to live is counted.
type TTLOption uint8

const (
	// RefreshOnRead counts the age from the last time that something was read or written. Without it, reading changes nothing.
	RefreshOnRead TTLOption = iota + 1
	// ShowExpired lets what has expired be read, once, if it was not removed yet. Without it, it is never seen again.
	ShowExpired
	// EventTime measures ages by the watermark of the operator: something expires when the watermark has moved on by the time to
	// live since it was written. So a job that reads old data, or stands still, loses nothing by that. Without it, ages are
	// measured by the clock of the machine.
	EventTime
)

// ttlOf gathers a time to live from the arguments of a method TTL.
func ttlOf(after time.Duration, options []TTLOption) *TTL {
	t := &TTL{After: after}
	for _, o := range options {
		switch o {
		case RefreshOnRead:
			t.RefreshOnRead = true
		case ShowExpired:
			t.ShowExpired = true
		case EventTime:
			t.EventTime = true
		}
	}
	return t
}
