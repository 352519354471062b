package file

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/format"
)

// finder lists the files that patterns match.
type finder struct {
	fs        connector.FileSystem
	recursive bool
	found     []connector.FileInfo
	seen      map[string]bool
}

func checkPatterns(patterns []string) error {
	for _, p := range patterns {
		if p == "" {
			return errors.New("file: the path is empty")
		}
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Errorf("file: pattern %q: %w", p, err)
		}
	}
	return nil
}

// find returns the files of all patterns, each once. Unless empty is allowed, each pattern must match something.
func find(fsys connector.FileSystem, patterns []string, recursive, allowEmpty bool) ([]connector.FileInfo, error) {
	f := &finder{fs: fsys, recursive: recursive, seen: map[string]bool{}}
	for _, p := range patterns {
		from := len(f.found)
		if err := f.pattern(path.Clean(p)); err != nil {
			return nil, err
		}
		matched := f.found[from:]
		if len(matched) == 0 && !allowEmpty {
			return nil, f.missing(p)
		}
		slices.SortFunc(matched, func(a, b connector.FileInfo) int { return strings.Compare(a.Path, b.Path) })
	}
	out := f.found[:0]
	for _, i := range f.found {
		if !f.seen[i.Path] {
			f.seen[i.Path] = true
			out = append(out, i)
		}
	}
	return out, nil
}

func hasMeta(s string) bool { return strings.ContainsAny(s, `*?[\`) }

// pattern adds what p matches.
func (f *finder) pattern(p string) error {
	base, rest := ".", p
	if strings.HasPrefix(p, "/") {
		base, rest = "/", p[1:]
	}
	segments := strings.Split(rest, "/")
	for len(segments) > 0 && !hasMeta(segments[0]) {
		base, segments = path.Join(base, segments[0]), segments[1:]
	}
	info, err := f.fs.Stat(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("file: %s: %w", base, err)
	}
	if len(segments) > 0 {
		if !info.Dir {
			return nil
		}
		return f.glob(base, segments)
	}
	if !info.Dir {
		info.Path = base
		f.found = append(f.found, info)
		return nil
	}
	return f.dir(base, f.recursive)
}

// dir adds the files of a folder.
func (f *finder) dir(dir string, recursive bool) error {
	infos, err := f.list(dir)
	if err != nil {
		return err
	}
	for _, i := range infos {
		switch {
		case hidden(i.Path):
		case !i.Dir:
			f.found = append(f.found, i)
		case recursive:
			if err := f.dir(i.Path, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// glob adds what the segments match below dir.
func (f *finder) glob(dir string, segments []string) error {
	first, rest := segments[0], segments[1:]
	if first == "**" {
		if len(rest) == 0 {
			return f.dir(dir, true)
		}
		if err := f.glob(dir, rest); err != nil {
			return err
		}
	}
	infos, err := f.list(dir)
	if err != nil {
		return err
	}
	for _, i := range infos {
		name := path.Base(i.Path)
		if hidden(name) && !strings.HasPrefix(first, name[:1]) {
			continue
		}
		if first == "**" {
			if i.Dir {
				err = f.glob(i.Path, segments)
			}
		} else if ok, _ := path.Match(first, name); ok {
			err = f.matched(i, rest)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *finder) matched(i connector.FileInfo, rest []string) error {
	switch {
	case len(rest) > 0 && i.Dir:
		return f.glob(i.Path, rest)
	case len(rest) > 0:
		return nil
	case !i.Dir:
		f.found = append(f.found, i)
	case f.recursive:
		return f.dir(i.Path, true)
	}
	return nil
}

// list describes a folder's content with paths that begin with dir. A folder that has vanished meanwhile is empty.
func (f *finder) list(dir string) ([]connector.FileInfo, error) {
	infos, err := f.fs.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("file: list %s: %w", dir, err)
	}
	out := slices.Clone(infos)
	for i := range out {
		out[i].Path = path.Join(dir, path.Base(out[i].Path))
	}
	return out, nil
}

func hidden(p string) bool {
	name := path.Base(p)
	return name[0] == '.' || name[0] == '_'
}

// missing is the error for a pattern that matches nothing: it names what is there instead.
func (f *finder) missing(pattern string) error {
	clean := path.Clean(pattern)
	if info, err := f.fs.Stat(clean); err == nil && info.Dir {
		hint := ""
		if !f.recursive {
			hint = "; the option Recursive takes the files in folders below it"
		}
		return fmt.Errorf("file: the folder %s holds no file%s", pattern, hint)
	}
	dir, name := path.Dir(clean), path.Base(clean)
	for {
		info, err := f.fs.Stat(dir)
		if err == nil && info.Dir {
			break
		}
		if dir == "." || dir == "/" {
			return fmt.Errorf("file: nothing matches %q", pattern)
		}
		dir, name = path.Dir(dir), path.Base(dir)
	}
	infos, err := f.list(dir)
	if err != nil {
		return err
	}
	var names []string
	for _, i := range infos {
		names = append(names, path.Base(i.Path))
	}
	if len(names) == 0 {
		return fmt.Errorf("file: nothing matches %q; the folder %s is empty", pattern, dir)
	}
	near := format.Nearest(name, names)
	if len(near) > 0 {
		return fmt.Errorf("file: nothing matches %q; in %s there is no %s; did you mean %s?", pattern, dir, name, strings.Join(near, ", "))
	}
	const most = 5
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	return fmt.Errorf("file: nothing matches %q; in %s there is no %s, but %s%s", pattern, dir, name, strings.Join(names, ", "), more)
}
