package checkpoint

import (
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/ids"
)

// FuzzAligner: whatever comes, in whatever order, blocks and captures stay balanced, and when every channel has ended, no
// channel is blocked.
func FuzzAligner(f *testing.F) {
	f.Add([]byte{0, 1, 1, 0x12, 2, 0x21, 3, 1})
	f.Add([]byte{0, 1, 4, 1, 5, 2, 3, 0, 3, 1, 3, 2})
	f.Fuzz(func(t *testing.T, data []byte) {
		const channels = 3
		for _, mode := range []Mode{ExactlyOnce, AtLeastOnce} {
			a := NewAligner(mode, channels)
			if len(data) > 0 && data[0]&0x40 > 0 {
				a.KeepOrder(1)
			}
			var blocked [channels]bool
			step := func(e AlignerEvent, now time.Duration) {
				for _, cmd := range a.Step(now, e) {
					switch cmd := cmd.(type) {
					case Block:
						if mode == AtLeastOnce || blocked[cmd.Channel] {
							t.Fatalf("block of channel %d", cmd.Channel)
						}
						blocked[cmd.Channel] = true
					case Unblock:
						if !blocked[cmd.Channel] {
							t.Fatalf("unblock of channel %d", cmd.Channel)
						}
						blocked[cmd.Channel] = false
					}
				}
			}
			for i := 0; i+1 < len(data); i += 2 {
				ch, epoch := int(data[i+1]&7)-1, uint64(data[i+1]>>4)
				b := event.Barrier{Epoch: epoch, Unaligned: data[i]&8 > 0}
				at := time.Duration(data[i] >> 5)
				switch data[i] & 7 {
				case 0, 1:
					step(BarrierCame{ch, b, at}, time.Duration(i/4))
				case 2:
					step(BarrierSeen{ch, b, at}, time.Duration(i/4))
				case 3:
					step(ChannelEnded{ch}, time.Duration(i/4))
				case 4:
					step(Triggered{b, at}, time.Duration(i/4))
				case 5:
					step(Aborted{ids.Epoch(epoch)}, time.Duration(i/4))
				default:
					step(Passed{}, time.Duration(i/4))
				}
			}
			for ch := range channels {
				step(ChannelEnded{ch}, time.Hour)
			}
			if blocked != [channels]bool{} || len(a.current) > 0 || len(a.held) > 0 {
				t.Fatalf("at the end of all channels: blocked %v, %d epochs under way, %d held", blocked, len(a.current), len(a.held))
			}
		}
	})
}
