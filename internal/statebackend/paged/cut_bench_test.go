package paged

import (
	"runtime"
	"testing"
	"time"
	"unsafe"
)

// BenchmarkCut is the synchronous part of a checkpoint at ten million keys, and how long updates at random keys take while
// the cut is read on another goroutine: the curve is the time an update in each slice of 64 ki updates after the cut.
func BenchmarkCut(b *testing.B) {
	const nkeys = 10_000_000
	runtime.LockOSThread() // for threadTime
	defer runtime.UnlockOSThread()
	l := newLoad(nkeys)
	t := fill(nkeys)
	defer t.Close()
	out := make([]unsafe.Pointer, batchRows)
	at := 0
	update := func(n int) time.Duration {
		begin := threadTime()
		for range n / batchRows {
			t.UpsertBatch64(l.hashes[at:at+batchRows], l.keys[at:at+batchRows], out, nil)
			for i := range out {
				a := (*acc)(out[i])
				a.count++
				a.sum += int64(i)
			}
			at = (at + batchRows) % rows
		}
		return threadTime() - begin
	}
	const slice = 1 << 16
	var quiet, busy, worst float64
	var sync time.Duration
	var curve []float64
	for b.Loop() {
		quiet = float64(update(rows)) / rows
		begin := threadTime()
		cut := t.Cut()
		sync = max(sync, threadTime()-begin)
		done := make(chan time.Duration)
		go func() {
			begin, n := time.Now(), 0
			cut.Drain(func(_ uint64, _, v []byte) bool { n += len(v); return true })
			done <- time.Since(begin)
		}()
		var took time.Duration
		curve, busy = curve[:0], 0
		for took == 0 {
			curve = append(curve, float64(update(slice))/slice)
			select {
			case took = <-done:
			default:
			}
		}
		cut.Release()
		for _, c := range curve {
			busy += c / float64(len(curve))
			worst = max(worst, c/quiet)
		}
		b.ReportMetric(float64(took.Milliseconds()), "ms-read")
	}
	b.Logf("ns an update in slices of %d: quiet %.0f, then %.0f", slice, quiet, curve)
	b.ReportMetric(float64(sync.Microseconds()), "us-cut")
	b.ReportMetric(quiet, "ns/quiet")
	b.ReportMetric(busy, "ns/busy")
	b.ReportMetric(worst, "x-worst-slice")
}
