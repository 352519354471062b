package parser

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weir-stream/weir/internal/sql/ast"
)

// lexer cuts a text into tokens.
type lexer struct {
	src string
	off int
	// line counts from 1; lineStart is the offset where it begins, wide the bytes in it that are no character's first.
	line, lineStart, wide int
}

// pos returns the place of the next byte.
func (l *lexer) pos() ast.Pos {
	return ast.Pos{Offset: int32(l.off), Line: int32(l.line), Column: int32(l.off - l.lineStart - l.wide + 1)}
}

// advance moves to an offset and keeps count of lines and characters.
func (l *lexer) advance(to int) {
	for ; l.off < to; l.off++ {
		switch c := l.src[l.off]; {
		case c == '\n':
			l.line++
			l.lineStart, l.wide = l.off+1, 0
		case c >= 0x80 && !utf8.RuneStart(c):
			l.wide++
		}
	}
}

// statement appends the tokens of the next statement to toks, without its semicolon but with a tEOF behind them, and
// reports whether there was any. Within the block of a statement set only the semicolon behind END ends it.
func (l *lexer) statement(toks []token) ([]token, bool) {
	block := -1
	for {
		t := l.next()
		if t.kind == tEOF {
			return append(toks, t), len(toks) > 0
		}
		if t.kw == ";" {
			switch {
			case len(toks) == 0:
				continue
			case block >= 0 && (len(toks) != block+1 || toks[block].kw != "END"):
				block = len(toks) + 1
			default:
				t.kind, t.kw = tEOF, ""
				return append(toks, t), true
			}
		}
		toks = append(toks, t)
		if n := len(toks); t.kw == "BEGIN" && n >= 3 && toks[n-2].kw == "SET" && toks[n-3].kw == "STATEMENT" {
			block = n
		}
	}
}

// next returns the next token.
func (l *lexer) next() token {
	if bad, ok := l.blanks(); !ok {
		return bad
	}
	t := token{pos: l.pos()}
	if l.off >= len(l.src) {
		t.end = int32(l.off)
		return t
	}
	switch c := l.src[l.off]; {
	case letter(c) || c >= 0x80:
		l.wordOrPrefix(&t)
	case digit(c) || c == '.' && l.off+1 < len(l.src) && digit(l.src[l.off+1]):
		l.number(&t)
	case c == '\'':
		l.quoted(&t, tString, false)
	case c == '`':
		l.backticks(&t)
	default:
		l.operator(&t)
	}
	t.end = int32(l.off)
	return t
}

// blanks skips white space and comments; if a comment does not end it returns the token that says so.
func (l *lexer) blanks() (token, bool) {
	for l.off < len(l.src) {
		rest := l.src[l.off:]
		switch c := rest[0]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\n':
			l.advance(l.off + 1)
		case strings.HasPrefix(rest, "--") || strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			l.advance(l.off + end)
		case strings.HasPrefix(rest, "/*") && !strings.HasPrefix(rest, "/*+"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				t := token{kind: tError, text: "this comment has no */ at its end", pos: l.pos()}
				l.advance(len(l.src))
				t.end = int32(l.off)
				return t, false
			}
			l.advance(l.off + end + 4)
		default:
			return token{}, true
		}
	}
	return token{}, true
}

