package leak

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) { Main(m) }

// recorder is a test that notes its complaints and runs its cleanups when told.
type recorder struct {
	testing.TB
	cleanup  func()
	complain string
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanup = f }
func (r *recorder) Errorf(format string, args ...any) {
	r.complain = fmt.Sprintf(format, args...)
}

func waitsForEver(release chan struct{}) { <-release }

func TestFindsWhoStays(t *testing.T) {
	before := map[string]bool{}
	for _, g := range goroutines() {
		before[g.id] = true
	}
	release := make(chan struct{})
	go waitsForEver(release)
	left := await(before, 10*time.Millisecond)
	if len(left) != 1 || !strings.Contains(describe(left), "leak.waitsForEver") {
		t.Errorf("found %d: %s", len(left), describe(left))
	}
	close(release)
	if left := await(before, patience); len(left) != 0 {
		t.Errorf("still there after its end: %s", describe(left))
	}
}

func TestCheckForgivesWhatWasThereAndWhatEnds(t *testing.T) {
	old, young := make(chan struct{}), make(chan struct{})
	defer close(old)
	go waitsForEver(old)
	r := &recorder{}
	Check(r)
	go waitsForEver(young)
	close(young)
	r.cleanup()
	if r.complain != "" {
		t.Error(r.complain)
	}
}
