// The limit of log lines, and a reader that blocks.

package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

func TestLinesAreThrottledAndWrittenAtTheEnd(t *testing.T) {
	var written bytes.Buffer
	lines := newLogThrottle(&written)
	for n := range 2 * linesPerSecond {
		fmt.Fprintf(lines, "line %d\n", n)
	}
	lines.Close()
	fmt.Fprintln(lines, "too late")
	// A second may end in between.
	if n := strings.Count(written.String(), "line "); n < linesPerSecond || !strings.HasPrefix(written.String(), "line 0\nline 1\n") || strings.Contains(written.String(), "late") {
		t.Errorf("%d lines: %s", n, written.String())
	}
}

func TestLogWriterDoesNotWaitForItsReader(t *testing.T) {
	reader, writer := io.Pipe() // the other end never reads
	defer reader.Close()
	lines := newLogThrottle(writer)
	began := time.Now()
	for n := range 10 {
		lines.since = began.Add(-time.Hour) // each is the first of its second
		for range maxLines {
			fmt.Fprintf(lines, "line %d\n", n)
		}
	}
	lines.mu.Lock()
	defer lines.mu.Unlock()
	if lines.omitted == 0 || len(lines.queue) != maxLines {
		t.Errorf("%d omitted, %d wait", lines.omitted, len(lines.queue))
	}
}
