package conffile_test

import (
	"strings"
	"testing"

	"github.com/weir-stream/weir/internal/conffile"
)

// Nesting as deep as the bounds allow must neither exhaust the stack, which would end the process, nor take long.
func TestReadDeepNesting(t *testing.T) {
	for _, yaml := range []string{strings.Repeat("[", 64<<10), strings.Repeat("{a: ", 16<<10), strings.Repeat("- ", 32<<10), strings.Repeat("? ", 32<<10),
		strings.Repeat("[", 64), strings.Repeat("- ", 1<<10), strings.Repeat("? ", 1<<10), strings.Repeat("[\n", 32<<10)} {
		if err := conffile.Read(registry().New(), "weir.yaml", []byte(yaml)); err == nil {
			t.Errorf("%.8q...: read without complaint", yaml)
		}
	}
}
