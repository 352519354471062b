package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/objstore"
)

// Open returns a store without objects, for one test.
type Open func(t *testing.T) objstore.Store

// Run runs the whole suite.
func Run(t *testing.T, open Open) {
	for _, c := range []struct {
		name string
		test func(*testing.T, objstore.Store)
	}{
		{"write and read", readBack},
		{"ranges", ranges},
		{"put replaces", replaces},
		{"put if absent", absent},
		{"one winner", winner},
		{"content must be as announced", announced},
		{"list", lists},
		{"delete", deletes},
		{"names", names},
		{"clash", clash},
		{"context", cancelled},
		{"claim", claims},
		{"faults", faults},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

var ctx = context.Background()

func text(s string) objstore.Content { return objstore.Bytes([]byte(s)) }

// unsized streams s without telling its size, in small pieces.
func unsized(s string) objstore.Content {
	return objstore.Content{Reader: &pieces{s}, Size: -1}
}

type pieces struct{ rest string }

// Read implements io.Reader.
func (p *pieces) Read(b []byte) (int, error) {
	if p.rest == "" {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(len(p.rest), 7)])
	p.rest = p.rest[n:]
	return n, nil
}

func put(t *testing.T, s objstore.Store, name, data string) {
	t.Helper()
	if _, err := s.Put(ctx, name, text(data)); err != nil {
		t.Fatalf("Put(%q): %v", name, err)
	}
}

func read(t *testing.T, s objstore.Store, name string, off, n int64) string {
	t.Helper()
	r, err := s.Get(ctx, name, off, n)
	if err != nil {
		t.Fatalf("Get(%q, %d, %d): %v", name, off, n, err)
	}
	b, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatalf("Get(%q, %d, %d): %v", name, off, n, err)
	}
	return string(b)
}

func want(t *testing.T, what string, err error, code errs.Code) {
	t.Helper()
	if !objstore.Is(err, code) {
		t.Errorf("%s: error %v, want code %s", what, err, code)
	}
}

func listed(t *testing.T, s objstore.Store, prefix string) (out []string) {
	t.Helper()
	for info, err := range s.List(ctx, prefix) {
		if err != nil {
			t.Fatalf("List(%q): %v", prefix, err)
		}
		out = append(out, fmt.Sprintf("%s:%d", info.Name, info.Size))
	}
	return out
}

func readBack(t *testing.T, s objstore.Store) {
	_, err := s.Get(ctx, "a", 0, -1)
	want(t, "Get of nothing", err, objstore.CodeNotFound)
	_, err = s.Stat(ctx, "a")
	want(t, "Stat of nothing", err, objstore.CodeNotFound)
	// CRC-32C of "123456789" is the check value that the catalogues of checksums print.
	for _, c := range []objstore.Content{unsized("123456789"), text("123456789")} {
		w, err := s.Put(ctx, "d/a", c)
		if err != nil || w.Size != 9 || w.CRC != 0xe3069283 {
			t.Fatalf("Put = %+v, %v", w, err)
		}
		if got := read(t, s, "d/a", 0, -1); got != "123456789" {
			t.Errorf("read %q", got)
		}
	}
	info, err := s.Stat(ctx, "d/a")
	if err != nil || info != (objstore.Info{Name: "d/a", Size: 9}) {
		t.Errorf("Stat = %+v, %v", info, err)
	}
	put(t, s, "empty", "")
	if got := read(t, s, "empty", 0, -1); got != "" {
		t.Errorf("the empty object reads %q", got)
	}
	big := strings.Repeat("0123456789abcdef", 50_000)
	put(t, s, "big", big)
	if got := read(t, s, "big", 0, -1); got != big {
		t.Errorf("800,000 bytes come back as %d others", len(got))
	}
	all, err := objstore.ReadAll(ctx, s, "d/a", 9)
	if err != nil || string(all) != "123456789" {
		t.Errorf("ReadAll = %q, %v", all, err)
	}
	_, err = objstore.ReadAll(ctx, s, "d/a", 8)
	want(t, "ReadAll above its limit", err, errs.CodeLimit)
}

