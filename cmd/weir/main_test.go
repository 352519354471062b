package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/proc"
)

func weir(args ...string) (code int, stdout, stderr string) {
	var out, complaint strings.Builder
	p := &proc.Process{Program: "weir", Args: args, Stdout: &out, Stderr: &complaint,
		Interrupts: func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithCancel(ctx) }}
	code = run(p, fs.Real{})
	return code, out.String(), complaint.String()
}

func TestInspect(t *testing.T) {
	const kept = "../../internal/storage/testdata/v2"
	code, text, _ := weir("inspect", kept+"/savepoint")
	if code != 0 || !strings.HasPrefix(text, "savepoint 3 of job Orders ü\n") {
		t.Errorf("exit %d:\n%s", code, text)
	}
	code, text, _ = weir("inspect", "--json", kept+"/checkpoints")
	var r struct{ Snapshot struct{ Epoch int } }
	if err := json.Unmarshal([]byte(text), &r); err != nil || code != 0 || r.Snapshot.Epoch != 2 {
		t.Errorf("exit %d: %v %+v", code, err, r)
	}
	for want, args := range map[string][]string{"1 no checkpoint or savepoint is there": {"inspect", "testdata"}, "2 accepts 1 arg": {"inspect"}, "2 unknown flag": {"inspect", "--x"}} {
		wantCode, part, _ := strings.Cut(want, " ")
		code, _, complaint := weir(args...)
		if code != int(wantCode[0]-'0') || !strings.Contains(complaint, part) {
			t.Errorf("%v: exit %d, %s", args, code, complaint)
		}
	}
	if code, text, _ := weir("--help"); code != 0 || !strings.Contains(text, "inspect") {
		t.Errorf("exit %d: %s", code, text)
	}
}
