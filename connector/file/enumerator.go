package file

import (
	"encoding/json/v2"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/weir-stream/weir/connector"
)

// enumerator lists files when it is made and, if it watches, again at intervals.
type enumerator struct {
	ctx        connector.EnumeratorContext
	opts       options
	splittable bool
	// pending is what has been found and not handed out, in the order of handing out.
	pending []connector.Split
	// found holds every path ever found; only kept when watching.
	found    map[string]bool
	order    []string // of found, for snapshots
	lastScan time.Time
}

// enumeratorState is the content of a snapshot, as JSON.
type enumeratorState struct {
	Version int               `json:"v"`
	Pending []connector.Split `json:"pending"`
	Found   []string          `json:"found,omitempty"`
}

func newEnumerator(ctx connector.EnumeratorContext, opts options, splittable bool, restored []byte) (connector.Enumerator, error) {
	e := &enumerator{ctx: ctx, opts: opts, splittable: splittable, found: map[string]bool{}}
	if restored == nil {
		return e, e.scan()
	}
	var st enumeratorState
	if err := json.Unmarshal(restored, &st); err != nil || st.Version != splitVersion {
		return nil, fmt.Errorf("file: the state of the enumerator is damaged or of another version (%v)", err)
	}
	e.pending = st.Pending
	for _, p := range st.Found {
		e.found[p] = true
		e.order = append(e.order, p)
	}
	return e, nil
}

// otherArchives would be read as rubbish.
var otherArchives = []string{".bz2", ".xz", ".lz4", ".lzo", ".snappy", ".zip", ".7z", ".tar", ".tgz", ".parquet", ".avro", ".orc"}

func (e *enumerator) scan() error {
	watching := e.opts.watch > 0
	infos, err := find(e.ctx.FS, e.opts.patterns, e.opts.recursive, e.opts.allowEmpty || watching)
	if err != nil {
		return err
	}
	for _, info := range infos {
		if e.found[info.Path] {
			continue
		}
		if watching {
			e.found[info.Path] = true
			e.order = append(e.order, info.Path)
		}
		if ext := strings.ToLower(path.Ext(info.Path)); slices.Contains(otherArchives, ext) {
			return fmt.Errorf("file: %s is compressed in a way that is not supported (%s): use gzip or zstd", info.Path, ext)
		}
		for _, s := range cut(info, e.splittable, e.opts.splitBytes) {
			split, err := s.split()
			if err != nil {
				return err
			}
			e.pending = append(e.pending, split)
		}
	}
	if watching {
		e.lastScan = e.ctx.Now()
	}
	return nil
}

// Next implements connector.Enumerator. Which reader asks makes no difference to what comes next.
func (e *enumerator) Next(int) (s connector.Split, ok, done bool, wait time.Duration, err error) {
	if e.opts.watch > 0 && len(e.pending) == 0 {
		if wait = e.opts.watch - e.ctx.Now().Sub(e.lastScan); wait > 0 {
			return s, false, false, wait, nil
		}
		if err = e.scan(); err != nil {
			return s, false, false, 0, err
		}
		if len(e.pending) == 0 {
			return s, false, false, e.opts.watch, nil
		}
	}
	if len(e.pending) == 0 {
		return s, false, true, 0, nil
	}
	s, e.pending = e.pending[0], e.pending[1:]
	return s, true, false, 0, nil
}

// Return implements connector.Enumerator.
func (e *enumerator) Return(_ int, splits []connector.Split) {
	e.pending = append(append([]connector.Split(nil), splits...), e.pending...)
}

// Snapshot implements connector.Enumerator.
func (e *enumerator) Snapshot() ([]byte, error) {
	return json.Marshal(enumeratorState{Version: splitVersion, Pending: e.pending, Found: e.order})
}

// Close implements connector.Enumerator.
func (e *enumerator) Close() error { return nil }
