package weirtest_test

import (
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Users have only the public packages: so must the tests of this package that stand for them.
func TestTheseTestsImportPublicPackagesOnly(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		if file.Name.Name != "weirtest_test" {
			continue
		}
		looked++
		for _, i := range file.Imports {
			if path, _ := strconv.Unquote(i.Path.Value); strings.Contains(path, "/internal/") {
				t.Errorf("%s imports %s", f.Name(), path)
			}
		}
	}
	if looked < 5 {
		t.Errorf("looked at %d files", looked)
	}
}
