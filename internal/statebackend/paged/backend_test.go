package paged

import (
	"testing"

	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/backendtest"
)

func TestConformance(t *testing.T) {
	backendtest.Run(t, func(c statebackend.Config) statebackend.Keyed { return NewBackend(c, &Pool{}) })
}

// The same with tables that split and compact early.
func TestConformanceSmallSegments(t *testing.T) {
	backendtest.Run(t, func(c statebackend.Config) statebackend.Keyed {
		b := NewBackend(c, &Pool{})
		b.chunkBytes = 200
		b.onTable = func(t *Table) { small(t) }
		return b
	})
}
