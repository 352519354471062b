package objstore

import (
	"bytes"
	"context"
	"io"

	"github.com/weir-stream/weir/internal/errs"
)

// Claim writes data under name unless another writer already did, and reports whether the object there is the caller's.
// data must differ from what any other writer would write there (it holds the writer's term and attempt), because that is
// how Claim tells a lost answer from a lost race:
//  1. PutIfAbsent writes the object, but the answer is lost;
//  2. the second try is told that the object exists;
//  3. the bytes there are data: the first try had won.
//
// An error of class Retry means that it is not known yet who won; Claim may be called again with the same data.
// tries bounds the requests to write.
func Claim(ctx context.Context, s Store, name string, data []byte, tries int) (mine bool, err error) {
	for range max(tries, 1) {
		_, err = s.PutIfAbsent(ctx, name, Bytes(data))
		if err == nil {
			return true, nil
		}
		if Is(err, CodeExists) {
			return same(ctx, s, name, data)
		}
		if ctx.Err() != nil || errs.ClassOf(err) != errs.ClassRetry {
			break
		}
	}
	return false, err
}

// same reports whether the object consists of data. It reads at most one byte more than data has.
func same(ctx context.Context, s Store, name string, data []byte) (bool, error) {
	r, err := s.Get(ctx, name, 0, int64(len(data))+1)
	if err != nil {
		return false, err
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	return bytes.Equal(got, data), err
}
