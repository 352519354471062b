package graph

// Regions are the failover regions of a job: the sets of tasks that exchange rows while they run (over edges that are not
// Blocking), directly or through others. When a task fails, its whole region restarts, and no other region needs to.
// Regions are sorted by their first task, tasks ascending.
func Regions(x *ExecutionGraph) [][]int {
	root := make([]int, len(x.Tasks))
	for i := range root {
		root[i] = i
	}
	find := func(t int) int {
		for root[t] != t {
			root[t] = root[root[t]]
			t = root[t]
		}
		return t
	}
	join := func(a, b int) {
		a, b = find(a), find(b)
		root[max(a, b)] = min(a, b)
	}
	for _, e := range x.Job.Edges {
		if e.Edge.Blocking {
			continue
		}
		// Not every channel of an all-to-all edge is needed: each consumer with its first producer, and each producer with its first consumer.
		for to := range x.Job.Vertices[e.To].Parallelism {
			from, _ := x.producers(e, to)
			join(x.TaskAt(e.From, from), x.TaskAt(e.To, to))
		}
		for from := range x.Job.Vertices[e.From].Parallelism {
			to, _ := x.consumers(e, from)
			join(x.TaskAt(e.From, from), x.TaskAt(e.To, to))
		}
	}
	at := map[int]int{}
	var out [][]int
	for t := range root {
		r := find(t)
		i, seen := at[r]
		if !seen {
			i = len(out)
			at[r] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], t)
	}
	return out
}
