package weirtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/storage"
)

// saved is a savepoint that a job was asked for.
type saved struct {
	path    string
	by      fault
	at      moment
	claimed bool
}

// forks starts a job from the last savepoint that was taken while the job went on, in a directory of checkpoints of its own:
// for the outside world it is as if nothing had happened since.
func forks[R any](t *testing.T, d *disturbance, tr trial[R]) []outcome {
	for i, s := range slices.Backward(d.saved) {
		if s.by.kind != save {
			continue
		}
		d.saved[i].claimed = s.by.claim
		how := d.schedule
		how.faults = nil
		if s.by.pick%2 == 0 { // perhaps before its first checkpoint
			how.faults = []fault{{kind: powerCut, at: time.Duration(s.by.pick) * d.interval / 3, parallelism: 1 + s.by.pick%3}}
		}
		fork := &disturbance{schedule: how, ledger: d.ledger.as(s.at), places: d.places, parallelism: s.by.parallelism, dir: d.dir + 1, from: s.path, claim: s.by.claim, happened: d.happened}
		d.happened["forks"]++
		return []outcome{lives(t, fork, tr)}
	}
	return nil
}

// damaged says what is wrong with the savepoints when all is over: those that no job owned must be there and whole.
func (d *disturbance) damaged() string {
	for _, s := range d.saved {
		if s.claimed {
			continue
		}
		snap, err := d.places.load(s.path)
		if err == nil {
			err = snap.Check(context.Background())
		}
		if err != nil {
			return fmt.Sprintf("the savepoint %s is not whole any more: %v", s.path, err)
		}
	}
	return ""
}

func (p *places) load(savepoint string) (*storage.Snapshot, error) {
	ref, err := storage.Resolve(context.Background(), p.open, savepoint)
	if err != nil {
		return nil, err
	}
	return storage.Load(context.Background(), nil, p.open, ref)
}

// moment is when a savepoint was taken, by a job with that directory of checkpoints.
func (p *places) moment(dir int, savepoint string) moment {
	snap, err := p.load(savepoint)
	if err != nil {
		return moment{dir: dir} // damaged will say so
	}
	return moment{dir, uint64(snap.Epoch)}
}

// list lists the objects of a directory of checkpoints whose names have a part, rising.
func (p *places) list(dir int, part string) (out []string) {
	for o, err := range p.at(checkpointsIn(dir)).List(context.Background(), "") {
		if err == nil && strings.Contains(o.Name, part) {
			out = append(out, o.Name)
		}
	}
	slices.Sort(out)
	return out
}

// newest returns the last of a list, "" of an empty one.
func newest(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1]
}

// ended names the newest note that the job is over: started again, it would begin from nothing.
func (p *places) ended(dir int) string { return newest(p.list(dir, "/ended/")) }

// manifest reads a manifest, nil if it cannot be read.
func (p *places) manifest(dir int, name string) *snapshot.Manifest {
	b, err := objstore.ReadAll(context.Background(), p.at(checkpointsIn(dir)), name, snapshot.ManifestBytesMax+100)
	if err != nil {
		return nil
	}
	m, err := snapshot.DecodeManifest(b)
	if err != nil {
		return nil
	}
	return m
}

// stopped returns the savepoint of a stop that was not finished: whoever starts the job in the same directory finishes it.
func (p *places) stopped(dir int) string {
	name := newest(p.list(dir, "/manifests/"))
	if name == "" {
		return ""
	}
	m := p.manifest(dir, name)
	over := p.ended(dir)
	if m == nil || m.Place == "" || over != "" && over[strings.LastIndexByte(over, '/'):] > name[strings.LastIndexByte(name, '/'):] {
		return ""
	}
	return m.Place
}

// spoil cuts the power and then damages the newest checkpoint, if there is another one to go back to: its manifest, or an
// object that no older one lists.
func (d *disturbance) spoil(f fault) {
	d.mu.Lock()
	l := d.now
	if l == nil {
		d.mu.Unlock()
		return
	}
	hold := make(chan struct{})
	d.hold = hold
	d.cut(f)
	d.mu.Unlock()
	_ = clock.Real{}.Sleep(context.Background(), time.Microsecond) // what was on its way to the storage is there
	store, manifests := d.places.at(checkpointsIn(l.dir)), d.places.list(l.dir, "/manifests/")
	if len(manifests) > 1 && d.places.ended(l.dir) == "" {
		name := newest(manifests)
		m := d.places.manifest(l.dir, name)
		older := d.places.manifest(l.dir, manifests[len(manifests)-2])
		if m != nil && older != nil && m.Place == "" && older.Place == "" {
			victim := name
			for i := range m.Objects {
				if n, ok := storage.ParseDataName(m.Objects[i].Name); ok && n.Epoch == m.Epoch && f.pick%4 > 0 {
					victim = storage.JobDir(m.JobName) + "/" + m.Objects[i].Name
				}
			}
			if victim == name || f.pick%2 == 0 {
				_, _ = store.Put(context.Background(), victim, objstore.Bytes([]byte("damaged")))
			} else {
				_ = store.Delete(context.Background(), victim)
			}
			d.mu.Lock()
			d.happened["damaged"]++
			d.mu.Unlock()
		}
	}
	d.mu.Lock()
	d.hold = nil
	d.mu.Unlock()
	close(hold)
}
