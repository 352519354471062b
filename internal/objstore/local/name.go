package local

import (
	"strings"

	"github.com/weir-stream/weir/internal/objstore"
)

const (
	tempPrefix = ".tmp-"
	hexDigits  = "0123456789ABCDEF"
)

func plain(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("-_.=+@,", b) >= 0
}

// escape returns the file name of a part of an object's name.
func escape(part string) string {
	var b strings.Builder
	for i := range len(part) {
		if c := part[i]; plain(c) && (i > 0 || c != '.') {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	return b.String()
}

// unescape is the inverse of escape. It reports false for a file name that escape does not return.
func unescape(file string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(file); i++ {
		c := file[i]
		if c == '%' {
			if i+2 >= len(file) {
				return "", false
			}
			hi, lo := strings.IndexByte(hexDigits, file[i+1]), strings.IndexByte(hexDigits, file[i+2])
			if hi < 0 || lo < 0 {
				return "", false
			}
			c = byte(hi<<4 | lo)
			i += 2
		}
		b.WriteByte(c)
	}
	part := b.String()
	return part, escape(part) == file && objstore.CheckName(part) == nil && !strings.Contains(part, "/")
}
