package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/go-kit/log"
)

// loggingMiddleware writes a line for each call of the service.
type loggingMiddleware struct {
	logger log.Logger
	next   stringService
}

func (m loggingMiddleware) Uppercase(text string) (v string, err error) {
	defer func(began time.Time) {
		_ = m.logger.Log("method", "uppercase", "bytes", len(text), "err", err, "took",
			time.Since(began))
	}(time.Now())
	return m.next.Uppercase(text)
}

func (m loggingMiddleware) Count(text string) (v int, err error) {
	defer func(began time.Time) {
		_ = m.logger.Log("method", "count", "bytes", len(text), "n", v, "err", err, "took",
			time.Since(began))
	}(time.Now())
	return m.next.Count(text)
}

func (m loggingMiddleware) Generate(size, work int) (text string, crc uint32, err error) {
	defer func(began time.Time) {
		_ = m.logger.Log("method", "generate", "size", size, "work", work, "err", err, "took",
			time.Since(began))
	}(time.Now())
	return m.next.Generate(size, work)
}

// requestLog receives the lines.
type requestLog struct {
	log.Logger
	later *laterWriter // nil: lines are written at once
}

// newRequestLog makes a log of a kind: "sync", "async", or "none", which is nil.
func newRequestLog(kind string, to io.Writer) (*requestLog, error) {
	var later *laterWriter
	switch kind {
	case "none":
		return nil, nil
	case "sync":
		to = log.NewSyncWriter(to)
	case "async":
		later = newLaterWriter(to)
		to = later
	default:
		return nil, fmt.Errorf("-log is %q: it must be none, sync or async", kind)
	}
	logger := log.With(log.NewLogfmtLogger(to), "ts", log.DefaultTimestampUTC)
	return &requestLog{logger, later}, nil
}

// flush writes the waiting lines. Later lines are dropped.
func (l *requestLog) flush() {
	if l != nil && l.later != nil {
		l.later.close()
	}
}

// laterWriter sends lines to a goroutine that writes them, several at once under load. It
// loses none: when too many lines wait, their writers wait too.
type laterWriter struct {
	to     *bufio.Writer
	lines  chan []byte
	closed chan struct{}
	done   chan struct{}
}

func newLaterWriter(to io.Writer) *laterWriter {
	w := &laterWriter{
		to:     bufio.NewWriterSize(to, 64<<10),
		lines:  make(chan []byte, 8192),
		closed: make(chan struct{}),
		done:   make(chan struct{}),
	}
	go w.run()
	return w
}

func (w *laterWriter) Write(line []byte) (int, error) {
	select {
	case w.lines <- bytes.Clone(line):
	case <-w.closed:
	}
	return len(line), nil
}

func (w *laterWriter) run() {
	defer close(w.done)
	for {
		select {
		case line := <-w.lines:
			w.to.Write(line)
			if len(w.lines) == 0 {
				w.to.Flush()
			}
		case <-w.closed:
			for len(w.lines) > 0 {
				w.to.Write(<-w.lines)
			}
			w.to.Flush()
			return
		}
	}
}

func (w *laterWriter) close() {
	close(w.closed)
	<-w.done
}
