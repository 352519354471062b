package weirtest

import (
	"os"
	"testing"
)

func TestTally(t *testing.T) {
	tr := soaks[os.Getenv("JOB")]
	calm := tr.calm(t)
	sum := map[string]int{}
	for seed := uint64(1); seed <= 60; seed++ {
		s := tr.draw(seed, calm)
		o := disturb(t, s, tr)
		if w := o.against(calm, tr.wrong); w != "" {
			t.Error(seed, w, s)
		}
		for k, n := range o.happened {
			sum[k] += n
		}
		sum[s.backend]++
		for _, f := range s.faults {
			sum[faultNames[f.kind]]++
		}
	}
	t.Log(calm.length, sum)
}
