package parser

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/sql/ast"
)

// CodeSyntax is the code of errors of this package.
const CodeSyntax errs.Code = "sql.syntax"

// Error says why a text is no statement.
type Error struct {
	// Pos is where what was found begins.
	ast.Pos
	// Found is what stands there, as it is shown.
	Found string
	// Expected lists what could have stood there instead; it is empty where Reason says it all.
	Expected []string
	// Reason is a sentence without its first capital, instead of Found and Expected.
	Reason string
	// Suggestion is the keyword that was meant, "" if none is near; Instead is what was written for it, which is either
	// what was found or the word before it, taken as a name.
	Suggestion, Instead string
	// Text is the line of the error, Caret a line with carets below the place.
	Text, Caret string
}

// Message returns the error in one line, without its place.
func (e *Error) Message() string {
	msg := e.Reason
	if msg == "" {
		msg = "found " + e.Found
		if len(e.Expected) > 0 {
			msg += ", expected " + listed(e.Expected)
		}
	}
	if e.Suggestion != "" {
		msg += "; did you mean " + e.Suggestion + " instead of " + e.Instead + "?"
	}
	return msg
}

// Error returns place and message, and below them the line with carets.
func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s\n  %s\n  %s", e.Pos, e.Message(), e.Text, e.Caret)
}

// Unwrap gives the error its class, user, and its code.
func (e *Error) Unwrap() error {
	return errs.New(CodeSyntax, errs.ClassUser, e.Pos.String(), "%s", e.Message())
}

// expectedMax is how many of the things that were expected are listed.
const expectedMax = 8

// listed joins alternatives.
func listed(items []string) string {
	if len(items) > expectedMax {
		return strings.Join(items[:expectedMax], ", ") + " or others"
	}
	if len(items) == 1 {
		return items[0]
	}
	return strings.Join(items[:len(items)-1], ", ") + " or " + items[len(items)-1]
}

// lineMax is how much of a line is shown.
const lineMax = 160

// show sets the line and the carets below the bytes from the error's place to end.
func (e *Error) show(src string, end int) {
	off := int(e.Offset)
	start := strings.LastIndexByte(src[:off], '\n') + 1
	stop := len(src)
	if i := strings.IndexByte(src[off:], '\n'); i >= 0 {
		stop = off + i
	}
	before, after := src[start:off], strings.TrimRight(src[off:stop], "\r \t")
	if len(before) > lineMax/2 {
		cut := len(before) - lineMax/2
		for cut < len(before) && !utf8.RuneStart(before[cut]) {
			cut++
		}
		before = "..." + before[cut:]
	}
	if len(after) > lineMax/2 {
		cut := lineMax / 2
		for cut > 0 && !utf8.RuneStart(after[cut]) {
			cut--
		}
		after = after[:cut] + "..."
	}
	e.Text = strings.ToValidUTF8(before+after, "?")
	var caret strings.Builder
	for _, r := range before {
		if r == '\t' {
			caret.WriteByte('\t')
		} else {
			caret.WriteByte(' ')
		}
	}
	width := utf8.RuneCountInString(after[:min(max(end-off, 0), len(after))])
	caret.WriteString(strings.Repeat("^", max(width, 1)))
	e.Caret = caret.String()
}

// fail records the first error, at the token i, and moves to the end of the statement.
func (p *parser) fail(i int, e *Error) {
	if p.err == nil {
		t := &p.toks[i]
		e.Pos = t.pos
		e.show(p.src, int(t.end))
		p.err = e
	}
	p.i = len(p.toks) - 1
}

// refuse fails at the token i with a reason.
func (p *parser) refuse(i int, format string, args ...any) {
	p.fail(i, &Error{Found: found(&p.toks[i]), Reason: fmt.Sprintf(format, args...)})
}

