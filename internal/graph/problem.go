package graph

import (
	"fmt"
	"strings"

	"github.com/weir-stream/weir/internal/errs"
)

// Severity separates what stops a job from what its author should know.
type Severity uint8

// The severities.
const (
	Error Severity = iota
	Warning
)

// Problem is one thing that is wrong with a program: where, what, and what to write instead.
type Problem struct {
	Code     string   // "graph.name.duplicate": closed list in this package and the facade, see docs/design/graph.md
	Severity Severity // Error unless said otherwise
	Where    Position // the user's line
	What     string   // one sentence without a full stop, naming the operator
	Fix      string   // what to write instead; "" when What says it all
}

// String prints the problem in two lines:
//
//	graph.name.missing: main.go:42: the window operator keeps state but has no name.
//	  Give it one as the first argument: .Window("hourly", ...).
func (p Problem) String() string {
	var b strings.Builder
	if p.Severity == Warning {
		b.WriteString("warning: ")
	}
	fmt.Fprintf(&b, "%s: ", p.Code)
	if !p.Where.IsZero() {
		fmt.Fprintf(&b, "%s: ", p.Where)
	}
	b.WriteString(sentence(p.What))
	if p.Fix != "" {
		b.WriteString("\n  ")
		b.WriteString(strings.ReplaceAll(sentence(p.Fix), "\n", "\n  "))
	}
	return b.String()
}

func sentence(s string) string {
	if s == "" || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

// Problems is what Check found, in the order of the user's lines.
type Problems []Problem

// Err returns nil when no problem is an Error, else an error of code plan.invalid that wraps a *CheckError and prints all
// of the errors (and not the warnings).
func (ps Problems) Err() error {
	wrong := ps.filter(Error)
	if len(wrong) == 0 {
		return nil
	}
	return errs.Wrap(&CheckError{Problems: wrong}, errs.CodePlanInvalid, errs.ClassUser, "", "")
}

// Warnings returns the problems that do not stop the job.
func (ps Problems) Warnings() Problems { return ps.filter(Warning) }

func (ps Problems) filter(s Severity) (out Problems) {
	for _, p := range ps {
		if p.Severity == s {
			out = append(out, p)
		}
	}
	return out
}

// CheckError says why a program cannot run. Its text lists every problem.
type CheckError struct {
	Problems Problems // all of Severity Error, at least one
}

// Error prints a heading and each problem in its two lines.
func (e *CheckError) Error() string {
	var b strings.Builder
	noun := "problems"
	if len(e.Problems) == 1 {
		noun = "problem"
	}
	fmt.Fprintf(&b, "the job cannot run: %d %s", len(e.Problems), noun)
	for _, p := range e.Problems {
		b.WriteString("\n")
		b.WriteString(p.String())
	}
	return b.String()
}
