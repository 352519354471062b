package weirtest

import (
	"os"
	"strconv"
	"testing"
)

func TestTally(t *testing.T) {
	tr := soaks[os.Getenv("JOB")]
	calm := tr.calm(t)
	from, _ := strconv.Atoi(os.Getenv("FROM"))
	n, _ := strconv.Atoi(os.Getenv("N"))
	sum := map[string]int{}
	for seed := uint64(from); seed < uint64(from+n); seed++ {
		s := tr.draw(seed, calm)
		o := disturb(t, s, tr)
		if w := o.against(calm, tr.wrong); w != "" {
			t.Error(seed, w, s)
		}
		for k, n := range o.happened {
			sum[k] += n
		}
		sum[s.backend]++
	}
	t.Log(calm.length, sum)
}
