//go:build !unix

package proc

// requests is nothing where there are no signals for it.
func requests() (<-chan Request, func()) { return nil, func() {} }
