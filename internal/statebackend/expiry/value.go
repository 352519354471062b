package expiry

import (
	"unsafe"

	"github.com/weir-stream/weir/internal/statebackend"
)

// value implements statebackend.Value.
type value struct {
	*expiring
	in statebackend.Value
}

func newValue(e *expiring, in statebackend.Value) *value {
	v := &value{e, in}
	e.sweep.clean = func(u *unit, now int64) { v.look(u.at(), u.ns, now, false) }
	return v
}

// look returns what an access at a time sees, and removes or stamps it if there is reason to.
func (v *value) look(key statebackend.Key, ns []byte, now int64, read bool) ([]byte, bool) {
	b, ok := v.in.Get(key, ns)
	if !ok {
		return nil, false
	}
	stamp := stampOf(b)
	switch {
	case v.expired(stamp, now):
		shown := v.with(stamp, b[StampBytes:])[StampBytes:]
		v.in.Clear(key, ns)
		v.count(1)
		return shown, v.ShowExpired
	case v.stale(stamp, now) && (read || stamp == Unknown):
		shown := v.with(now, b[StampBytes:])
		v.in.Put(key, ns, shown)
		return shown[StampBytes:], true
	}
	return b[StampBytes:], true
}

func (v *value) Get(key statebackend.Key, ns []byte) ([]byte, bool) {
	b, ok := v.look(key, ns, v.begin(), true)
	if !ok {
		return nil, false
	}
	return b, true
}

func (v *value) Put(key statebackend.Key, ns, b []byte) {
	now := v.begin()
	v.in.Put(key, ns, v.with(now, b))
}

func (v *value) Ref(key statebackend.Key, ns []byte) (unsafe.Pointer, bool) {
	now := v.begin()
	p, created := v.in.Ref(key, ns)
	at := unsafe.Add(p, StampBytes)
	if stamp := *(*int64)(p); !created && v.expired(stamp, now) {
		v.count(1)
		if !v.ShowExpired {
			clear(unsafe.Slice((*byte)(at), v.width))
			created = true
		}
	}
	*(*int64)(p) = now
	return at, created
}

func (v *value) Clear(key statebackend.Key, ns []byte) bool {
	now := v.begin()
	b, ok := v.in.Get(key, ns)
	if !ok {
		return false
	}
	if v.expired(stampOf(b), now) {
		v.count(1)
		ok = v.ShowExpired
	}
	v.in.Clear(key, ns)
	return ok
}

func (v *value) All(f func(key statebackend.Key, ns, value []byte) bool) {
	now := v.now()
	v.in.All(func(key statebackend.Key, ns, b []byte) bool {
		return v.hidden(stampOf(b), now) || f(key, ns, b[StampBytes:])
	})
}

// Len visits everything.
func (v *value) Len() (n int) {
	v.All(func(statebackend.Key, []byte, []byte) bool { n++; return true })
	return n
}

// Touch implements statebackend.Toucher.
func (v *value) Touch(hashes []uint64) {
	if t, ok := v.in.(statebackend.Toucher); ok {
		t.Touch(hashes)
	}
}
