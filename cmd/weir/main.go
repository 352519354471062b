// Weir is the command around jobs: it looks at what they have left. Jobs themselves are programs of their own (weir.Main).
package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/proc"
	"github.com/weir-stream/weir/internal/storage"
	"github.com/weir-stream/weir/internal/storage/inspect"
)

func main() {
	p := proc.Self()
	p.Exit(run(p, fs.Real{}))
}

// run runs the command line and returns the exit code: 0, 1 if what was asked failed or has problems, 2 if it makes no sense.
func run(p *proc.Process, disk fs.FS) int {
	failed := false
	root := &cobra.Command{Use: "weir", Short: "Look at what Weir's jobs have left", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(inspectCommand(p, disk, &failed))
	root.SetArgs(p.Args)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	root.CompletionOptions.DisableDefaultCmd = true
	ctx, stop := p.Interrupts(context.Background())
	defer stop()
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(p.Stderr, "weir:", err)
		if failed {
			return 1
		}
		return 2
	}
	if failed {
		return 1
	}
	return 0
}

const inspectLong = `Print a checkpoint or savepoint: its operators with parallelism, watermarks, keys and states, their
types, sizes and spread over key groups, and the positions of sources.

PATH is the directory of a savepoint, a manifest of a job's checkpoint, the directory of a job (its
checkpoints and the newest of them), or the directory of checkpoints (execution.checkpointing.dir).
Nothing is changed. The exit code is 1 if it cannot be restored.`

func inspectCommand(p *proc.Process, disk fs.FS, failed *bool) *cobra.Command {
	var asJSON, full bool
	c := &cobra.Command{Use: "inspect PATH", Short: "Print a checkpoint, a savepoint or a job's directory", Long: inspectLong, Args: cobra.ExactArgs(1)}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, with everything")
	c.Flags().BoolVar(&full, "full", false, fmt.Sprintf("read and check all state, also if it is more than %d MiB", inspect.ReadMost>>20))
	c.RunE = func(c *cobra.Command, args []string) error {
		r, err := inspect.Path(c.Context(), storage.LocalPlaces(disk, "inspect"), args[0], full)
		if err != nil {
			*failed = true
			return err
		}
		*failed = r.Snapshot != nil && r.Snapshot.Problems != nil
		if !asJSON {
			return r.Text(p.Stdout)
		}
		out := json.NewEncoder(p.Stdout)
		out.SetIndent("", "  ")
		out.SetEscapeHTML(false)
		return out.Encode(r)
	}
	return c
}
