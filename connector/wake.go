package connector

import "context"

// Wake is what a reader's Wait waits for: AddSplit, Pause and Close call Up. It holds one token, so that Up never blocks and
// none that comes before Wait is lost. A reader that waits for something else too receives from the Wake beside that.
type Wake chan struct{}

// NewWake returns a Wake without a token.
func NewWake() Wake { return make(Wake, 1) }

// Up makes the Wait that runs return, or else the next one. It may be called from any goroutine.
func (w Wake) Up() {
	select {
	case w <- struct{}{}:
	default:
	}
}

// Wait blocks until Up was called, or ctx ends. It takes the token.
func (w Wake) Wait(ctx context.Context) error {
	select {
	case <-w:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
