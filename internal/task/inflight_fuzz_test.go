package task

import (
	"testing"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/watermark"
)

// FuzzInflight: whatever is found where rows in flight should be, a restore takes it or refuses it.
func FuzzInflight(f *testing.F) {
	codec, err := basic.RecordsCodec[int64]()
	if err != nil {
		f.Fatal(err)
	}
	b := event.NewPool[int64](16).Get()
	b.Append(7, 5)
	b.Hash = append(b.Hash, 9)
	for _, route := range []Route{RouteKeyed, RouteAny} {
		frame, err := rowsFrame(route, 0, codec, b)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(mergerFrame(watermark.NewMerger(2, watermark.None), 2), frame, uint8(3))
	}
	f.Add(mergerFrame(watermark.NewMerger(2, watermark.None), 2), watermarkFrame(1, 5), uint8(1))
	f.Add([]byte{}, []byte{frameWatermark, 0}, uint8(1))
	f.Fuzz(func(t *testing.T, first, second []byte, parallelism uint8) {
		r := newRig(t)
		r.open(2)
		r.build([]int{0, 0}, []Op{{Name: "p", Make: made(&probe{})}}, func(c *Config) {
			c.Restore = func(int) (*OpRestore, error) {
				return &OpRestore{Restored: &operator.Restored{Epoch: 1, Watermark: event.NoTime, Parallelism: max(1, int(parallelism))},
					Inflight: []Inflight{{Batches: [][]byte{first, second}}}}, nil
			}
		})
		s := r.task.Stepper()
		err := s.Open()
		for worked := err == nil; worked && err == nil; {
			worked, err = s.Step()
		}
		_ = s.Close(err)
	})
}
