package model_test

import (
	"testing"

	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/backendtest"
	"github.com/weir-stream/weir/internal/statebackend/model"
)

// The model is compared with itself only so that the suite's own contract tests run on it too.
func TestConformance(t *testing.T) {
	backendtest.Run(t, func(c statebackend.Config) statebackend.Keyed { return model.New(c) })
}
