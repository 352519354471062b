package conffile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/weir-stream/weir/config"
)

// The bounds of a file, so that the parser, whose time grows with the square of the depth, is done at once. The largest
// sensible file has a few kilobytes and is four deep.
const (
	sizeMax  = 64 << 10 // bytes
	lineMax  = 2 << 10  // bytes
	depthMax = 64       // brackets that are open
)

// Read sets everything that the file says, at config.FromFile. name is the file's name for messages. Its error joins one
// *config.Error for each mistake; settings without a mistake are made all the same.
func Read(c *config.Config, name string, data []byte) (err error) {
	if what := tooLarge(data); what != "" {
		return &config.Error{Code: "config.invalid", Where: name, Msg: what}
	}
	r := reader{c: c, name: name, seen: map[string]int{}}
	file, err := parse(data)
	if err != nil {
		return &config.Error{Code: "config.invalid", Where: name, Msg: "this is not YAML: " + strings.TrimSpace(err.Error())}
	}
	for i, doc := range file.Docs {
		if i > 0 && doc.Body != nil {
			r.failf(doc.Body, "", "a second document begins here.", "Put everything in one, without a line of ---.")
			break
		}
		if doc.Body != nil {
			r.value("", doc.Body)
		}
	}
	return errors.Join(r.errs...)
}

// tooLarge says which bound the file breaks, or "".
func tooLarge(data []byte) string {
	if len(data) > sizeMax {
		return fmt.Sprintf("the file has %d bytes; at most %d are read.", len(data), sizeMax)
	}
	line, column, depth := 1, 0, 0
	for _, b := range data {
		column++
		switch b {
		case '\n':
			line, column = line+1, 0
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		if column > lineMax || depth > depthMax {
			return fmt.Sprintf("line %d is longer than %d bytes or nested deeper than %d.", line, lineMax, depthMax)
		}
	}
	return ""
}

// parse keeps a panic of the parser from ending the process over a typing error: the file comes from outside.
func parse(data []byte) (f *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			f, err = nil, fmt.Errorf("the parser failed: %v", p)
		}
	}()
	return parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey()) // set names both lines
}

type reader struct {
	c    *config.Config
	name string
	seen map[string]int // key -> line
	errs []error
}

func (r *reader) where(n ast.Node) string {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return fmt.Sprintf("%s:%d", r.name, t.Position.Line)
	}
	return r.name
}

func (r *reader) failf(n ast.Node, key, msg, fix string) {
	r.errs = append(r.errs, &config.Error{Code: "config.invalid", Where: r.where(n), Key: key, Msg: msg, Fix: fix})
}

// value reads what stands under a key; the key of the whole file is "".
func (r *reader) value(key string, n ast.Node) {
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			r.entry(key, v)
		}
	case *ast.MappingValueNode:
		r.entry(key, n)
	case *ast.NullNode:
		// "key:" alone says nothing, as a heading whose lines are all commented out does.
	case *ast.SequenceNode:
		r.list(key, n)
	case *ast.CommentGroupNode:
	default:
		if text, ok := scalar(n); ok {
			r.set(key, text, n)
			return
		}
		r.failf(n, key, fmt.Sprintf("%s: %s has no place here.", key, n.Type()), "Write a plain value.")
	}
}

func (r *reader) entry(prefix string, v *ast.MappingValueNode) {
	name, ok := scalar(v.Key)
	if !ok || v.Key.IsMergeKey() {
		r.failf(v, prefix, "a key must be a plain word.", "")
		return
	}
	if prefix != "" {
		name = prefix + "." + name
	}
	r.value(name, v.Value)
}

func (r *reader) list(key string, n *ast.SequenceNode) {
	var parts []string
	for _, item := range n.Values {
		text, ok := scalar(item)
		if !ok || strings.Contains(text, ";") {
			r.failf(item, key, fmt.Sprintf("%s: an element of a list must be a plain value without \";\".", key), "")
			return
		}
		parts = append(parts, text)
	}
	r.set(key, strings.Join(parts, ";"), n)
}

func (r *reader) set(key, text string, n ast.Node) {
	if key == "" {
		r.failf(n, "", "the file must consist of lines of the form key: value.", "")
		return
	}
	if line := r.seen[key]; line != 0 {
		r.failf(n, key, fmt.Sprintf("%s is set twice; the first time in line %d.", key, line), "Remove one of them.")
		return
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		r.seen[key] = t.Position.Line
	}
	if err := r.c.Set(key, text, config.FromFile, r.where(n)); err != nil {
		r.errs = append(r.errs, err)
	}
}

// scalar returns a plain value as it is written, so that 1_000 or 0x10 reach the option unchanged.
func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}
