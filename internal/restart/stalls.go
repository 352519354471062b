package restart

import (
	"fmt"
	"strings"
	"time"

	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
)

// stallKinds bounds how many different failures are remembered.
const stallKinds = 64

// Stalls recognizes a job that fails in the same way again and again and completes no checkpoint in between, whatever fails:
// an Open, a sink, the storage, a process that exits. It belongs to one goroutine. The zero value never finds anything.
type Stalls struct {
	// Attempts is how often the same failure may come, 0 for any number.
	Attempts int
	// Span is how long it must have gone on, too, if what fails may be outside, and come back.
	Span time.Duration
	// Where is as in Repeats.
	Where func(cause *errs.Error) string

	last  ids.Epoch // the newest complete checkpoint at the last failure
	kinds map[string]*stall
}

// stall is one kind of failure since the last complete checkpoint.
type stall struct {
	times int
	since time.Duration
}

// NewStalls returns what the options say. Without checkpoints nothing tells progress, so nothing is found.
func NewStalls(c *config.Config, checkpoints bool) (Stalls, error) {
	s := Stalls{Attempts: c.Get(config.RestartSameAttempts), Span: c.Get(config.RestartSameDuration)}
	if s.Attempts < 0 || s.Span < 0 {
		return s, bad("restart-strategy.repeated-failure", "attempts is %d and duration %v: neither can be negative", s.Attempts, s.Span)
	}
	if !checkpoints {
		s.Attempts = 0
	}
	return s, nil
}

// Failed takes notice of a failure at now. last is the newest checkpoint that this run has completed, from the one that the
// failed tasks had started from. If restarts are of no use it returns the error for the user, else nil.
func (s *Stalls) Failed(cause *errs.Error, from, last ids.Epoch, now time.Duration) *errs.Error {
	if s.Attempts == 0 {
		return nil
	}
	if last != s.last || s.kinds == nil || len(s.kinds) >= stallKinds {
		s.last, s.kinds = last, map[string]*stall{}
	}
	key := kindOf(cause)
	k := s.kinds[key]
	if k == nil {
		k = &stall{since: now}
		s.kinds[key] = k
	}
	k.times++
	lasted := now - k.since
	if k.times <= s.Attempts || !atHome(cause) && lasted < s.Span {
		return nil
	}
	where := ""
	if s.Where != nil {
		if where = s.Where(cause); where != "" {
			where = " " + where
		}
	}
	start := "from the beginning"
	if from > 0 {
		start = fmt.Sprintf("from checkpoint %d", from)
	}
	return &errs.Error{Code: cause.Code, Class: errs.ClassFailJob, Op: cause.Op, Err: cause.Err,
		Msg: fmt.Sprintf("the job has failed in the same way %d times within %v, the last time %s, and has completed no checkpoint in between, so it is not restarted any more "+
			"(restart-strategy.repeated-failure): mend what fails and start the job again, and it goes on from its latest checkpoint.%s The failure: %s",
			k.times, lasted.Round(time.Millisecond), start, where, cause.Msg)}
}

// atHome reports whether a failure is one of the program's own, which nothing outside of it mends.
func atHome(cause *errs.Error) bool {
	switch cause.Code {
	case errs.CodeUserPanic, errs.CodeBug, errs.CodeCorrupt, errs.CodeCodec, errs.CodeSchema, errs.CodeRecordDecode, errs.CodeRecordTimestamp:
		return true
	case errs.CodeWorkerLost:
		return strings.Contains(cause.Msg, "exited with status")
	}
	return false
}

// kindOf names a failure by what fails and how. Numbers differ when the same happens again: of subtasks, processes, rows,
// checkpoints and temporary files. An exit status does not.
func kindOf(cause *errs.Error) string {
	text, _ := cause.Unpositioned()
	if cause.Code != errs.CodeWorkerLost {
		text = unnumbered(text)
	}
	if cause.Err != nil {
		first, _, _ := strings.Cut(cause.Err.Error(), "\n")
		text += "\x00" + unnumbered(first)
	}
	return string(cause.Code) + "\x00" + unnumbered(cause.Op) + "\x00" + text
}

// unnumbered replaces each word with a digit in it.
func unnumbered(text string) string {
	word := func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	var b strings.Builder
	for len(text) > 0 {
		n := strings.IndexFunc(text, func(r rune) bool { return !word(r) })
		if n < 0 {
			n = len(text)
		}
		if strings.ContainsAny(text[:n], "0123456789") {
			b.WriteByte('#')
		} else {
			b.WriteString(text[:n])
		}
		text = text[n:]
		n = strings.IndexFunc(text, word)
		if n < 0 {
			n = len(text)
		}
		b.WriteString(text[:n])
		text = text[n:]
	}
	return b.String()
}
