package operator

import "strconv"

// Place returns "name (2/4)": the operator with its subtask, counted from one, and the parallelism.
func Place(name string, subtask, parallelism int) string {
	return name + " (" + strconv.Itoa(subtask+1) + "/" + strconv.Itoa(parallelism) + ")"
}
