package config

import (
	"fmt"
	"slices"
	"strings"
)

// Registry is a set of options with different keys.
type Registry struct {
	options []Any // sorted by key
	byKey   map[string]Any
	keys    []string
}

// NewRegistry makes a registry. Two options of one key are a mistake of the program and panic.
func NewRegistry(options ...Any) *Registry {
	r := &Registry{options: slices.Clone(options), byKey: map[string]Any{}}
	slices.SortFunc(r.options, func(a, b Any) int { return strings.Compare(a.Info().Key, b.Info().Key) })
	for _, o := range r.options {
		key := o.Info().Key
		if r.byKey[key] != nil {
			panic(fmt.Sprintf("config: two options have the key %q", key))
		}
		r.byKey[key] = o
		r.keys = append(r.keys, key)
	}
	return r
}

// With returns a registry that has further options too.
func (r *Registry) With(options ...Any) *Registry {
	return NewRegistry(append(slices.Clone(r.options), options...)...)
}

// Options describes all options, sorted by key.
func (r *Registry) Options() []Info {
	out := make([]Info, len(r.options))
	for i, o := range r.options {
		out[i] = o.Info()
	}
	return out
}

// New returns a configuration in which nothing is set.
func (r *Registry) New() *Config { return &Config{reg: r, values: map[string]setting{}} }

// Markdown is the page that documents the options: a table of key, default, type and meaning.
func (r *Registry) Markdown() string {
	var b strings.Builder
	b.WriteString("| key | default | type | meaning |\n|---|---|---|---|\n")
	for _, o := range r.Options() {
		def := "(none)"
		if o.Default != "" {
			def = "`" + o.Default + "`"
		}
		doc := o.Doc
		if o.Type == "Enum" || strings.Contains(o.Form, "between") || strings.Contains(o.Form, "at least") {
			doc += " Value: " + o.Form + "."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", o.Key, def, escapeCell(o.Type), escapeCell(doc))
	}
	return b.String()
}

func escapeCell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;", ">", "&gt;").Replace(s)
}
