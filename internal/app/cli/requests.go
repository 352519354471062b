package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/weir-stream/weir/internal/app"
	"github.com/weir-stream/weir/internal/proc"
)

// obey carries out requests of other processes, one at a time, until ctx ends or there are no more, and tells of the savepoints.
func obey(ctx context.Context, requests <-chan proc.Request, control <-chan *app.Control, tell io.Writer) {
	var job *app.Control
	select {
	case job = <-control:
	case <-ctx.Done():
		return
	}
	for {
		var r proc.Request
		var ok bool
		select {
		case r, ok = <-requests:
		case <-ctx.Done():
		}
		if !ok {
			return
		}
		var path string
		var err error
		if r == proc.RequestStop {
			path, err = job.Stop(ctx, "", false)
		} else {
			path, err = job.Savepoint(ctx, "")
		}
		switch {
		case err == nil:
			fmt.Fprintf(tell, "savepoint: %s\n", path)
		case ctx.Err() == nil:
			fmt.Fprintf(tell, "no savepoint: %v\n", err)
		}
	}
}
