package parser

import (
	"strings"

	"github.com/weir-stream/weir/internal/sql/ast"
)

const (
	// depthMax is how deep expressions, queries, types and patterns may nest.
	depthMax = 400
	// linksMax is how many operators, joins and set operations a statement may have. Their chains lean to the left, so that
	// a long one makes a deep tree.
	linksMax = 100_000
	// scriptMax is the length of a text in bytes, so that offsets fit.
	scriptMax = 1 << 30
)

// Parsed is one statement of a script.
type Parsed struct {
	// Pos is where the statement begins.
	ast.Pos
	// Text is the statement as written, without its semicolon.
	Text string
	// Statement is nil if Err is not.
	Statement ast.Statement
	Err       *Error
}

// ParseScript parses the statements of a script. Each stands for itself: after one that fails the next is parsed all the
// same. Empty statements are left out.
func ParseScript(src string) []Parsed {
	var out []Parsed
	p := newParser(src)
	for p.next() {
		out = append(out, p.parsed(p.statement))
	}
	return out
}

// Parse parses a text that holds one statement, with or without a semicolon behind it. The error is an *Error.
func Parse(src string) (ast.Statement, error) {
	var s ast.Statement
	err := single(src, "a statement", func(p *parser) { s = p.statement() })
	if err != nil {
		return nil, err
	}
	return s, nil
}

// ParseQuery parses a text that is a query. The error is an *Error.
func ParseQuery(src string) (ast.Query, error) {
	var q ast.Query
	err := single(src, aQuery, func(p *parser) { q = p.query() })
	if err != nil {
		return nil, err
	}
	return q, nil
}

// ParseExpr parses a text that is an expression. The error is an *Error.
func ParseExpr(src string) (ast.Expr, error) {
	var x ast.Expr
	err := single(src, anExpr, func(p *parser) { x = p.expr() })
	if err != nil {
		return nil, err
	}
	return x, nil
}

