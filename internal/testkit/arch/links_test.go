package arch

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestLinksBetweenPages(t *testing.T) {
	found, err := checkLinks(mustLoad(t).module.root)
	if err != nil {
		t.Fatal(err)
	}
	report(t, found)
}

func TestLinkRules(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"README.md":             "[good](docs/design/a.md#part), [folder](docs), [out](https://example.com/x), [here](#top), [bad](gone.md)",
		"docs/design/README.md": "[a](a.md), [up](../../README.md)",
		"docs/design/a.md":      "a call `f[T](\"x\")`, and\n```\n[no](link.md)\n```\n",
		"docs/design/b.md":      "forgotten",
		".hidden/x.md":          "[bad](gone.md)",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := checkLinks(root)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	want := []string{
		"README.md: the link to gone.md leads nowhere",
		"docs/design/b.md: docs/design/README.md does not list it: add a line",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
