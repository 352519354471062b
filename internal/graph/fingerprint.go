package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
)

// Fingerprint is a hash of the plan, as 32 hexadecimal digits: names, kinds, edges, partitionings, types, parallelism and
// layout, but neither functions nor source lines. Processes that build the same program get the same one; a worker whose
// fingerprint differs from the JobManager's runs another version of the program and must not take part.
//
// Parallelism counts as written. Settings from outside (Options) are sent with the job and are not part of it.
func Fingerprint(g *Graph) string {
	h := sha256.New()
	fmt.Fprintf(h, "weir plan 1 %q %d\n", g.Name, len(g.Nodes))
	for _, n := range g.Nodes {
		writeNode(h, n)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// writeNode quotes every string, so that no two different plans have one text.
func writeNode(w io.Writer, n *Node) {
	fmt.Fprintf(w, "node %d %q %q %q %q p=%d/%d/%d source=%t sink=%t state=%t keyed=%t bounded=%t chain=%d slot=%q side=%q\n",
		n.ID, n.Name, n.UID, n.Kind, n.Desc, n.Parallelism, n.MaxParallelism, n.SourceMaxParallelism,
		n.Source, n.Sink, n.Stateful, n.Keyed, n.Bounded, n.Chaining, n.SlotGroup, n.SideOutputs)
	for _, e := range n.Inputs {
		fmt.Fprintf(w, "edge %d %d %q %s %t %t %q %q %t %x\n", e.From, e.Input, e.Side, e.Partition.Kind, e.Partition.Explicit, e.Partition.Keys,
			e.Partition.Type, e.Type, e.Blocking, e.Partition.KeySchema)
	}
}
