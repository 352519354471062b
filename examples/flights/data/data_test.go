package data_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// unpack writes the decompressed file to w, without its first line unless header is set.
func unpack(t *testing.T, w io.Writer, name string, header bool) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	r := bufio.NewReader(z)
	if !header {
		if _, err := r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.Copy(w, r); err != nil {
		t.Fatal(err)
	}
}

// The months, in the order in which the original file had them, are that file again.
func TestMonthsAreTheOriginal(t *testing.T) {
	h := sha256.New()
	for i, month := range []int{1, 10, 11, 12, 2, 3, 4, 5, 6, 7, 8, 9} {
		unpack(t, h, fmt.Sprintf("flights-2013-%02d.csv.zst", month), i == 0)
	}
	const want = "563db8f117faf6ffd76aa868099df37dfa78dc17b5ac6d3d9ea6476e051a0bc4"
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("SHA-256 %s, want %s", got, want)
	}
}

func TestOtherFilesAreTheOriginals(t *testing.T) {
	for name, want := range map[string]string{
		"weather":  "5d1ea2548a3941eac0b4a9ca70805daa9fa49bbb711a0c7557b2bba0bd7c3f64",
		"planes":   "778962edec8339f6f6edb1d6506869f61cab573eda03d7e162d2899c76d04c1a",
		"airports": "36c290b69800422f36618f471a042b670b9329e8eb0686eff44f371a9761e148",
		"airlines": "162551bd3401a12d63db3d92b7e66af3017d2e40d55919d6a678489323c10609",
	} {
		h := sha256.New()
		unpack(t, h, name+".csv.zst", true)
		if got := hex.EncodeToString(h.Sum(nil)); got != want {
			t.Errorf("%s: SHA-256 %s, want %s", name, got, want)
		}
	}
}