func ranges(t *testing.T, s objstore.Store) {
	put(t, s, "a", "0123456789")
	for _, c := range []struct {
		off, n int64
		want   string
	}{
		{0, 10, "0123456789"}, {0, 0, ""}, {3, 4, "3456"}, {8, 5, "89"}, {10, 1, ""}, {10, -1, ""}, {4, -1, "456789"},
		{1, 1 << 62, "123456789"},
	} {
		if got := read(t, s, "a", c.off, c.n); got != c.want {
			t.Errorf("Get(%d, %d) = %q, want %q", c.off, c.n, got, c.want)
		}
	}
	for _, off := range []int64{-1, 11} {
		_, err := s.Get(ctx, "a", off, 1)
		want(t, fmt.Sprintf("Get from %d of 10 bytes", off), err, objstore.CodeRange)
	}
	b := make([]byte, 4)
	r := objstore.ReaderAt(ctx, s, "a")
	if n, err := r.ReadAt(b, 2); n != 4 || err != nil || string(b) != "2345" {
		t.Errorf("ReadAt = %d, %v, %q", n, err, b)
	}
	if n, err := r.ReadAt(b, 8); n != 2 || err != io.EOF {
		t.Errorf("ReadAt across the end = %d, %v", n, err)
	}
}

func replaces(t *testing.T, s objstore.Store) {
	put(t, s, "a", "a long first version")
	put(t, s, "a", "second")
	if got := read(t, s, "a", 0, -1); got != "second" {
		t.Errorf("read %q after the replacement", got)
	}
	if _, err := s.Put(ctx, "a", objstore.Content{Reader: strings.NewReader("xy"), Size: 3}); err == nil {
		t.Error("a short source is accepted")
	}
	if got := read(t, s, "a", 0, -1); got != "second" {
		t.Errorf("read %q after a failed replacement", got)
	}
}

func absent(t *testing.T, s objstore.Store) {
	w, err := s.PutIfAbsent(ctx, "m/1", unsized("first"))
	if err != nil || w.Size != 5 {
		t.Fatalf("PutIfAbsent = %+v, %v", w, err)
	}
	_, err = s.PutIfAbsent(ctx, "m/1", text("second"))
	want(t, "PutIfAbsent of an object that is there", err, objstore.CodeExists)
	if got := read(t, s, "m/1", 0, -1); got != "first" {
		t.Errorf("the refused write shows: %q", got)
	}
	if got := listed(t, s, ""); !slices.Equal(got, []string{"m/1:5"}) {
		t.Errorf("listed %v", got)
	}
	if err := s.Delete(ctx, "m/1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutIfAbsent(ctx, "m/1", text("third")); err != nil {
		t.Errorf("PutIfAbsent after Delete: %v", err)
	}
}

func winner(t *testing.T, s objstore.Store) {
	const writers = 8
	var won [writers]error
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() { _, won[i] = s.PutIfAbsent(ctx, "d/fence", text(strings.Repeat(fmt.Sprint(i), 1000))) })
	}
	all.Wait()
	winners := 0
	for i, err := range won {
		if err == nil {
			winners++
			if got := read(t, s, "d/fence", 0, -1); got != strings.Repeat(fmt.Sprint(i), 1000) {
				t.Errorf("writer %d won and %.8q... is there", i, got)
			}
			continue
		}
		want(t, fmt.Sprint("writer ", i), err, objstore.CodeExists)
	}
	if winners != 1 {
		t.Errorf("%d of %d writers won", winners, writers)
	}
}

