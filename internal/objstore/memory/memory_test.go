package memory_test

import (
	"testing"

	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/objstore/memory"
	"github.com/weir-stream/weir/internal/objstore/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(*testing.T) objstore.Store { return memory.New() })
}

// A wrapper that does nothing must not show.
func TestFaultyConformance(t *testing.T) {
	storetest.Run(t, func(*testing.T) objstore.Store {
		return objstore.NewFaulty(memory.New(), func(objstore.Op) objstore.Fault { return objstore.Fault{} })
	})
}
