package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// observe counts every response, and logs it if there is a log.
func observe(next http.Handler, measured *metrics, log *requestLog) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(seen, r)
		took := time.Since(began)
		measured.add(series{r.Pattern, seen.status}, took)
		if log != nil {
			log.Printf("%s %s %d %v", r.Method, r.RequestURI, seen.status, took)
		}
	})
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// series is the key by which responses are counted. There are few, because patterns come from the
// routes and statuses from the handlers.
type series struct {
	pattern string
	status  int
}

type total struct {
	answers int
	took    time.Duration
}

// metrics counts responses and their durations, and writes them in Prometheus format: a summary
// without quantiles.
type metrics struct {
	mutex  sync.Mutex
	totals map[series]total
}

func newMetrics() *metrics {
	return &metrics{totals: make(map[series]total)}
}

func (m *metrics) add(of series, took time.Duration) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	sum := m.totals[of]
	m.totals[of] = total{sum.answers + 1, sum.took + took}
}

func (m *metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mutex.Lock()
	totals := maps.Clone(m.totals)
	m.mutex.Unlock()
	inOrder := slices.SortedFunc(maps.Keys(totals), func(a, b series) int {
		return cmp.Or(cmp.Compare(a.pattern, b.pattern), cmp.Compare(a.status, b.status))
	})
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = io.WriteString(w, "# TYPE http_request_duration_seconds summary\n")
	for _, of := range inOrder {
		labels := fmt.Sprintf("{pattern=%q,status=\"%d\"}", of.pattern, of.status)
		fmt.Fprintf(w, "http_request_duration_seconds_sum%s %g\n", labels,
			totals[of].took.Seconds())
		fmt.Fprintf(w, "http_request_duration_seconds_count%s %d\n", labels, totals[of].answers)
	}
}

// requestLog writes a line for each request; nil writes none.
type requestLog struct {
	*log.Logger
	later *laterWriter // nil: lines are written at once
}

// newRequestLog makes a log of a kind: "none", "sync" or "async".
func newRequestLog(kind string, to io.Writer) (*requestLog, error) {
	switch kind {
	case "none":
		return nil, nil
	case "sync":
		return &requestLog{Logger: log.New(to, "", log.LstdFlags)}, nil
	case "async":
		later := newLaterWriter(to)
		return &requestLog{Logger: log.New(later, "", log.LstdFlags), later: later}, nil
	}
	return nil, fmt.Errorf("-log is %q: it must be none, sync or async", kind)
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
