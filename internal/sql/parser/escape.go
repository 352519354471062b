package parser

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// escapeLetters are the escapes of E'...' that stand for one character.
var escapeLetters = map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', '\\': '\\', '\'': '\''}

// unescape resolves the escapes of E'...'. An escape that is none stays as it is.
func (l *lexer) unescape(t *token) {
	s := t.text
	var b strings.Builder
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '\'':
			b.WriteByte(c)
			i += 2
			continue
		case c != '\\' || i+1 == len(s):
			b.WriteByte(c)
			i++
			continue
		}
		r, n, ok := escape(s[i+1:])
		if !ok {
			t.kind, t.text = tError, `an escape \u needs four hexadecimal digits, \U eight, and the number of a character`
			return
		}
		b.WriteString(r)
		i += 1 + n
	}
	t.text = b.String()
}

// escape returns what the escape behind a backslash stands for, and its length.
func escape(s string) (string, int, bool) {
	if c, ok := escapeLetters[s[0]]; ok {
		return string(rune(c)), 1, true
	}
	switch c := s[0]; {
	case c == 'u':
		if r, ok := hex(s[1:], 4); ok {
			if utf16.IsSurrogate(r) {
				low, ok := rune(0), false
				if strings.HasPrefix(s[5:], `\u`) {
					low, ok = hex(s[7:], 4)
				}
				r = utf16.DecodeRune(r, low)
				return string(r), 11, ok && r != utf8.RuneError
			}
			return string(r), 5, true
		}
		return "", 0, false
	case c == 'U':
		r, ok := hex(s[1:], 8)
		return string(r), 9, ok && utf8.ValidRune(r)
	case c == 'x':
		for n := 2; n > 0; n-- {
			if r, ok := hex(s[1:], n); ok {
				return string(r), 1 + n, true
			}
		}
	case c >= '0' && c <= '7':
		n := 1
		for n < 3 && n < len(s) && s[n] >= '0' && s[n] <= '7' {
			n++
		}
		v, _ := strconv.ParseInt(s[:n], 8, 32)
		return string(rune(v)), n, true
	}
	return `\`, 0, true
}

// hex reads n hexadecimal digits.
func hex(s string, n int) (rune, bool) {
	if len(s) < n {
		return 0, false
	}
	v, err := strconv.ParseUint(s[:n], 16, 32)
	return rune(v), err == nil && v <= utf8.MaxRune
}

// unicodeEscapes resolves the escapes of U&'...': the escape character and four digits, or twice the escape character.
func unicodeEscapes(s string, esc byte) (string, bool) {
	if strings.IndexByte(s, esc) < 0 {
		return s, true
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != esc {
			b.WriteByte(s[i])
			i++
			continue
		}
		if i+1 < len(s) && s[i+1] == esc {
			b.WriteByte(esc)
			i += 2
			continue
		}
		r, ok := hex(s[i+1:], 4)
		i += 5
		if ok && utf16.IsSurrogate(r) {
			low, isLow := rune(0), false
			if i < len(s) && s[i] == esc {
				low, isLow = hex(s[i+1:], 4)
			}
			r = utf16.DecodeRune(r, low)
			ok = isLow && r != utf8.RuneError
			i += 5
		}
		if !ok {
			return "", false
		}
		b.WriteRune(r)
	}
	return b.String(), true
}
