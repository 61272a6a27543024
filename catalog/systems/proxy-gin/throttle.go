// Limits the lines on stderr.

package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// linesPerSecond limits throttle, so that an error that every request causes does not cause much
// work.
const linesPerSecond = 20

// throttle passes on up to linesPerSecond lines, and counts the rest.
type throttle struct {
	to io.Writer

	mu      sync.Mutex
	since   time.Time
	lines   int
	omitted int
}

func (t *throttle) Write(line []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); now.Sub(t.since) >= time.Second {
		if t.omitted > 0 {
			fmt.Fprintf(t.to, "proxy-gin: %d more lines omitted\n", t.omitted)
		}
		t.since, t.lines, t.omitted = now, 0, 0
	}
	if t.lines == linesPerSecond {
		t.omitted++
		return len(line), nil
	}
	t.lines++
	return t.to.Write(line)
}
