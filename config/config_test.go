package config_test

import (
	"flag"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir/config"
)

var rewrite = flag.Bool("rewrite", false, "write docs/ops/config.md anew")

const pageHead = `# Configuration

Settings come from the YAML file that ` + "`--config FILE`" + ` names (` + "`weir.yaml`" + ` by custom), from ` + "`-D key=value`" + ` on the command line, and from the program; the later in this list wins. Keys may
be nested in the file. An unknown key or an invalid value is an error. Durations have a unit (10 ms, 3 min; a bare number
counts milliseconds), sizes too (64 kb, in powers of 1024; a bare number counts bytes).

This page is generated: ` + "`go test ./config -run TestPage -rewrite`" + `.

`

func TestPageIsUpToDate(t *testing.T) {
	const page = "../docs/ops/config.md"
	want := pageHead + config.NewRegistry(config.Core()...).Markdown()
	if *rewrite {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is out of date; run: go test ./config -run TestPage -rewrite", page)
	}
}

func TestCoreOptionsAreWhole(t *testing.T) {
	c := config.NewRegistry(config.Core()...).New()
	for _, o := range config.Core() {
		i := o.Info()
		if i.Doc == "" || !strings.HasSuffix(i.Doc, ".") {
			t.Errorf("%s: the documentation must be sentences: %q", i.Key, i.Doc)
		}
		if err := c.Set(i.Key, i.Default, config.FromFile, "test"); err != nil {
			t.Errorf("the default is refused: %v", err)
		}
	}
}

func TestDefaults(t *testing.T) {
	c := config.NewRegistry(config.Core()...).New()
	if got := c.Get(config.BufferTimeout); got != 10*time.Millisecond {
		t.Errorf("buffer timeout %v", got)
	}
	if got := c.Get(config.HeartbeatTimeout); got != 50*time.Second {
		t.Errorf("heartbeat timeout %v", got)
	}
	if c.IsSet(config.BufferTimeout) {
		t.Error("nothing was set")
	}
}

func TestPrecedence(t *testing.T) {
	c := config.NewRegistry(config.Core()...).New()
	must(t, c.SetFlag("parallelism.default=3"))
	must(t, c.Set("parallelism.default", "2", config.FromFile, "weir.yaml:1"))
	if got := c.Get(config.Parallelism); got != 3 {
		t.Errorf("the file beats the flag: %d", got)
	}
	must(t, c.Put(config.Parallelism, 7))
	must(t, c.SetFlag("parallelism.default=4"))
	if got := c.Get(config.Parallelism); got != 7 {
		t.Errorf("the flag beats the program: %d", got)
	}
	if err := c.Put(config.Parallelism, 0); err == nil {
		t.Error("the program may set parallelism 0")
	}
	if err := c.Set("parallelism.default", "x", config.FromFile, ""); err == nil {
		t.Error("a setting that loses is not checked")
	}
	other := c.Clone()
	must(t, other.Put(config.Parallelism, 8))
	if c.Get(config.Parallelism) != 7 || other.Settings()["parallelism.default"] != "8" {
		t.Error("a clone shares settings")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestMessages(t *testing.T) {
	c := config.NewRegistry(append(config.Core(), config.Between(config.Bytes("segment.size", 32*config.KB, "A size."), 4*config.KB, 1*config.MB), config.Int("s3.secret-key", 1, "A secret."))...).New()
	for _, x := range []struct{ flag, want string }{
		{"parallelism.defualt=4", "config.unknown-key: -D: there is no option \"parallelism.defualt\".\n  Did you mean \"parallelism.default\"?"},
		{"Parallelism.Default=4", "config.unknown-key: -D: there is no option \"Parallelism.Default\".\n  Did you mean \"parallelism.default\"?"},
		{"heartbeat.of.the.whole.city=4", "config.unknown-key: -D: there is no option \"heartbeat.of.the.whole.city\".\n  There are: heartbeat.interval, heartbeat.timeout."},
		{"zzz=4", "config.unknown-key: -D: there is no option \"zzz\".\n  docs/ops/config.md lists all options."},
		{"parallelism.default", "config.invalid: -D: \"parallelism.default\" is no setting.\n  Write -D key=value, such as -D parallelism.default=4."},
		{"=4", "config.invalid: -D: \"=4\" is no setting.\n  Write -D key=value, such as -D parallelism.default=4."},
		{"parallelism.default=0", "config.invalid: -D: parallelism.default = \"0\": want a whole number between 1 and 32768.\n  Without a setting it is 1."},
		{"segment.size=2 mb", "config.invalid: -D: segment.size = \"2 mb\": want a size with its unit, such as 64 kb, 32 mb or 1 gb, between 4 kb and 1 mb.\n  Without a setting it is 32 kb."},
		{"env.log.level=FAST", "config.invalid: -D: env.log.level = \"FAST\": want one of DEBUG, INFO, WARN, ERROR.\n  Without a setting it is INFO."},
		{"s3.secret-key=hunter2", "config.invalid: -D: s3.secret-key = \"***\": want a whole number.\n  Without a setting it is 1."},
	} {
		if err := c.SetFlag(x.flag); err == nil || err.Error() != x.want {
			t.Errorf("%s:\n got %v\nwant %s", x.flag, err, x.want)
		}
	}
	if err := c.SetFlags([]string{"a=1", "parallelism.default=2", "b=1"}); strings.Count(err.Error(), "unknown-key") != 2 || c.Get(config.Parallelism) != 2 {
		t.Errorf("not all at once: %v", err)
	}
}

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		text string
		want time.Duration // -1 = refused
	}{
		{"10 ms", 10 * time.Millisecond},
		{"10ms", 10 * time.Millisecond},
		{"250", 250 * time.Millisecond}, // a bare number counts milliseconds
		{"0", 0},
		{" 3 min ", 3 * time.Minute},
		{"3m", 3 * time.Minute},
		{"2 D", 48 * time.Hour},
		{"7 µs", 7 * time.Microsecond},
		{"1h30m", 90 * time.Minute},
		{"1.5s", 1500 * time.Millisecond},
		{"", -1},
		{"ms", -1},
		{"-5 s", -1},
		{"5 parsecs", -1},
		{"9223372036854775807 d", -1},
		{"99999999999999999999", -1},
	} {
		got, err := config.ParseDuration(c.text)
		if (err != nil) != (c.want < 0) || err == nil && got != c.want {
			t.Errorf("%q: %v, %v; want %v", c.text, got, err, c.want)
		}
	}
}

