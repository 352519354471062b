package truth_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// The kept results are what truth.py computes from the data today.
func TestKeptResultsAreCurrent(t *testing.T) {
	for _, tool := range []string{"python3", "zstd"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed; the kept results are compared with Weir's all the same", tool)
		}
	}
	out := t.TempDir()
	if text, err := exec.Command("python3", "-B", "truth.py", "--out", out).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, name := range []string{"delays.jsonl", "top.jsonl", "turnaround.jsonl", "counts.json"} {
		got := mustRead(t, filepath.Join(out, name))
		var want []byte
		if name == "counts.json" {
			want = mustRead(t, name)
		} else if want, err = z.DecodeAll(mustRead(t, name+".zst"), nil); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: truth.py gives other results than those kept (%d bytes, kept %d)", name, len(got), len(want))
		}
	}
}

func mustRead(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