func announced(t *testing.T, s objstore.Store) {
	broken := errors.New("the source broke")
	for _, c := range []struct {
		what string
		c    objstore.Content
		code errs.Code
	}{
		{"too few bytes", objstore.Content{Reader: strings.NewReader("abc"), Size: 4}, objstore.CodeContent},
		{"too many bytes", objstore.Content{Reader: strings.NewReader("abc"), Size: 2}, objstore.CodeContent},
		{"bytes and none expected", objstore.Content{Reader: strings.NewReader("abc"), Size: 0}, objstore.CodeContent},
		{"another checksum", objstore.Content{Reader: strings.NewReader("abc"), Size: 3, CRC: 1, Checked: true}, objstore.CodeContent},
		{"a source that fails", objstore.Content{Reader: io.MultiReader(strings.NewReader("abc"), &fails{broken}), Size: -1}, objstore.CodeContent},
		{"a source cut short", objstore.Content{Reader: &fails{io.ErrUnexpectedEOF}, Size: -1}, objstore.CodeContent},
	} {
		_, err := s.Put(ctx, "a", c.c)
		want(t, "Put with "+c.what, err, c.code)
	}
	_, err := s.PutIfAbsent(ctx, "a", objstore.Content{Reader: &fails{broken}, Size: -1})
	if !errors.Is(err, broken) {
		t.Errorf("the source's own error is lost: %v", err)
	}
	if got := listed(t, s, ""); len(got) > 0 {
		t.Errorf("failed writes left %v", got)
	}
}

type fails struct{ err error }

// Read implements io.Reader.
func (f *fails) Read([]byte) (int, error) { return 0, f.err }

func lists(t *testing.T, s objstore.Store) {
	if got := listed(t, s, ""); len(got) > 0 {
		t.Fatalf("an empty store lists %v", got)
	}
	// '-' and '.' sort before '/', '0' after it: the order is that of whole names, not of directories.
	for _, name := range []string{"job/chk-2/m", "job/chk-10/m", "job/chk/a", "job/chk.x", "job/chk-1", "job/chk0", "job2/a", "é"} {
		put(t, s, name, "12")
	}
	for _, c := range []struct{ prefix, want string }{
		{"", "job/chk-1 job/chk-10/m job/chk-2/m job/chk.x job/chk/a job/chk0 job2/a é"},
		{"job", "job/chk-1 job/chk-10/m job/chk-2/m job/chk.x job/chk/a job/chk0 job2/a"},
		{"job/", "job/chk-1 job/chk-10/m job/chk-2/m job/chk.x job/chk/a job/chk0"},
		{"job/chk-1", "job/chk-1 job/chk-10/m"},
		{"job/chk-1/", ""}, {"job/chk/a", "job/chk/a"}, {"x", ""}, {"/", ""}, {"..", ""}, {"é", "é"},
	} {
		var w []string
		for name := range strings.FieldsSeq(c.want) {
			w = append(w, name+":2")
		}
		if got := listed(t, s, c.prefix); !slices.Equal(got, w) {
			t.Errorf("List(%q) = %v, want %v", c.prefix, got, w)
		}
	}
	seen := 0
	for range s.List(ctx, "") {
		if seen++; seen == 2 {
			break
		}
	}
	if seen != 2 {
		t.Errorf("the caller stopped after 2, %d were yielded", seen)
	}
}

func deletes(t *testing.T, s objstore.Store) {
	put(t, s, "d/e/a", "1")
	put(t, s, "d/b", "2")
	for range 2 {
		if err := s.Delete(ctx, "d/e/a"); err != nil {
			t.Fatal(err)
		}
	}
	for _, never := range []string{"d/e", "d", "x/y", "d/b/c"} {
		if err := s.Delete(ctx, never); err != nil {
			t.Errorf("Delete(%q): %v", never, err)
		}
	}
	_, err := s.Get(ctx, "d/e/a", 0, -1)
	want(t, "Get after Delete", err, objstore.CodeNotFound)
	if got := listed(t, s, ""); !slices.Equal(got, []string{"d/b:1"}) {
		t.Errorf("left: %v", got)
	}
	put(t, s, "d/e/a", "again")
	if got := read(t, s, "d/e/a", 0, -1); got != "again" {
		t.Errorf("read %q", got)
	}
}

