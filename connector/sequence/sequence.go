package sequence

import (
	"fmt"
	"math"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/indexed"
)

// Of gives from, from+1, ... up to and including to, in this order if there is one reader. The largest int64 of all is left
// out.
func Of(from, to int64) connector.Source[int64] {
	label := fmt.Sprintf("sequence %d to %d", from, to)
	// The bound of an index is exclusive, so the largest number cannot be one.
	if to == math.MaxInt64 {
		to--
	}
	return indexed.New(indexed.Spec[int64]{Label: label, From: from, To: max(to+1, from), Fill: fill})
}

func fill(rows []int64, from, _ int64) {
	for i := range rows {
		rows[i] = from + int64(i)
	}
}
