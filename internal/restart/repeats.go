package restart

import (
	"fmt"
	"strings"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
)

const (
	// sameMax is how often the same failure on a record may come again after restores from one checkpoint.
	sameMax = 3
	// anyMax is the same for restores from checkpoints that differ: some were still taken in front of the record.
	anyMax = 10
)

// Repeats recognizes the same failure on the same record after each restore. It belongs to one goroutine.
type Repeats struct {
	// Where is asked once, for the error for the user: a sentence that says what was read when the failure came, "" if that is
	// not known. May be nil.
	Where func(cause *errs.Error) string

	last  string // what the last failure was, "" if it was not about a record
	epoch ids.Epoch
	same  int // restores from epoch that ended like that
	any   int // restores that did, from whichever
}

// Failed takes notice of a failure of a job that had been restored from epoch (0: had begun from nothing, or from a savepoint).
// If it is sure to come again it returns the error for the user, else nil.
func (r *Repeats) Failed(cause *errs.Error, epoch ids.Epoch) *errs.Error {
	key := recordOf(cause)
	switch {
	case key == "" || key != r.last:
		r.last, r.epoch, r.same, r.any = key, epoch, 0, 0
		return nil
	case epoch != r.epoch:
		r.epoch, r.same = epoch, 0
	}
	r.same++
	r.any++
	if r.same < sameMax && r.any < anyMax {
		return nil
	}
	from := fmt.Sprintf("checkpoint %d", epoch)
	if epoch == 0 {
		from = "the beginning"
	}
	where := ""
	if r.Where != nil {
		if where = r.Where(cause); where != "" {
			where = " " + where
		}
	}
	return &errs.Error{Code: cause.Code, Class: errs.ClassFailJob, Op: cause.Op, Err: cause.Err,
		Msg: fmt.Sprintf("the same record has failed %d times, after each restart again (the last one from %s), so the job is not restarted any more: mend the function or the record, "+
			"or have the function skip it; then start the job again, and it goes on from its latest checkpoint.%s The failure: %s", r.any+1, from, where, cause.Msg)}
}

// recordOf names the record that a failure is about, by what fails on it and how; "" if it is not about one. The stack of
// a panic is left out: it holds addresses. So is how far the source had come: that depends on where batches begin.
func recordOf(cause *errs.Error) string {
	switch cause.Code {
	case errs.CodeUserPanic, errs.CodeUserFunction, errs.CodeRecordDecode, errs.CodeRecordTimestamp:
	default:
		return ""
	}
	text, positioned := cause.Unpositioned()
	if !positioned && cause.Code != errs.CodeUserPanic {
		text = cause.Msg
	}
	if user := cause.Code == errs.CodeUserPanic || cause.Code == errs.CodeUserFunction; user && !strings.Contains(text, " (at ") {
		return "" // in Open or Close, where what fails may be outside and come back
	}
	if cause.Err != nil {
		text += "\x00" + cause.Err.Error()
	}
	return string(cause.Code) + "\x00" + cause.Op + "\x00" + text
}