func TestBytes(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
	}{
		{"64kb", 65536},
		{"64 KB", 65536},
		{"1gb", 1 << 30},
		{"1 gibibytes", 1 << 30},
		{"1 tb", 1 << 40},
		{"1024", 1024},
		{"12 b", 12},
		{"1.5 gb", -1},
		{"", -1},
		{"-1", -1},
		{"1 kbit", -1},
		{"9007199254740992 kb", -1}, // 2^63
	} {
		got, err := config.ParseBytes(c.text)
		if (err != nil) != (c.want < 0) || err == nil && int64(got) != c.want {
			t.Errorf("%q: %v, %v; want %v", c.text, got, err, c.want)
		}
	}
}

// Law: what is printed is read back as the same value.
func TestUnitsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, math.MaxInt64).Draw(t, "n")
		if got, err := config.ParseBytes(config.ByteSize(n).String()); err != nil || int64(got) != n {
			t.Fatalf("%d bytes: %q, %v", n, config.ByteSize(n), err)
		}
		if got, err := config.ParseDuration(config.FormatDuration(time.Duration(n))); err != nil || int64(got) != n {
			t.Fatalf("%d ns: %q, %v", n, config.FormatDuration(time.Duration(n)), err)
		}
	})
}

func TestEnumAndList(t *testing.T) {
	mode := config.Enum("mode", "EXACTLY_ONCE", []string{"EXACTLY_ONCE", "AT_LEAST_ONCE"}, "")
	if got, err := mode.Parse("at-least-once"); err != nil || got != "AT_LEAST_ONCE" {
		t.Errorf("%q, %v", got, err)
	}
	list := config.List("l", []string{"x"}, "")
	if got, _ := list.Parse(" a ; b;c"); strings.Join(got, "|") != "a|b|c" {
		t.Errorf("%q", got)
	}
	if got, _ := list.Parse(""); len(got) != 0 {
		t.Errorf("an empty text is %d elements", len(got))
	}
}

func TestTwoOptionsOfOneKeyPanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	config.NewRegistry(config.Int("a", 1, ""), config.Bool("a", true, ""))
}

func TestStringHidesSecrets(t *testing.T) {
	c := config.NewRegistry(config.String("kafka.password", "", "."), config.Int("b", 1, ".")).New()
	must(t, c.SetFlag("kafka.password=hunter2"))
	must(t, c.SetFlag("b=2"))
	if got, want := c.String(), "b: 2\nkafka.password: ***\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNearest(t *testing.T) {
	words := []string{"late", "bad-rows", "parallelism.default"}
	for _, c := range []struct{ word, want string }{
		{"laet", "late"}, // neighbours swapped
		{"Late", "late"},
		{"bad_row", "bad-rows"},
		{"paralelism.defualt", "parallelism.default"},
		{"other", ""},
		{"", ""},
		{strings.Repeat("late", 100), ""},
	} {
		if got := config.Nearest(c.word, words); got != c.want {
			t.Errorf("Nearest(%.20q) = %q, want %q", c.word, got, c.want)
		}
	}
}
