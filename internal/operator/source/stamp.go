package source

import (
	"time"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
)

// The event times that a row may have: years 1 to 9999. Others are a mistake somewhere (seconds taken for ms, a default
// value), and a watermark made of one would make every other row late.
var (
	timeMin = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	timeMax = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
)

// stamper gives rows their event time.
type stamper[T any] struct {
	at     func(T) time.Time // nil leaves the times that the rows have
	ctx    *operator.Context
	noTime *basic.Emitter[T]
}

func (s *stamper[T]) open(at func(T) time.Time, ctx *operator.Context, out operator.Collector) {
	s.at, s.ctx = at, ctx
	s.noTime = basic.NewEmitter[T](out, NoTimeSide, ctx.BatchRows)
}

// times fills in the event times of the rows, all of which are live, and takes rows without one out of the batch.
func (s *stamper[T]) times(rec *event.Records[T]) (err error) {
	if s.at == nil {
		return nil
	}
	row := 0
	defer func() {
		if p := recover(); p != nil {
			err = operator.RowError(s.ctx, p, nil, rec.Rows[row], event.NoTime)
		}
	}()
	missing := 0
	for i := range rec.Rows {
		row = i
		at := s.at(rec.Rows[i])
		ms := at.UnixMilli()
		if at.IsZero() || ms < timeMin || ms >= timeMax {
			rec.Times[i] = event.NoTime
			missing++
			continue
		}
		rec.Times[i] = ms
	}
	if missing > 0 {
		return s.divert(rec, missing)
	}
	return nil
}

// divert moves the rows without event time to their side output.
func (s *stamper[T]) divert(rec *event.Records[T], missing int) error {
	s.ctx.Counts.NoTime.Store(s.ctx.Counts.NoTime.Load() + int64(missing))
	live := rec.Scratch()
	for i, t := range rec.Times {
		if t != event.NoTime {
			live = append(live, int32(i))
			continue
		}
		if err := s.noTime.Emit(rec.Rows[i], event.NoTime); err != nil {
			return err
		}
	}
	rec.Live = live
	return nil
}
