package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/weir-stream/weir/internal/app"
	"github.com/weir-stream/weir/internal/event"
)

// view shows how a job is doing.
type view interface {
	// show is called now and then, on one goroutine.
	show(s app.Snapshot)
	// done is called once, after the last show.
	done()
}

// quiet shows nothing.
type quiet struct{}

func (quiet) show(app.Snapshot) {}
func (quiet) done()             {}

// rates remembers the figures of the last time.
type rates struct {
	at   time.Duration
	rows map[string]int64
}

// rate returns the rows a second of an operator since the last call of next.
func (r *rates) rate(s app.Snapshot, f *app.Figures) float64 {
	d := (s.Duration - r.at).Seconds()
	if d <= 0 {
		return 0
	}
	return float64(max(0, moved(f)-r.rows[f.Name])) / d // counts begin anew with a restart
}

func (r *rates) next(s app.Snapshot) {
	r.at = s.Duration
	r.rows = map[string]int64{}
	for i := range s.Operators {
		r.rows[s.Operators[i].Name] = moved(&s.Operators[i])
	}
}

// moved is the number of rows that tells how fast an operator works.
func moved(f *app.Figures) int64 { return max(f.RowsIn, f.RowsOut) }

// plain writes a line now and then.
type plain struct {
	w     io.Writer
	every time.Duration
	last  time.Duration
	rates rates
}

func (p *plain) show(s app.Snapshot) {
	if s.Phase != "running" || s.Duration-p.last < p.every {
		return
	}
	p.last = s.Duration
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s:", clockText(s.Duration), s.Job)
	for i := range s.Operators {
		if f := &s.Operators[i]; f.Head {
			fmt.Fprintf(&b, " %s %s rows (%s/s)", f.Name, group(moved(f)), short(p.rates.rate(s, f)))
			if f.Watermark != event.NoTime && f.Watermark != event.MaxTime {
				fmt.Fprintf(&b, " watermark %s", watermark(f.Watermark))
			}
			b.WriteByte(';')
		}
	}
	p.rates.next(s)
	fmt.Fprintln(p.w, strings.TrimSuffix(b.String(), ";")+saved(s))
}

// saved says how checkpoints and restarts stand, behind two spaces; nothing if there are none.
func saved(s app.Snapshot) string {
	c := &s.Checkpoints
	var b strings.Builder
	if c.Last.Epoch > 0 {
		fmt.Fprintf(&b, "  checkpoint %d: %s in %v", c.Last.Epoch, bytesText(c.Last.Size), c.Last.Duration.Round(time.Millisecond))
	}
	if c.Failed > 0 {
		fmt.Fprintf(&b, "  %d failed", c.Failed)
	}
	if c.Restarts > 0 {
		fmt.Fprintf(&b, "  restarts: %d", c.Restarts)
	}
	return b.String()
}

// bytesText writes a size in three digits.
func bytesText(n int64) string { return short(float64(n)) + "B" }

func (p *plain) done() {}

// summary writes what a job has done, and every row that went no further by reason.
func summary(w io.Writer, r *app.Result) {
	if r == nil {
		return
	}
	var read int64
	for i := range r.Operators {
		if r.Operators[i].Kind == "source" {
			read += r.Operators[i].RowsIn
		}
	}
	perSecond := 0.0
	if s := r.Duration.Seconds(); s > 0 {
		perSecond = float64(read) / s
	}
	if n := r.Checkpoints.Restarts; n > 0 { // figures begin anew with each
		fmt.Fprintf(w, "%s: %s rows read since the last of %d restarts, %s in all\n", r.Job, group(read), n, r.Duration.Round(time.Millisecond))
	} else {
		fmt.Fprintf(w, "%s: %s rows read in %s, %s rows a second\n", r.Job, group(read), r.Duration.Round(time.Millisecond), group(int64(perSecond)))
	}
	if c := r.Checkpoints; c.Completed+c.Failed > 0 {
		fmt.Fprintf(w, "  %s checkpoints, %s failed; the last one: %s in %v\n", group(c.Completed), group(c.Failed), bytesText(c.Last.Size), c.Last.Duration.Round(time.Millisecond))
	}
	for i := range r.Operators {
		f := &r.Operators[i]
		note := func(n int64, what string) {
			if n > 0 {
				fmt.Fprintf(w, "  %s: %s %s\n", f.Name, group(n), what)
			}
		}
		note(f.Late, "late rows (behind the watermark)")
		note(f.NoTime, "rows without event time")
		note(f.Bad, "records that could not be decoded")
		note(f.Unread, "rows in side outputs that nobody reads")
	}
}

func watermark(t int64) string {
	switch t {
	case event.NoTime:
		return "-"
	case event.MaxTime:
		return "end"
	}
	return time.UnixMilli(t).UTC().Format("2006-01-02 15:04")
}

func clockText(d time.Duration) string {
	d = d.Round(time.Second)
	return fmt.Sprintf("%02d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
}

// group writes a number with commas.
func group(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// short writes a rate in three digits.
func short(x float64) string {
	switch {
	case x >= 1e9:
		return fmt.Sprintf("%.1fG", x/1e9)
	case x >= 1e6:
		return fmt.Sprintf("%.1fM", x/1e6)
	case x >= 1e3:
		return fmt.Sprintf("%.1fk", x/1e3)
	}
	return fmt.Sprintf("%.0f", x)
}
