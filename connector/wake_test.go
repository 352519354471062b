package connector_test

import (
	"context"
	"errors"
	"testing"

	"github.com/weir-stream/weir/connector"
)

func TestWake(t *testing.T) {
	w := connector.NewWake()
	w.Up()
	w.Up() // does not block, and is the same token
	if err := w.Wait(t.Context()); err != nil {
		t.Fatal("an Up before Wait is lost:", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("without a token Wait returned %v", err)
	}
	go w.Up()
	if err := w.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}
