package generator

import (
	"fmt"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/indexed"
)

// Option changes what a generator gives.
type Option func(*options)

type options struct {
	count   int64
	endless bool
	rate    float64
}

// Count ends the source after n rows. Without it the source is unbounded.
func Count(n int64) Option { return func(o *options) { o.count, o.endless = n, false } }

// RowsPerSecond limits the rows of the whole source, over all its readers.
func RowsPerSecond(n float64) Option { return func(o *options) { o.rate = n } }

// Of gives row(0), row(1), ..., in this order if there is one reader. row must be a pure function of the index: it is
// called by several goroutines, in any order, and again after a restart.
func Of[T any](row func(index int64) T, opts ...Option) connector.Source[T] {
	o := options{endless: true}
	for _, f := range opts {
		f(&o)
	}
	spec := indexed.Spec[T]{Label: "generator", To: o.count, Endless: o.endless, RowsPerSecond: o.rate}
	if !o.endless {
		spec.Label = fmt.Sprintf("generator of %d rows", o.count)
	}
	if row != nil {
		spec.Fill = func(rows []T, from, step int64) {
			for i := range rows {
				rows[i] = row(from)
				from += step
			}
		}
	}
	return indexed.New(spec)
}
