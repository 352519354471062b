package connector_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/weir-stream/weir/connector"
)

func TestPermanent(t *testing.T) {
	inner := errors.New("a file is in the way")
	err := fmt.Errorf("open: %w", connector.Permanent(inner))
	if !connector.IsPermanent(err) || !errors.Is(err, inner) || err.Error() != "open: a file is in the way" {
		t.Errorf("%v", err)
	}
	if connector.IsPermanent(inner) || connector.IsPermanent(nil) || connector.Permanent(nil) != nil {
		t.Error("what is not marked is")
	}
}
