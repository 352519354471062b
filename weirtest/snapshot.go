package weirtest

import (
	"time"

	"github.com/weir-stream/weir/internal/app"
)

// Snapshot is the state of all operators of a harness at one point, as a checkpoint holds it.
type Snapshot struct{ taken *app.HandSnapshot }

// Snapshot takes the state of all operators between the rows that were pushed and those that will be. The harness goes on, and
// the snapshot stays as it is. A new harness begins with it by the option From:
//
//	before := h.Snapshot()
//	h = weirtest.NewHarness(t, pipe, weirtest.From(before), weirtest.Parallelism(3))
func (d *Driver) Snapshot() *Snapshot {
	d.t.Helper()
	d.settle()
	if d.done {
		d.t.Fatal("weirtest: a snapshot of a job that has ended")
	}
	s, err := d.job.Snapshot()
	d.check(err)
	return &Snapshot{s}
}

// From lets a harness begin with the state of a snapshot, perhaps at another parallelism or with changed operators: as a job
// that is restored from a checkpoint. Inputs begin anew, processing time goes on from the snapshot.
func From(s *Snapshot) Option { return func(o *options) { o.from = s } }

// start returns the processing time that a harness begins at.
func (o *options) start() time.Time {
	if o.from == nil {
		return Start
	}
	return o.from.taken.Now
}
