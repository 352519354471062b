package storage

import (
	"context"
	"slices"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/objstore"
)

// retry repeats f while its error is of class Retry and ctx has not ended.
func (j *Job) retry(ctx context.Context, f func() error) error { return retry(ctx, j.cfg, f) }

func retry(ctx context.Context, cfg Config, f func() error) error {
	for wait := retryFirst; ; wait = min(2*wait, retryMost) {
		err := f()
		if err == nil || errs.ClassOf(err) != errs.ClassRetry || ctx.Err() != nil {
			return err
		}
		if wait == retryMost {
			cfg.Tell("the store of checkpoints does not answer as it should; it is asked again", err)
		}
		if cfg.Clock.Sleep(ctx, wait) != nil {
			return err
		}
	}
}

// claim writes data under a name of the job's store unless another writer has it, until it is certain who does. An error says
// that the object is certainly not there, but one that answers to errors.Is(err, ctx.Err()), or of CodeUnavailable when ctx has
// ended: then nothing is known.
func (j *Job) claim(ctx context.Context, name string, data []byte) (mine bool, err error) {
	return claimIn(ctx, j.cfg, j.store, name, data)
}

func claimIn(ctx context.Context, cfg Config, store objstore.Store, name string, data []byte) (mine bool, err error) {
	unknown, tries := false, 0
	certain := []errs.Code{objstore.CodeNoSpace, objstore.CodeName, errs.CodeIO}
	err = retry(ctx, cfg, func() error {
		mine, err = objstore.Claim(ctx, store, name, data, 1)
		// A store says CodeUnavailable if the object may be there. Of Claim a read that failed says so, too: the name is
		// taken then, and only the bytes can tell by whom.
		if err == nil || slices.ContainsFunc(certain, func(c errs.Code) bool { return objstore.Is(err, c) }) {
			tries++
		} else {
			unknown = true
		}
		if err != nil && !unknown && tries == triesCertain {
			return errs.Wrap(err, errs.CodeOf(err), errs.ClassFailTask, "checkpoint", "tried %d times", tries)
		}
		if err != nil && unknown && errs.ClassOf(err) != errs.ClassRetry && ctx.Err() == nil {
			// An earlier try may have written it: only its bytes can tell.
			return errs.Wrap(err, errs.CodeOf(err), errs.ClassRetry, "checkpoint", "it is not known whether it was written")
		}
		return err
	})
	return mine, err
}

// read reads a whole object.
func (j *Job) read(ctx context.Context, name string, limit int64) (b []byte, err error) {
	err = j.retry(ctx, func() error {
		b, err = objstore.ReadAll(ctx, j.store, name, limit)
		return err
	})
	return b, err
}

// delete repeats a deletion a few times: what stays is swept later.
func (j *Job) delete(ctx context.Context, store objstore.Store, name string) error {
	tries := 0
	return j.retry(ctx, func() error {
		err := store.Delete(ctx, name)
		if tries++; err != nil && tries == triesCertain {
			return errs.Wrap(err, errs.CodeOf(err), errs.ClassFailTask, "checkpoint", "tried %d times", tries)
		}
		return err
	})
}