// unexpected fails at the current token with what was tried there.
func (p *parser) unexpected() {
	if p.err != nil {
		return
	}
	t := &p.toks[p.i]
	if t.kind == tError {
		p.refuse(p.i, "%s", t.text)
		return
	}
	if t.kw == "!=" {
		p.refuse(p.i, "there is no operator !=; write <>")
		return
	}
	e := &Error{Found: found(t)}
	seen := map[string]bool{}
	var keywords []string
	if p.triedAt == p.i {
		for _, w := range p.tried {
			if !seen[w] {
				seen[w] = true
				e.Expected = append(e.Expected, shown(w))
				keywords = append(keywords, strings.Fields(w)[0])
			}
		}
	}
	e.Suggestion, e.Instead = p.suggestion(keywords)
	if p.i > 0 && p.toks[p.i-1].kw == "," && !nameToken(t) {
		e.Found += " behind a comma"
	}
	if t.kind == tWord && t.reserved && seen[aName] && e.Suggestion == "" && (!structural[t.kw] || len(e.Expected) == 1) {
		e.Found += ", a reserved word that is a name only in backticks"
	}
	p.fail(p.i, e)
}

// structural are reserved words that nobody means as names.
var structural = map[string]bool{
	"FROM": true, "WHERE": true, "GROUP": true, "ORDER": true, "HAVING": true, "SELECT": true, "THEN": true, "WHEN": true,
	"ELSE": true, "END": true, "AS": true, "ON": true, "AND": true, "OR": true, "UNION": true, "LIMIT": true, "BY": true,
	"IN": true, "IS": true, "LIKE": true, "BETWEEN": true, "JOIN": true, "FILTER": true, "OVER": true, "WITH": true,
	"ESCAPE": true, "TO": true, "NOT": true, "DISTINCT": true, "ALL": true, "INTO": true, "VALUES": true,
}

// behindExpr are keywords that may follow an expression. They are looked for by the operators' precedence and not one by
// one, so that nobody has noted them as tried.
var behindExpr = []string{"BETWEEN", "LIKE", "ILIKE", "SIMILAR", "ESCAPE", "FILTER", "OVER", "WITHIN"}

// suggestion returns the keyword that the current token, or the name before it, was meant to be, and what was written.
func (p *parser) suggestion(keywords []string) (near, instead string) {
	if p.i > 0 && p.toks[p.i].kw == "" {
		keywords = append(keywords, behindExpr...)
	}
	if t := &p.toks[p.i]; t.kind == tWord {
		if near := ast.Nearest(strings.ToUpper(t.text), keywords); near != "" {
			return near, t.text
		}
	}
	if p.i == 0 || p.toks[p.i-1].kind != tWord || p.toks[p.i-1].kw != "" {
		return "", ""
	}
	if p.beforeAt == p.i-1 {
		for _, w := range p.before {
			keywords = append(keywords, strings.Fields(w)[0])
		}
	}
	if p.toks[p.i].kw == "(" {
		keywords = append(keywords, behindExpr...)
	}
	instead = p.toks[p.i-1].text
	return ast.Nearest(strings.ToUpper(instead), keywords), instead
}

// The things other than keywords and operators that may be expected.
const (
	aName   = "a name"
	aString = "a string"
	aNumber = "a number"
	anExpr  = "an expression"
	aQuery  = "a query"
	aType   = "a type"
)

// shown returns what was expected as it is listed: operators in quotes.
func shown(w string) string {
	if c := w[0]; c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
		return w
	}
	return `"` + w + `"`
}

// foundMax is how much of a token is shown.
const foundMax = 40

// found returns a token as it is shown.
func found(t *token) string {
	text := t.text
	if len(text) > foundMax {
		cut := foundMax
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "..."
	}
	switch t.kind {
	case tEOF:
		return "the end of the statement"
	case tString, tUnicode:
		return "the string " + ast.QuoteString(text)
	case tBinary:
		return "the binary X" + ast.QuoteString(text)
	case tQuoted:
		return ast.Quote(text)
	}
	return `"` + text + `"`
}
