package conffile_test

import (
	"strings"
	"testing"

	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/internal/conffile"
)

func registry() *config.Registry {
	return config.NewRegistry(config.Core()...).With(config.List("names", nil, ""), config.Float("ratio", 0.5, ""))
}

func TestRead(t *testing.T) {
	for _, c := range []struct{ name, yaml, want string }{
		{"flat", "parallelism.default: 4\npipeline.name: flights\n", "parallelism.default: 4\npipeline.name: flights\n"},
		{"nested", "parallelism:\n  default: 4\nexecution:\n  buffer-timeout:\n    interval: 5 ms\n", "execution.buffer-timeout.interval: 5 ms\nparallelism.default: 4\n"},
		{"mixed, quoted, with comments", "# top\nexecution:\n  # inner\n  buffer-timeout.interval: \"5 ms\" # why\n  batch-size: 7\n",
			"execution.batch-size: 7\nexecution.buffer-timeout.interval: 5 ms\n"},
		{"one entry in braces", "parallelism: {default: 4}\n", "parallelism.default: 4\n"},
		{"lists", "names: [a, b c]\n", "names: a;b c\n"},
		{"block list", "names:\n- a\n- 1\n", "names: a;1\n"},
		{"booleans, numbers", "execution.buffer-timeout.enabled: false\nratio: .25\n", "execution.buffer-timeout.enabled: false\nratio: .25\n"},
		{"empty", "", ""},
		{"only a comment", "# nothing\n", ""},
		{"heading without lines", "parallelism:\n", ""},
		{"document mark", "---\nparallelism.default: 2\n", "parallelism.default: 2\n"},
	} {
		cfg := registry().New()
		if err := conffile.Read(cfg, "weir.yaml", []byte(c.yaml)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := cfg.String(); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", c.name, got, c.want)
		}
	}
}

func TestReadReportsEverything(t *testing.T) {
	cfg := registry().New()
	err := conffile.Read(cfg, "weir.yaml", []byte(strings.Join([]string{
		"paralelism.default: 4",
		"parallelism:",
		"  default: many",
		"execution.batch-size: 600",
		"pipeline: &a",
		"  name: x",
		"ratio: 0.5",
		"ratio.x: 1",
		"execution.buffer-timeout:",
		"  interval: 10 minuets",
		"pipeline.name: ok",
		"pipeline.name: again",
	}, "\n")))
	const want = `config.unknown-key: weir.yaml:1: there is no option "paralelism.default".
  Did you mean "parallelism.default"?
config.invalid: weir.yaml:3: parallelism.default = "many": want a whole number.
  Without a setting it is 1.
config.invalid: weir.yaml:4: execution.batch-size = "600": want a whole number between 0 and 512.
  Without a setting it is 0.
config.invalid: weir.yaml:5: pipeline: Anchor has no place here.
  Write a plain value.
config.unknown-key: weir.yaml:8: there is no option "ratio.x".
  Did you mean "ratio"?
config.invalid: weir.yaml:10: execution.buffer-timeout.interval = "10 minuets": want a duration with its unit, such as 10 ms, 5 s, 3 min or 1 h.
  Without a setting it is 10 ms.
config.invalid: weir.yaml:12: pipeline.name is set twice; the first time in line 11.
  Remove one of them.`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if got := cfg.Get(config.JobName); got != "ok" {
		t.Errorf("a right line after wrong ones: %q", got)
	}
}

func TestReadRefusesRubbish(t *testing.T) {
	for _, yaml := range []string{"{", "just words", "- a\n- b", "a: [", "\t: x", "a: 1\n---\nb: 2\n", "? [a]: b", strings.Repeat("x", 2<<20)} {
		if err := conffile.Read(registry().New(), "weir.yaml", []byte(yaml)); err == nil {
			t.Errorf("%.20q was read without complaint", yaml)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("parallelism:\n  default: 4\n"))
	f.Add([]byte("a: &x {b: *x}\n<<: 1\n? |\n  k\n: - v\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		conffile.Read(registry().New(), "weir.yaml", data)
	})
}
