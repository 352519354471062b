package task

import (
	"github.com/weir-stream/weir/internal/watermark"
)

// advance acts on what the merger of the channels' watermarks wants to be sent.
func (t *Task) advance(c watermark.Change) error {
	head := t.links[0]
	if c.BecameActive {
		if err := head.idle(false); err != nil {
			return err
		}
	}
	if c.Advanced {
		t.dirty = true
		if err := head.watermark(c.Watermark); err != nil {
			return err
		}
	}
	if c.BecameIdle {
		return head.idle(true)
	}
	return nil
}
