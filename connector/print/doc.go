// Package print is the sink that prints rows, each on a line of its own, where the program that started the job prints.
// Like Flink's, a line begins with the sink's label and the number of the subtask, counted from 1: "label:2> row"; without
// a label "2> row"; with parallelism 1 "label> row" or the row alone.
package print