func names(t *testing.T, s objstore.Store) {
	good := []string{"a", ".hidden", ".tmp-w-1", "...", "a b", "100%", "%2E", "A:B", "c\\d", "é/ü", "*?[x]", "~", "nul",
		strings.Repeat("ü", 40), strings.TrimSuffix(strings.Repeat(strings.Repeat("x", 74)+"/", 12), "/")}
	for _, name := range good {
		put(t, s, name, name)
	}
	for _, name := range good {
		if got := read(t, s, name, 0, -1); got != name {
			t.Errorf("%q holds %q", name, got)
		}
	}
	if got := listed(t, s, ""); len(got) != len(good) {
		t.Errorf("%d names listed of %d: %q", len(got), len(good), got)
	}
	for _, name := range []string{"", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "a\x00", "a\nb", "\xff", "\u0085",
		strings.Repeat("x", 81), strings.TrimSuffix(strings.Repeat(strings.Repeat("x", 75)+"/", 12), "/")} {
		_, err := s.Put(ctx, name, text("x"))
		want(t, fmt.Sprintf("Put(%.20q)", name), err, objstore.CodeName)
		_, err = s.PutIfAbsent(ctx, name, text("x"))
		want(t, fmt.Sprintf("PutIfAbsent(%.20q)", name), err, objstore.CodeName)
		_, err = s.Get(ctx, name, 0, -1)
		want(t, fmt.Sprintf("Get(%.20q)", name), err, objstore.CodeName)
		_, err = s.Stat(ctx, name)
		want(t, fmt.Sprintf("Stat(%.20q)", name), err, objstore.CodeName)
		want(t, fmt.Sprintf("Delete(%.20q)", name), s.Delete(ctx, name), objstore.CodeName)
	}
}

// clash: a store may keep a and a/b, or refuse the second one with CodeName, and must lose neither.
func clash(t *testing.T, s objstore.Store) {
	put(t, s, "a", "1")
	put(t, s, "d/b", "2")
	for _, name := range []string{"a/b", "d"} {
		if _, err := s.Put(ctx, name, text("3")); err != nil {
			want(t, "Put of "+name, err, objstore.CodeName)
			_, err = s.Get(ctx, name, 0, -1)
			want(t, "Get of "+name, err, objstore.CodeNotFound)
			_, err = s.Stat(ctx, name)
			want(t, "Stat of "+name, err, objstore.CodeNotFound)
		}
	}
	if got := read(t, s, "a", 0, -1) + read(t, s, "d/b", 0, -1); got != "12" {
		t.Errorf("read %q", got)
	}
}

func cancelled(t *testing.T, s objstore.Store) {
	put(t, s, "a", "old")
	ended, end := context.WithCancel(ctx)
	end()
	calls := map[string]func() error{
		"Put":         func() error { _, err := s.Put(ended, "a", text("new")); return err },
		"PutIfAbsent": func() error { _, err := s.PutIfAbsent(ended, "b", text("new")); return err },
		"Get":         func() error { _, err := s.Get(ended, "a", 0, -1); return err },
		"Stat":        func() error { _, err := s.Stat(ended, "a"); return err },
		"Delete":      func() error { return s.Delete(ended, "a") },
		"List": func() error {
			for _, err := range s.List(ended, "") {
				return err
			}
			return nil
		},
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s after the end of its context: %v", name, err)
		}
	}
	// A context that ends in the middle of a write.
	half, end := context.WithCancel(ctx)
	_, err := s.Put(half, "a", objstore.Content{Reader: io.MultiReader(strings.NewReader("x"), &does{end}, strings.NewReader("y")), Size: -1})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Put cancelled in the middle: %v", err)
	}
	if got := listed(t, s, ""); !slices.Equal(got, []string{"a:3"}) {
		t.Errorf("listed %v", got)
	}
}

