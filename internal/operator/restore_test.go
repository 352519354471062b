package operator_test

import (
	"fmt"
	"testing"

	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/snapshot"
)

// At the parallelism of then each subtask has its own list state, because others may go on without being restored; at another one
// it is dealt out evenly, in order.
func TestEven(t *testing.T) {
	r := &operator.Restored{Parallelism: 3}
	for i, subtask := range []int{0, 0, 0, 2} { // subtask 1 had nothing
		r.Blobs = append(r.Blobs, snapshot.Blob{Name: "l", Subtask: subtask, Data: []byte{'a' + byte(i)}}, snapshot.Blob{Name: "other", Subtask: subtask})
	}
	for _, c := range []struct {
		parallelism int
		want        []string
	}{
		{3, []string{"[a b c]", "[]", "[d]"}},
		{2, []string{"[a b]", "[c d]"}},
		{1, []string{"[a b c d]"}},
	} {
		for i, want := range c.want {
			if got := fmt.Sprintf("%s", r.Even("l", i, c.parallelism)); got != want {
				t.Errorf("subtask %d of %d has %s, want %s", i, c.parallelism, got, want)
			}
		}
	}
	if got := (*operator.Restored)(nil).Even("l", 0, 1); len(got) != 0 {
		t.Errorf("without a checkpoint there is %v", got)
	}
}
