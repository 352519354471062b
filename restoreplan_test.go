package weir_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/slice"
	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/restore"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/state"
)

// ruled counts the life of a function whose states are of all kinds that are blobs.
type ruled struct {
	opens, closes *int
	fails         error
}

var ruledLimits = state.BroadcastOf[string, int32]("limits")

func (f *ruled) Open(ctx *weir.Context) error {
	*f.opens++
	ctx.OpenBroadcast(ruledLimits)
	ctx.ListState(state.OperatorListOf[int64]("held"))
	if f.fails != nil {
		panic(f.fails)
	}
	return nil
}

func (f *ruled) Close() error { *f.closes++; return nil }

func (f *ruled) Process(*weir.BroadcastReader, int, weir.Out[int]) error              { return nil }
func (f *ruled) ProcessBroadcast(*weir.BroadcastContext, string, weir.Out[int]) error { return nil }

func planOf(t *testing.T, m *snapshot.Manifest, fails error) (p *restore.Plan, opens, closes int, err error) {
	t.Helper()
	env := weir.NewEnv("rules").Parallelism(3)
	weir.From(env, "numbers", slice.Of(1, 2)).ConnectBroadcast(weir.From(env, "rules", slice.Of("a"))).
		Process("ruled", func() weir.BroadcastProcess[int, string, int] { return &ruled{&opens, &closes, fails} }).Gather()
	plan, world, err := weir.PlanOf(env)
	if err != nil {
		t.Fatal(err)
	}
	p, err = plan.PlanRestore(t.Context(), world, m)
	return p, opens, closes, err
}

func rulesSaved(t *testing.T, value codec.Kind) *snapshot.Manifest {
	text, number := &codec.Schema{Kind: codec.KindString}, &codec.Schema{Kind: value}
	return &snapshot.Manifest{Job: ids.JobID{1}, Epoch: 3, Purpose: snapshot.PurposeCheckpoint, KeyGroups: keygroup.Count, Operators: []snapshot.Operator{{Name: "ruled", Parallelism: 1,
		Blobs: []snapshot.Blob{{Name: "broadcast/limits", Data: append(number.Append(text.Append(nil)), 0)}, {Name: "list/held", Data: append(number.Append(nil), 0)}}}}}
}

// The plan of a restore opens each operator with state once, sees the states that are no keyed ones, and closes it.
func TestPlanOfARestoreOpensOperatorsOnce(t *testing.T) {
	p, opens, closes, err := planOf(t, rulesSaved(t, codec.KindInt16), nil)
	if err != nil || opens != 1 || closes != 1 {
		t.Fatalf("opened %d times, closed %d, %v", opens, closes, err)
	}
	for i, want := range []string{"value widened from int16 to int32", "value widened from int16 to int64"} {
		if l := p.Lines[i]; l.Verdict != restore.Migrate || strings.Join(l.Reasons, ";") != want {
			t.Errorf("got %+v, want %q", l, want)
		}
	}
	p, _, _, err = planOf(t, rulesSaved(t, codec.KindInt64), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `- broadcast/limits of operator "ruled": value was int64 when it was written and is int32 now. A value may not fit. Keep int64, or register a migration function.`
	if err := p.Refused(); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %v", err)
	}
}

func TestPlanOfARestoreFailsWithOpen(t *testing.T) {
	_, _, closes, err := planOf(t, rulesSaved(t, codec.KindInt16), errors.New("no database"))
	if err == nil || !strings.Contains(err.Error(), "operators with state are opened once before the job starts") || !strings.Contains(err.Error(), "no database") {
		t.Errorf("error %v", err)
	}
	if closes != 1 {
		t.Errorf("closed %d times", closes)
	}
}
