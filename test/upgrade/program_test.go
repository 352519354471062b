package upgrade_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/print"
	"github.com/weir-stream/weir/internal/testkit/golden"
)

// programEnv makes the test's binary a program of its own; its value says which one.
const programEnv = "WEIR_TEST_UPGRADE"

func TestMain(m *testing.M) {
	which := os.Getenv(programEnv)
	if which == "" {
		os.Exit(m.Run())
	}
	weir.Main(func(env *weir.Env) error {
		env.Name("sales")
		var out weir.Stream[string]
		switch which {
		case "first":
			out = build(env, firstVersion(), rows, 0)
		case "second":
			out = build(env, secondVersion(), rows, 0)
		case "broken":
			out = build(env, brokenVersion(), rows, 0)
		case "without":
			out = shaped(env, firstVersion(), rows, 0, shape{without: true})
		case "shaped":
			out = shaped(env, firstVersion(), rows, 0, shape{windows: true, keys: true, without: true})
		case "failing":
			v := firstVersion()
			v.sum = v.sum.Migrate(func(sum1) (sum1, error) { return sum1{}, nil })
			out = build(env, v, rows, 0)
		default:
			return fmt.Errorf("no program %s", which)
		}
		out.To("out", print.Func(func(dst []byte, s string) []byte { return append(dst, s...) }))
		return nil
	})
}

// program runs a program and returns its exit code, and what it has written.
func program(t *testing.T, which string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"--progress", "none", "-p", "2"}, args...)...)
	cmd.Env = append(os.Environ(), programEnv+"="+which)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	} else if ok {
		code = exit.ExitCode()
	}
	return code, out.String(), errs.String()
}

const saved = "testdata/v2/savepoint"

// --dry-run says what would become of each state, and a start that would be refused is refused with the same words, before
// anything runs.
func TestDryRun(t *testing.T) {
	for _, c := range []struct {
		which string
		args  []string
		code  int
	}{
		{"first", nil, 0}, {"second", nil, 0}, {"broken", nil, 1}, {"without", nil, 1}, {"without", []string{"--allow-non-restored-state"}, 0}, {"shaped", nil, 1}, {"failing", nil, 1},
	} {
		args := append([]string{"--restore", saved}, c.args...)
		code, stdout, stderr := program(t, c.which, append(args, "--dry-run")...)
		name := c.which + strings.Join(c.args, "")
		if code != c.code {
			t.Errorf("%s: exit code %d, want %d\n%s%s", name, code, c.code, stdout, stderr)
		}
		golden.Check(t, "dryrun/"+name, stdout+stderr)
		code, stdout, real := program(t, c.which, args...)
		if code != c.code {
			t.Errorf("%s: the job itself ends with %d, want %d\n%s", name, code, c.code, real)
		}
		if refusal := stderr[strings.Index(stderr, "\n")+1:]; c.code != 0 && (stdout != "" || !strings.Contains(real, refusal)) {
			t.Errorf("%s: the job says\n%s\nand the dry run\n%s\nrows: %.100s", name, real, stderr, stdout)
		}
		if len(c.args) > 0 && !strings.Contains(real, `level=WARN msg="state is dropped, because the job does not have its operator" dropped="operator \"count\"`) {
			t.Errorf("%s: it is not told what is dropped:\n%s", name, real)
		}
	}
}

func TestDryRunOfNothing(t *testing.T) {
	for want, args := range map[string][]string{
		"add --restore PATH":               {"--dry-run"},
		"no checkpoint or savepoint is th": {"--dry-run", "--restore", t.TempDir()},
		"no checkpoint or savepoint is":    {"--dry-run", "--restore", "program_test.go"},
		"it would begin from nothing":      {"--dry-run", "--checkpoint-dir", t.TempDir()},
		"testdata/v2/savepoint/data":       {"--dry-run", "--restore", saved + "/data"},
	} {
		if code, stdout, stderr := program(t, "first", args...); code != 1 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d, %q, %q, want %q", args, code, stdout, stderr, want)
		}
	}
}
