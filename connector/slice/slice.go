package slice

import (
	"fmt"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/indexed"
)

// Of gives the rows, in their order if there is one reader. The slice must not be changed afterwards.
func Of[T any](rows ...T) connector.Source[T] {
	return indexed.New(indexed.Spec[T]{
		Label: fmt.Sprintf("slice of %d rows", len(rows)),
		To:    int64(len(rows)),
		Fill:  func(dst []T, from, _ int64) { copy(dst, rows[from:]) },
	})
}
