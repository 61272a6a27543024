package main

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// linesPerSecond is the most that throttle writes, so that a failure which every request meets is seen on stderr without becoming work
	// of its own.
	linesPerSecond = 20

	// mostLines may wait for whoever reads stderr.
	mostLines = 100
)

// throttle passes on each write, as one line, up to linesPerSecond, and counts the rest. Who writes does not wait: a worker would wait for
// whoever reads stderr, and its clients with it.
type throttle struct {
	to    io.Writer
	queue chan []byte
	ended chan struct{}

	mu      sync.Mutex
	since   time.Time
	lines   int
	omitted int
	closed  bool
}

// newThrottle has a goroutine of its own until it is closed.
func newThrottle(to io.Writer) *throttle {
	t := &throttle{to: to, queue: make(chan []byte, mostLines), ended: make(chan struct{})}
	go func() {
		defer close(t.ended)
		for line := range t.queue {
			_, _ = t.to.Write(line) // nobody is left to be told
		}
	}()
	return t
}

func (t *throttle) Write(line []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return len(line), nil
	}
	if now := time.Now(); now.Sub(t.since) >= time.Second {
		if t.omitted > 0 && t.pass(fmt.Appendf(nil, "gateway: %d more lines omitted\n", t.omitted)) {
			t.omitted = 0
		}
		t.since, t.lines = now, 0
	}
	if t.lines == linesPerSecond || !t.pass(bytes.Clone(line)) { // the logger writes its next line into the same bytes
		t.omitted++
		return len(line), nil
	}
	t.lines++
	return len(line), nil
}

// pass reports whether there was room for a line.
func (t *throttle) pass(line []byte) bool {
	select {
	case t.queue <- line:
		return true
	default:
		return false
	}
}

// Close writes what waits, for a second at most.
func (t *throttle) Close() {
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