// letter reports whether an ASCII character begins a name.
func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$'
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// wordEnd returns the offset behind the name that begins at off.
func (l *lexer) wordEnd(off int) int {
	for off < len(l.src) {
		c := l.src[off]
		if c < 0x80 {
			if !letter(c) && !digit(c) {
				break
			}
			off++
			continue
		}
		r, n := utf8.DecodeRuneInString(l.src[off:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) {
			break
		}
		off += n
	}
	return off
}

// wordOrPrefix reads a name, a keyword, or a string with letters before it.
func (l *lexer) wordOrPrefix(t *token) {
	end := l.wordEnd(l.off)
	if end == l.off {
		l.unknown(t)
		return
	}
	text := l.src[l.off:end]
	if end < len(l.src) && (l.src[end] == '\'' || l.src[end] == '&' || text[0] == '_') && l.prefixed(t, text, end) {
		return
	}
	t.kind, t.text = tWord, text
	w := lookup(text)
	t.kw, t.reserved, t.infix = w.kw, w.reserved, w.infix
	l.advance(end)
}

// prefixed reads X'..', N'..', E'..', U&'..' and _charset'..', whose first word ends at end; it reports whether there is
// one.
func (l *lexer) prefixed(t *token, text string, end int) bool {
	quote := l.src[end] == '\''
	switch {
	case quote && (text == "x" || text == "X"):
		l.advance(end)
		l.quoted(t, tBinary, false)
	case quote && (text == "n" || text == "N"):
		l.advance(end)
		l.quoted(t, tString, false)
		t.kw = "_ISO-8859-1"
	case quote && (text == "e" || text == "E"):
		l.advance(end)
		l.quoted(t, tString, true)
	case (text == "u" || text == "U") && strings.HasPrefix(l.src[end:], "&'"):
		l.advance(end + 1)
		l.quoted(t, tUnicode, false)
	case text[0] == '_':
		for end < len(l.src) && (letter(l.src[end]) || digit(l.src[end]) || strings.IndexByte(".-:", l.src[end]) >= 0) {
			end++
		}
		if end == l.off+1 || end >= len(l.src) || l.src[end] != '\'' {
			return false
		}
		kw := l.src[l.off:end]
		l.advance(end)
		l.quoted(t, tString, false)
		if t.kind == tString {
			t.kw = kw
		}
	default:
		return false
	}
	return true
}

// number reads a number: digits, a fraction, an exponent if digits follow its e.
func (l *lexer) number(t *token) {
	i := l.off
	for i < len(l.src) && digit(l.src[i]) {
		i++
	}
	if i < len(l.src) && l.src[i] == '.' {
		for i++; i < len(l.src) && digit(l.src[i]); i++ {
		}
	}
	if j := i; j < len(l.src) && (l.src[j] == 'e' || l.src[j] == 'E') {
		j++
		if j < len(l.src) && (l.src[j] == '+' || l.src[j] == '-') {
			j++
		}
		if j < len(l.src) && digit(l.src[j]) {
			for i = j; i < len(l.src) && digit(l.src[i]); i++ {
			}
		}
	}
	t.kind, t.text = tNumber, l.src[l.off:i]
	l.advance(i)
}

// quoted reads what stands between the quote at the offset and the next single one. With escapes a backslash hides it.
func (l *lexer) quoted(t *token, k kind, escapes bool) {
	start := l.off + 1
	doubled, backslash := false, false
	for i := start; i < len(l.src); i++ {
		switch c := l.src[i]; {
		case c == '\\' && escapes:
			backslash = true
			i++
		case c != '\'':
		case i+1 < len(l.src) && l.src[i+1] == '\'':
			doubled = true
			i++
		default:
			t.kind, t.text = k, l.src[start:i]
			l.advance(i + 1)
			if !utf8.ValidString(t.text) {
				t.kind, t.text = tError, "this string is not valid UTF-8"
				return
			}
			if backslash {
				l.unescape(t)
			} else if doubled {
				t.text = strings.ReplaceAll(t.text, "''", "'")
			}
			return
		}
	}
	t.kind, t.text = tError, "this string has no quote at its end"
	l.advance(len(l.src))
}

// backticks reads a name in backticks.
func (l *lexer) backticks(t *token) {
	start := l.off + 1
	doubled := false
	for i := start; i < len(l.src) && l.src[i] != '\n' && l.src[i] != '\r'; i++ {
		if l.src[i] != '`' {
			continue
		}
		if i+1 < len(l.src) && l.src[i+1] == '`' {
			doubled = true
			i++
			continue
		}
		t.kind, t.text = tQuoted, l.src[start:i]
		l.advance(i + 1)
		switch {
		case t.text == "":
			t.kind, t.text = tError, "a name in backticks needs at least one character"
		case !utf8.ValidString(t.text):
			t.kind, t.text = tError, "this name is not valid UTF-8"
		case doubled:
			t.text = strings.ReplaceAll(t.text, "``", "`")
		}
		return
	}
	t.kind, t.text = tError, "this name has no backtick at its end; a name does not go beyond its line"
	end := strings.IndexByte(l.src[l.off:], '\n')
	if end < 0 {
		end = len(l.src) - l.off
	}
	l.advance(l.off + end)
}

// operators are those of more than one character, then those of one.
var operators = [...]string{
	"/*+", "<>", "<=", ">=", "=>", "||", "!=", "*/",
	"(", ")", "[", "]", "{", "}", ",", ";", ".", "*", "+", "-", "/", "%", "=", "<", ">", "?", "|", "^", ":",
}

var infixOps = map[string]infix{
	"=": infixEq, "<>": infixNotEq, "<": infixLess, "<=": infixLessEq, ">": infixGreater, ">=": infixGreaterEq,
	"+": infixAdd, "-": infixSub, "*": infixMul, "/": infixDiv, "%": infixMod, "||": infixConcat,
}

// operatorsByByte are the operators by their first character, with what they do.
var operatorsByByte = func() (table [128][]token) {
	for _, op := range operators {
		table[op[0]] = append(table[op[0]], token{kind: tOp, kw: op, text: op, infix: infixOps[op]})
	}
	return table
}()

// operator reads an operator.
func (l *lexer) operator(t *token) {
	for _, op := range operatorsByByte[l.src[l.off]] {
		if strings.HasPrefix(l.src[l.off:], op.kw) {
			t.kind, t.kw, t.text, t.infix = tOp, op.kw, op.text, op.infix
			l.off += len(op.kw)
			return
		}
	}
	l.unknown(t)
}

// unknown reads one character that no token begins with.
func (l *lexer) unknown(t *token) {
	r, n := utf8.DecodeRuneInString(l.src[l.off:])
	t.kind = tError
	switch {
	case r == utf8.RuneError && n <= 1:
		t.text = "this byte is not valid UTF-8"
	case r == '"':
		t.text = "a double quote begins nothing; names stand in backticks, strings in single quotes"
	case r == '!' || r == '&' || r == '~' || r == '@' || r == '#' || r == '\\':
		t.text = "there is no operator " + string(r)
	default:
		t.text = "this character begins nothing"
	}
	l.advance(l.off + n)
}
