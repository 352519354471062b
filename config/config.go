package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Source says where a setting comes from. A higher source wins whatever the order of the calls, as in Flink: the program's
// own settings over the command line over the file.
type Source uint8

// The sources, lowest first.
const (
	FromFile Source = iota
	FromFlag
	FromProgram
)

// Config holds settings by key. Every value in it belongs to an option of its registry and is valid.
type Config struct {
	reg    *Registry
	values map[string]setting
}

type setting struct {
	text   string
	source Source
}

// Error says what is wrong with a setting, where it stands, and what to write instead.
type Error struct {
	Code  string // "config.unknown-key" or "config.invalid"
	Where string // "weir.yaml:3", "-D": as handed to Set; "" = unknown
	Key   string
	Msg   string
	Fix   string
}

// Error prints two lines: what is wrong, and what to do.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Code + ": ")
	if e.Where != "" {
		b.WriteString(e.Where + ": ")
	}
	b.WriteString(e.Msg)
	if e.Fix != "" {
		b.WriteString("\n  " + e.Fix)
	}
	return b.String()
}

// Set sets a key to a value in its written form. where ("weir.yaml:3", "-D") is for messages. It refuses unknown keys and
// invalid values with an *Error. A setting of a lower source than the present one is checked and then ignored.
func (c *Config) Set(key, value string, source Source, where string) error {
	o := c.reg.byKey[key]
	if o == nil {
		return c.unknown(key, where)
	}
	if err := o.validate(value); err != nil {
		shown := value
		if Secret(key) {
			shown = "***"
		}
		return &Error{Code: "config.invalid", Where: where, Key: key, Msg: fmt.Sprintf("%s = %q: %v.", key, shown, err), Fix: example(o.Info())}
	}
	if old, set := c.values[key]; !set || old.source <= source {
		c.values[key] = setting{strings.TrimSpace(value), source}
	}
	return nil
}

func example(i Info) string {
	if i.Default == "" {
		return ""
	}
	return fmt.Sprintf("Without a setting it is %s.", i.Default)
}

func (c *Config) unknown(key, where string) error {
	e := &Error{Code: "config.unknown-key", Where: where, Key: key, Msg: fmt.Sprintf("there is no option %q.", key)}
	if near := Nearest(key, c.reg.keys); near != "" {
		e.Fix = fmt.Sprintf("Did you mean %q?", near)
	} else if under := c.under(key); len(under) > 0 {
		e.Fix = "There are: " + strings.Join(under, ", ") + "."
	} else {
		e.Fix = "docs/ops/config.md lists all options."
	}
	return e
}

// under lists up to five keys that begin with the same word as an unknown one.
func (c *Config) under(key string) (out []string) {
	head, _, _ := strings.Cut(key, ".")
	for _, k := range c.reg.keys {
		if strings.HasPrefix(k, head+".") && len(out) < 5 {
			out = append(out, k)
		}
	}
	return out
}

// SetFlag takes the argument of a -D flag: "key=value".
func (c *Config) SetFlag(assignment string) error {
	key, value, ok := strings.Cut(assignment, "=")
	if key = strings.TrimSpace(key); !ok || key == "" {
		return &Error{Code: "config.invalid", Where: "-D", Key: key, Msg: fmt.Sprintf("%q is no setting.", assignment),
			Fix: "Write -D key=value, such as -D parallelism.default=4."}
	}
	return c.Set(key, value, FromFlag, "-D")
}

// SetFlags takes the arguments of all -D flags and reports all that is wrong with them.
func (c *Config) SetFlags(assignments []string) error {
	var all []error
	for _, a := range assignments {
		all = append(all, c.SetFlag(a))
	}
	return errors.Join(all...)
}

// Get returns the value of an option: what was set, or else its default. The option need not be of the registry; such a
// one can only have its default.
func (c *Config) Get[T any](o Option[T]) T {
	s, ok := c.values[o.info.Key]
	if !ok {
		return o.def
	}
	v, err := o.Parse(s.text)
	if err != nil { // Set has checked it; another option of the same key reads it now
		panic(fmt.Sprintf("config: %s = %q: %v", o.info.Key, s.text, err))
	}
	return v
}

// Put sets an option from the program. Unlike Set it takes a typed value, which is checked all the same.
func (c *Config) Put[T any](o Option[T], v T) error {
	return c.Set(o.info.Key, o.format(v), FromProgram, "program")
}

// IsSet reports whether the option has a value other than by default.
func (c *Config) IsSet(o Any) bool {
	_, ok := c.values[o.Info().Key]
	return ok
}

// Settings returns what was set, in written form, by key: for handing a configuration to another process.
func (c *Config) Settings() map[string]string {
	out := make(map[string]string, len(c.values))
	for k, s := range c.values {
		out[k] = s.text
	}
	return out
}

// Clone returns a copy that can be changed by itself.
func (c *Config) Clone() *Config { return &Config{reg: c.reg, values: maps.Clone(c.values)} }

// String lists what was set, one "key: value" a line, sorted, secrets hidden.
func (c *Config) String() string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(c.values)) {
		text := c.values[k].text
		if Secret(k) {
			text = "***"
		}
		fmt.Fprintf(&b, "%s: %s\n", k, text)
	}
	return b.String()
}

// Secret reports whether the key's name says that its value must not be shown.
func Secret(key string) bool {
	k := strings.ToLower(key)
	for _, word := range []string{"password", "secret", "token", "credential", "apikey", "api-key", "access-key"} {
		if strings.Contains(k, word) {
			return true
		}
	}
	return false
}
