package file_test

import (
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/conntest"
	"github.com/weir-stream/weir/connector/file"
	"github.com/weir-stream/weir/internal/app"
	"github.com/weir-stream/weir/internal/fs"
)

// disk is a file system in memory that a crash leaves with what was synced.
type disk struct {
	connector.FileSystem
	mem *fs.Mem
	ask func(string) error
}

func newDisk() *disk {
	d := &disk{mem: fs.NewMem(nil)}
	d.mount()
	return d
}

func (d *disk) mount() {
	d.FileSystem = app.Files(fs.NewFaulty(d.mem, func(op fs.Op) error {
		if d.ask == nil {
			return nil
		}
		return d.ask(op.String())
	}))
}

func (d *disk) SyncDir(dir string) error {
	return d.FileSystem.(connector.DirSyncer).SyncDir(dir)
}

func (d *disk) crash() {
	d.mem = d.mem.CrashClone()
	d.mount()
}

// walk calls f for each file.
func (d *disk) walk(dir string, f func(name string)) {
	entries, err := d.mem.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if name := path.Join(dir, e.Name()); e.IsDir() {
			d.walk(name, f)
		} else {
			f(name)
		}
	}
}

func isHidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
}

func fileCase(t *testing.T, head string, dst func() connector.Sink[row]) conntest.TwoPhaseCase[row] {
	return conntest.TwoPhaseCase[row]{
		Row:  func(i int) row { return row{int64(i), fmt.Sprint("r", i)} },
		Text: func(r row) string { return fmt.Sprintf("%d,%s", r.N, r.S) },
		Time: func(r row) int64 { return 1_700_000_000_000 + r.N*1_000_000 },
		New: func() conntest.TwoPhaseTarget[row] {
			d := newDisk()
			return conntest.TwoPhaseTarget[row]{Sink: dst(), FS: d,
				Fault: func(ask func(string) error) { d.ask = ask },
				Crash: d.crash,
				Visible: func() (rows []string, err error) {
					d.walk("/", func(name string) {
						if isHidden(name) {
							return
						}
						b, rerr := fs.ReadFile(d.mem, name)
						if rerr != nil {
							err = rerr
							return
						}
						text, ok := strings.CutPrefix(uncompressed(t, name, string(b)), head)
						if !ok || text != "" && !strings.HasSuffix(text, "\n") {
							err = fmt.Errorf("%s is torn: %q", name, text)
						}
						for l := range strings.Lines(text) {
							rows = append(rows, strings.TrimSuffix(l, "\n"))
						}
					})
					return rows, err
				},
				Leftovers: func() (names []string) {
					d.walk("/", func(name string) {
						if isHidden(name) {
							names = append(names, name)
						}
					})
					return names
				},
				Lose: func() {
					d.walk("/", func(name string) {
						if isHidden(name) {
							d.mem.Remove(name)
						}
					})
				},
			}
		},
	}
}

// Every way of writing, through every fault: nothing is lost, twice, or visible early.
func TestTwoPhaseConformance(t *testing.T) {
	byRow := file.BucketBy(func(r row) string { return [...]string{"", "odd", "a/b"}[r.N%3] })
	for name, opts := range map[string][]file.SinkOption{
		"defaults":             nil,
		"each checkpoint":      {file.RollEachCheckpoint()},
		"by size":              {file.RollSize(20)},
		"by time":              {file.RollInterval(50 * time.Second), file.RollInactive(30 * time.Second)},
		"never by time":        {file.RollInterval(0), file.RollInactive(0)},
		"buckets":              {byRow},
		"buckets of time":      {file.BucketByTime("2006-01-02/15h04"), file.RollSize(30)},
		"buckets of wall time": {file.BucketByProcessingTime("2006-01-02"), file.Prefix("rows")},
		"gzip":                 {file.Extension(".csv.gz")},
		"zstd":                 {file.Extension(".csv.zst"), byRow},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := fileCase(t, "N,S\n", func() connector.Sink[row] { return file.CSVSink[row]("/out", opts...) })
			if c.Seeds = 60; name != "defaults" && name != "buckets" {
				c.Seeds, c.Parallelism = 30, 2
			}
			if testing.Short() && name == "zstd" {
				t.Skip("making its compressors takes long")
			}
			conntest.TwoPhase(t, c)
		})
	}
	t.Run("one file", func(t *testing.T) {
		t.Parallel()
		c := fileCase(t, "N,S\n", func() connector.Sink[row] { return file.CSVSink[row]("/out/all.csv") })
		target := c.New
		c.New = func() conntest.TwoPhaseTarget[row] {
			d := target()
			d.Lose = nil // a savepoint prepares nothing
			return d
		}
		conntest.TwoPhase(t, c)
	})
}
