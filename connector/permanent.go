package connector

import "errors"

// Permanent marks an error that will be the same however often the job is restarted: a split of another source, a path
// below a file. An error of a source or sink that wraps it ends the job, where any other is followed by a restart. It returns
// nil if err is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanent{err}
}

// IsPermanent reports whether err was marked by Permanent, or wraps one that was.
func IsPermanent(err error) bool {
	var p *permanent
	return errors.As(err, &p)
}

type permanent struct{ error }

// Unwrap returns the marked error.
func (p *permanent) Unwrap() error { return p.error }
