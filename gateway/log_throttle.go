// Limits the lines on stderr. An error that every request causes is visible, but neither floods the
// log nor blocks a worker when stderr is read slowly.

package main

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// linesPerSecond limits logThrottle, so that an error that every request causes does not cause
	// much work.
	linesPerSecond = 20

	// maxLines is how many lines may wait to be written.
	maxLines = 100
)

// logThrottle passes on up to linesPerSecond lines, and counts the rest. Writers never wait: a slow
// reader of stderr would block a worker, and its clients.
type logThrottle struct {
	to    io.Writer
	queue chan []byte
	ended chan struct{}

	mu      sync.Mutex
	since   time.Time
	lines   int
	omitted int
	closed  bool
}

// newLogThrottle starts a goroutine that runs until Close.
func newLogThrottle(to io.Writer) *logThrottle {
	t := &logThrottle{to: to, queue: make(chan []byte, maxLines), ended: make(chan struct{})}
	go func() {
		defer close(t.ended)
		for line := range t.queue {
			_, _ = t.to.Write(line) // stderr fails, so the error has nowhere to go
		}
	}()
	return t
}

func (t *logThrottle) Write(line []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return len(line), nil
	}
	if now := time.Now(); now.Sub(t.since) >= time.Second {
		if t.omitted > 0 &&
			t.pass(fmt.Appendf(nil, "gateway: %d more lines omitted\n", t.omitted)) {
			t.omitted = 0
		}
		t.since, t.lines = now, 0
	}
	if t.lines == linesPerSecond || !t.pass(bytes.Clone(line)) { // the logger reuses the bytes
		t.omitted++
		return len(line), nil
	}
	t.lines++
	return len(line), nil
}

// pass reports whether there was room for a line.
func (t *logThrottle) pass(line []byte) bool {
	select {
	case t.queue <- line:
		return true
	default:
		return false
	}
}

// Close writes the waiting lines, for a second at most.
func (t *logThrottle) Close() {
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		close(t.queue)
	}
	t.mu.Unlock()
	select {
	case <-t.ended:
	case <-time.After(time.Second):
	}
}
