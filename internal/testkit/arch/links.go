package arch

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	link  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fence = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	// absolute is a link that leads out of the repository.
	absolute = regexp.MustCompile(`^[a-z][a-z+.-]*:`)
)

// checkLinks finds links between the pages below root that lead nowhere, and pages of docs/design that its index leaves out.
func checkLinks(root string) (found []string, err error) {
	pages, err := readPages(root)
	if err != nil {
		return nil, err
	}
	const index = "docs/design/README.md"
	listed := map[string]bool{index: true}
	for name, text := range pages {
		for _, to := range links(text) {
			target := path.Join(path.Dir(name), to)
			if name == index {
				listed[target] = true
			}
			if !exists(filepath.Join(root, filepath.FromSlash(target))) {
				found = append(found, fmt.Sprintf("%s: the link to %s leads nowhere", name, to))
			}
		}
	}
	for name := range pages {
		if path.Dir(name) == path.Dir(index) && !listed[name] {
			found = append(found, fmt.Sprintf("%s: %s does not list it: add a line", name, index))
		}
	}
	return found, nil
}

// readPages reads all Markdown below root, by its name relative to root. Hidden folders are left out.
func readPages(root string) (map[string]string, error) {
	pages := map[string]string{}
	return pages, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".md":
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		pages[filepath.ToSlash(rel)] = string(text)
		return err
	})
}

// links returns the targets of the links in a page that stay within the repository, without their anchors. What stands in
// code is no link.
func links(text string) (out []string) {
	for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, "code"), -1) {
		to, _, _ := strings.Cut(m[1], "#")
		if to != "" && !absolute.MatchString(to) {
			out = append(out, to)
		}
	}
	return out
}