type does struct{ f func() }

// Read implements io.Reader.
func (d *does) Read([]byte) (int, error) {
	d.f()
	return 0, io.EOF
}

func claims(t *testing.T, s objstore.Store) {
	if mine, err := objstore.Claim(ctx, s, "m/1", []byte("term 4"), 3); !mine || err != nil {
		t.Fatalf("the first claim: %v, %v", mine, err)
	}
	for data, wantMine := range map[string]bool{"term 4": true, "term 5": false, "term": false, "term 44": false} {
		if mine, err := objstore.Claim(ctx, s, "m/1", []byte(data), 3); mine != wantMine || err != nil {
			t.Errorf("claim by %q: %v, %v", data, mine, err)
		}
	}
	first := func(f objstore.Fault) objstore.Store {
		return objstore.NewFaulty(s, func(op objstore.Op) objstore.Fault {
			if op.N == 1 {
				return f
			}
			return objstore.Fault{}
		})
	}
	for name, f := range map[string]objstore.Fault{"lost": objstore.LostAnswer(), "503": objstore.Unavailable(), "torn": {Torn: 2}} {
		if mine, err := objstore.Claim(ctx, first(f), "m/"+name, []byte("mine"), 2); !mine || err != nil {
			t.Errorf("claim with the first answer %s: %v, %v", name, mine, err)
		}
	}
	mine, err := objstore.Claim(ctx, first(objstore.LostAnswer()), "m/1", []byte("term 9"), 2)
	if mine || err != nil {
		t.Errorf("a lost race with a lost answer: %v, %v", mine, err)
	}
	_, err = objstore.Claim(ctx, first(objstore.NoSpace()), "m/2", []byte("x"), 1)
	want(t, "a claim out of tries", err, objstore.CodeNoSpace)
}

// faults checks that the wrapped store keeps its promises under each fault, and that each is seen as meant.
func faults(t *testing.T, s objstore.Store) {
	var next objstore.Fault
	var trace []string
	f := objstore.NewFaulty(s, func(op objstore.Op) objstore.Fault {
		trace = append(trace, op.String())
		return next
	})
	put(t, f, "a", "0123456789")
	for _, c := range []struct {
		name  string
		fault objstore.Fault
		code  errs.Code
		after string // what a holds after a Put of "new"
	}{
		{"503", objstore.Unavailable(), objstore.CodeUnavailable, "0123456789"},
		{"no space", objstore.NoSpace(), objstore.CodeNoSpace, "0123456789"},
		{"torn", objstore.Fault{Torn: 2}, objstore.CodeUnavailable, "0123456789"},
		{"lost", objstore.LostAnswer(), objstore.CodeUnavailable, "new"},
	} {
		next = c.fault
		_, err := f.Put(ctx, "a", text("new"))
		want(t, c.name, err, c.code)
		if errs.ClassOf(err) != errs.ClassRetry {
			t.Errorf("%s: class %v, want retry", c.name, errs.ClassOf(err))
		}
		next = objstore.Fault{}
		if got := read(t, f, "a", 0, -1); got != c.after {
			t.Errorf("%s: a holds %q, want %q", c.name, got, c.after)
		}
	}
	next = objstore.Fault{Torn: 2}
	r, err := f.Get(ctx, "a", 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	want(t, "a torn read", err, objstore.CodeUnavailable)
	if !bytes.Equal(b, []byte("ne")) {
		t.Errorf("a read torn after 2 bytes yields %q", b)
	}
	r.Close()
	next = objstore.Fault{Wait: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
	short, end := context.WithCancel(ctx)
	end()
	if _, err := f.Stat(short, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("a slow request whose context ends: %v", err)
	}
	if len(trace) != 11 || trace[0] != "put a" || trace[10] != "stat a" {
		t.Errorf("trace %q", trace)
	}
}
