package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
)

// screen is the end of a terminal: a block of lines that is drawn over and over, above which everything else scrolls. The
// cursor is always at the start of the line below the block, so that nothing needs to be put right when the process ends,
// however it does.
type screen struct {
	w io.Writer

	mu    sync.Mutex
	block string // as drawn, a line break behind each line; "" if there is none
}

// draw replaces the block. Lines are written over and not blanked first, which would flicker.
func (s *screen) draw(lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	above := s.up()
	s.block = ""
	for _, l := range lines {
		s.block += "\r" + l + "\x1b[K\n" // blank what is left of the line
	}
	_, _ = io.WriteString(s.w, above+s.block+"\x1b[J") // and what is below: an echoed ^C, a longer block
}

// keep makes the block a part of what scrolls.
func (s *screen) keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.block = ""
}

// up moves the cursor to the start of the block.
func (s *screen) up() string {
	if n := strings.Count(s.block, "\n"); n > 0 {
		return fmt.Sprintf("\r\x1b[%dA", n)
	}
	return ""
}

// over returns a writer whose lines appear above the block. It holds back an unfinished line until it is finished, or there is
// no block.
func (s *screen) over(w io.Writer) io.Writer { return &above{s: s, w: w} }

// above writes over a screen's block.
type above struct {
	s    *screen
	w    io.Writer
	rest []byte // an unfinished line, guarded by s.mu
}

// Write implements io.Writer.
func (a *above) Write(p []byte) (int, error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	text := append(a.rest, p...)
	a.rest = nil
	if a.s.block != "" {
		end := bytes.LastIndexByte(text, '\n') + 1
		a.rest = bytes.Clone(text[end:])
		text = text[:end]
	}
	if len(text) == 0 {
		return len(p), nil
	}
	if a.s.block != "" {
		if _, err := io.WriteString(a.s.w, a.s.up()+"\x1b[J"); err != nil {
			return 0, err
		}
	}
	_, err := a.w.Write(text)
	if a.s.block != "" {
		_, _ = io.WriteString(a.s.w, a.s.block)
	}
	return len(p), err
}