// ParseType parses a text that is a data type, with NOT NULL behind it if need be. The error is an *Error.
func ParseType(src string) (*ast.Type, error) {
	var t *ast.Type
	err := single(src, aType, func(p *parser) { t = p.typ(true) })
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Complete reports whether a text ends with a whole statement: the last thing in it is a semicolon that ends one, outside
// of quotes, comments and the blocks of statement sets. A text without any statement is complete.
func Complete(src string) bool {
	p := newParser(src)
	for {
		more := p.next()
		if p.ended {
			return !more
		}
	}
}

// single parses a text that must hold one thing.
func single(src, what string, parse func(*parser)) error {
	p := newParser(src)
	if !p.next() {
		p.expect(what)
		p.unexpected()
		return p.err
	}
	p.whole(func() { parse(p) })
	if p.err != nil {
		return p.err
	}
	if p.next() {
		p.refuse(0, "found %s behind the end of %s", found(&p.toks[0]), what)
		return p.err
	}
	return nil
}

// parser parses the statements of a text one by one.
type parser struct {
	src string
	lex lexer
	// toks are those of the current statement, with a tEOF behind them; i is the current one.
	toks []token
	i    int
	// ended says that the last statement ended with the text and not with a semicolon.
	ended bool
	// err is the statement's first error.
	err *Error
	// depth is how deep the parser is nested, links how many operators it has met.
	depth, links int
	params       int
	// tried are the keywords that did not match at the token triedAt; before and beforeAt are those of the token where
	// something was tried last.
	tried, before     []string
	triedAt, beforeAt int
}

// newParser returns a parser before the first statement of a text.
func newParser(src string) *parser {
	p := &parser{src: src}
	if len(src) > scriptMax {
		p.src = src[:scriptMax]
	}
	p.lex = lexer{src: p.src, line: 1}
	p.toks = make([]token, 0, min(len(p.src)/4+8, 1024))
	return p
}

// next moves to the next statement; it returns false behind the last one.
func (p *parser) next() bool {
	var more bool
	p.toks, more = p.lex.statement(p.toks[:0])
	eof := &p.toks[len(p.toks)-1]
	p.ended = eof.pos.Offset == eof.end
	p.i, p.err, p.depth, p.links, p.params = 0, nil, 0, 0, 0
	p.tried, p.triedAt = p.tried[:0], 0
	p.before, p.beforeAt = p.before[:0], -1
	return more
}

// parsed parses one statement of a script.
func (p *parser) parsed(parse func() ast.Statement) Parsed {
	first := p.toks[0].pos
	last := int(first.Offset)
	if n := len(p.toks); n > 1 {
		last = int(p.toks[n-2].end)
	}
	out := Parsed{Pos: first, Text: p.src[first.Offset:last]}
	p.whole(func() { out.Statement = parse() })
	if p.err != nil {
		out.Statement, out.Err = nil, p.err
	}
	return out
}

// whole parses something that must reach to the end of the statement.
func (p *parser) whole(parse func()) {
	if len(p.src) >= scriptMax {
		p.refuse(0, "the text is longer than %d bytes", scriptMax)
		return
	}
	parse()
	if p.toks[p.i].kind != tEOF {
		p.expect("the end of the statement")
		p.unexpected()
	}
}

// tok returns the current token.
func (p *parser) tok() *token { return &p.toks[p.i] }

// peek returns the token n behind the current one, the last one if there are not so many.
func (p *parser) peek(n int) *token { return &p.toks[min(p.i+n, len(p.toks)-1)] }

// skip moves n tokens on, to the statement's end at most: there a parser stands that has failed.
func (p *parser) skip(n int) { p.i = min(p.i+n, len(p.toks)-1) }

// pos returns where the current token begins.
func (p *parser) pos() ast.Pos { return p.toks[p.i].pos }

// expect notes that something would have been right at the current token.
func (p *parser) expect(w string) {
	if p.triedAt != p.i {
		p.before, p.beforeAt, p.tried = p.tried, p.triedAt, p.before[:0]
		p.triedAt = p.i
	}
	p.tried = append(p.tried, w)
}

// is reports whether the current token is a keyword or operator.
func (p *parser) is(kw string) bool {
	if p.toks[p.i].kw == kw {
		return true
	}
	p.expect(kw)
	return false
}

// accept takes the current token if it is the keyword or operator.
func (p *parser) accept(kw string) bool {
	if !p.is(kw) {
		return false
	}
	p.skip(1)
	return true
}

// acceptAll takes the current tokens if they are the keywords, written with blanks between them.
func (p *parser) acceptAll(kws string) bool {
	i := p.i
	for rest := kws; rest != ""; i++ {
		var kw string
		kw, rest, _ = strings.Cut(rest, " ")
		if p.toks[min(i, len(p.toks)-1)].kw != kw {
			p.expect(kws)
			return false
		}
	}
	p.i = i
	return true
}

// need takes a keyword or operator that must be there.
func (p *parser) need(kw string) {
	if !p.accept(kw) {
		p.unexpected()
	}
}

// needAll takes keywords that must be there one by one, so that the error is at the first that is not.
func (p *parser) needAll(kws string) {
	for _, kw := range strings.Fields(kws) {
		p.need(kw)
	}
}

// enter goes one level deeper; it returns false, and has failed, where that is too deep. Each enter needs a leave.
func (p *parser) enter() bool {
	p.depth++
	if p.depth > depthMax {
		p.refuse(p.i, "this nests deeper than %d levels; split the statement, by views for instance", depthMax)
		return false
	}
	return true
}

// leave comes back from a level.
func (p *parser) leave() { p.depth-- }

// link counts one more operator of a chain.
func (p *parser) link() {
	p.links++
	if p.links == linksMax {
		p.refuse(p.i, "the statement has more than %d operators", linksMax)
	}
}

// nameToken reports whether a token is a name.
func nameToken(t *token) bool { return t.kind == tQuoted || t.kind == tWord && !t.reserved }

// ident takes a name that must be there.
func (p *parser) ident() *ast.Ident {
	t := p.tok()
	if !nameToken(t) {
		p.expect(aName)
		p.unexpected()
		return &ast.Ident{Pos: t.pos}
	}
	p.skip(1)
	return &ast.Ident{Pos: t.pos, Name: t.text}
}

// optIdent takes a name if there is one.
func (p *parser) optIdent() *ast.Ident {
	if !nameToken(p.tok()) {
		p.expect(aName)
		return nil
	}
	return p.ident()
}

// path takes names with dots between them.
func (p *parser) path() []*ast.Ident {
	parts := []*ast.Ident{p.ident()}
	for p.toks[p.i].kw == "." {
		p.skip(1)
		parts = append(parts, p.ident())
	}
	return parts
}

// objectName takes a name with dots.
func (p *parser) objectName() *ast.ObjectName {
	pos := p.pos()
	return &ast.ObjectName{Pos: pos, Parts: p.path()}
}

// idents takes (a, b).
func (p *parser) idents() []*ast.Ident {
	return parenList(p, p.ident)
}

// commaList takes one or more of something with commas between them.
func commaList[T any](p *parser, one func() T) []T {
	items := []T{one()}
	for p.accept(",") {
		items = append(items, one())
	}
	return items
}

// parenList takes one or more of something in parentheses.
func parenList[T any](p *parser, one func() T) []T {
	p.need("(")
	items := commaList(p, one)
	p.need(")")
	return items
}

// stringLit takes a string literal with its continuations that must be there.
func (p *parser) stringLit() *ast.StringLit {
	t := p.tok()
	s := &ast.StringLit{Pos: t.pos}
	switch t.kind {
	case tString:
		p.skip(1)
		s.Value = t.text
		if t.kw != "" {
			s.Charset = t.kw[1:]
			if !knownCharset(s.Charset) {
				p.refuse(p.i-1, "there is no character set %s", s.Charset)
			}
		}
	case tUnicode:
		p.skip(1)
		s.Value = p.unicode(t)
	default:
		p.expect(aString)
		p.unexpected()
		return s
	}
	for n := p.tok(); n.kind == tString && n.kw == ""; n = p.tok() {
		s.Value += n.text
		p.skip(1)
	}
	return s
}

// charsets are the character sets that may stand before a string, in lower case.
var charsets = map[string]bool{
	"latin1": true, "iso-8859-1": true, "us-ascii": true, "ascii": true, "utf8": true, "utf-8": true, "utf16": true,
	"utf-16": true, "utf-16le": true, "utf-16be": true,
}

// knownCharset reports whether a character set may stand before a string.
func knownCharset(name string) bool { return charsets[strings.ToLower(name)] }

// unicode resolves the escapes of the U&'...' before the current token, with the escape character of UESCAPE.
func (p *parser) unicode(t *token) string {
	at := p.i - 1
	esc := byte('\\')
	if p.accept("UESCAPE") {
		e := p.tok()
		if e.kind != tString || len(e.text) != 1 || e.text[0] >= 0x80 || strings.Contains(" '\"+\t\n", e.text) {
			p.refuse(p.i, "UESCAPE needs a string of one ASCII character that is no digit, letter, quote, plus or blank")
			return ""
		}
		if c := e.text[0]; digit(c) || letter(c) && c != '_' && c != '$' {
			p.refuse(p.i, "UESCAPE needs a string of one ASCII character that is no digit, letter, quote, plus or blank")
			return ""
		}
		esc = e.text[0]
		p.skip(1)
	}
	value, ok := unicodeEscapes(strings.ReplaceAll(t.text, "''", "'"), esc)
	if !ok {
		p.refuse(at, "an escape in a string U&'...' needs exactly four hexadecimal digits, and the number of a character")
	}
	return value
}

// text takes a string literal and returns its value.
func (p *parser) text() string { return p.stringLit().Value }

// number takes a number that must be there.
func (p *parser) number() *ast.NumberLit {
	t := p.tok()
	if t.kind != tNumber {
		p.expect(aNumber)
		p.unexpected()
		return &ast.NumberLit{Pos: t.pos, Text: "0"}
	}
	p.skip(1)
	return &ast.NumberLit{Pos: t.pos, Text: t.text}
}

// integerMax is the largest precision, repetition or the like that is read; larger ones are refused wherever they mean
// something.
const integerMax = 1<<31 - 1

// integer takes a whole number that must be there.
func (p *parser) integer() int {
	t := p.tok()
	n := 0
	if t.kind != tNumber {
		p.expect(aNumber)
		p.unexpected()
		return 0
	}
	for i := range len(t.text) {
		if !digit(t.text[i]) {
			p.refuse(p.i, "found the number %s, expected a whole one", t.text)
			return 0
		}
		if n = n*10 + int(t.text[i]-'0'); n > integerMax {
			p.refuse(p.i, "the number %s is too large here", found(t))
			return 0
		}
	}
	p.skip(1)
	return n
}
