package file

import (
	"bytes"
	"fmt"

	"github.com/weir-stream/weir/connector"
)

// linesCountedMax bounds how much of a file is read to find the number of a line.
const linesCountedMax = 1 << 30

// DescribeSplit implements connector.SplitDescriber.
func (s *source[T]) DescribeSplit(fs connector.FileSystem, c connector.Split) string {
	at, err := parseSplit(c)
	if err != nil {
		return ""
	}
	pos := max(at.Start, at.Pos)
	if compressionOf(at.Path) != plain {
		return fmt.Sprintf("byte %d of the content of %s", pos, at.Path)
	}
	if lines, ok := linesBefore(fs, at.Path, pos); ok {
		return fmt.Sprintf("line %d (byte %d) of %s", lines+1, pos, at.Path)
	}
	return fmt.Sprintf("byte %d of %s", pos, at.Path)
}

// linesBefore counts the line ends in front of an offset.
func linesBefore(fs connector.FileSystem, path string, pos int64) (lines int64, ok bool) {
	if pos > linesCountedMax || fs == nil {
		return 0, false
	}
	f, err := fs.Open(path)
	if err != nil {
		return 0, false
	}
	buf := make([]byte, bufferBytes)
	for at := int64(0); at < pos; {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), pos-at)], at)
		lines += int64(bytes.Count(buf[:n], []byte{'\n'}))
		at += int64(n)
		if err != nil && at < pos || n == 0 {
			_ = f.Close()
			return 0, false
		}
	}
	return lines, f.Close() == nil
}
