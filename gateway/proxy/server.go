// Package proxy is the data plane: it passes HTTP requests on to upstreams.
//
// A Server runs one event loop (worker) per core, each over its own epoll instance. A client
// belongs to one worker, and so does every upstream connection that it uses. Workers share only a
// few atomics, and the limiter of each upstream.
//
// Start reading at worker.run, then follow a request: client.readRequests, client.begin,
// client.dispatch, client.pumpResponse. Package wire parses HTTP/1.1, and package h2 frames of
// HTTP/2.
package proxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"faceoff/gateway/route"
)

// Settings apply to all routes and cannot change while the process runs.
type Settings struct {
	Workers    int
	MaxClients int
	MaxHead    int // bytes, of a request or a response
	// most lines of a request's and of a response's head; zero: wire.DefaultFields
	Fields, AnswerFields int

	Separators bool // paths may contain encoded slashes, which count as slashes
	// most requests at a time over one HTTP/2 connection of a client; zero disables HTTP/2
	Streams     int
	HeadTimeout time.Duration
	IdleTimeout time.Duration
	BodyTimeout time.Duration // for a body that is buffered
	Stall       time.Duration // without progress within a body
	// least bytes per second of a client that must send or read
	Pace int64
	// bytes per second below which a reader is cut when slots are short; zero: none is cut
	Busy        int64
	Buffer      int64  // bytes of memory for the responses of slow readers
	SpillFolder string // for temporary files with more of them
	SpillSize   int64  // of these files in all; zero for none
	Via         string
	Trusted     []netip.Prefix
	Forwarded   bool
	Access      *Access // nil: no access log
	Spans       *Spans  // nil: no traces
}

// Table is where requests go. It can be replaced while requests are in flight.
type Table struct {
	Routes    *route.Table
	Upstreams []*Upstream // by the index that routes use
}

// Server is the data plane of the gateway.
type Server struct {
	settings          Settings
	listener          int
	table             atomic.Pointer[Table]
	workers           []*worker
	clients           atomic.Int64 // connected clients
	bufferedBytes     atomic.Int64 // memory reserved for slow readers
	crowded           atomic.Bool  // MaxClients is reached and clients wait
	stopping          atomic.Bool
	tlsWaiting        atomic.Bool  // a client waits at the TLS listener
	secure            net.Listener // nil without TLS
	certificates      atomic.Pointer[tls.Config]
	refusedHandshakes atomic.Int64
	cut               atomic.Bool // close open connections when the workers stop
	log               func(line string)
	done              sync.WaitGroup
	errors            chan error
}

// New prepares a server on a socket from Listen, which it takes over. log receives a line for each
// failure of an upstream.
func New(settings Settings, table *Table, listener int, log func(line string)) (*Server, error) {
	s := &Server{
		settings: settings,
		listener: listener,
		log:      log,
		errors:   make(chan error, settings.Workers),
	}
	s.table.Store(table)
	for id := range settings.Workers {
		w, err := newWorker(s, id)
		if err != nil {
			s.free()
			return nil, err
		}
		s.workers = append(s.workers, w)
	}
	return s, nil
}

func (s *Server) free() {
	for _, w := range s.workers {
		w.free()
	}
	syscall.Close(s.listener)
}

// Start starts the workers. GOMAXPROCS is one above their number, which leaves a processor for the
// garbage collector. Otherwise the scheduler takes a worker's processor away whenever it waits for
// the kernel.
func (s *Server) Start() {
	if runtime.GOMAXPROCS(0) < s.settings.Workers+1 {
		runtime.GOMAXPROCS(s.settings.Workers + 1)
	}
	for _, u := range s.table.Load().Upstreams {
		u.startHealthChecks(s.logf)
	}
	if s.secure != nil {
		go s.acceptTLS()
	}
	for _, w := range s.workers {
		s.done.Go(func() {
			if err := w.run(); err != nil {
				s.errors <- fmt.Errorf("worker %d: %w", w.id, err)
			}
		})
	}
}

// Errors reports workers that failed.
func (s *Server) Errors() <-chan error { return s.errors }

// Swap replaces the table for further requests. Upstreams that are no longer in it get no new
// requests.
func (s *Server) Swap(table *Table) {
	before := s.table.Swap(table)
	for _, u := range table.Upstreams {
		if !slices.Contains(before.Upstreams, u) {
			u.startHealthChecks(s.logf)
		}
	}
	for _, u := range before.Upstreams {
		if !slices.Contains(table.Upstreams, u) {
			close(u.ended)
		}
	}
	for _, w := range s.workers {
		w.dropUnusedUpstreams()
	}
}

// Table returns the current table.
func (s *Server) Table() *Table { return s.table.Load() }

// Ready reports whether clients are accepted.
func (s *Server) Ready() bool { return !s.stopping.Load() }

// Stop accepts no further clients and waits for the responses in flight. When ctx is done, it cuts
// them.
func (s *Server) Stop(ctx context.Context) error {
	if s.stopping.Swap(true) {
		return nil // it is stopping already
	}
	if s.secure != nil {
		s.secure.Close()
	}
	for _, u := range s.table.Load().Upstreams {
		close(u.ended)
	}
	// The descriptor stays open, as workers may be about to use it.
	_ = syscall.Shutdown(s.listener, syscall.SHUT_RD)
	for _, w := range s.workers {
		w.quit()
	}
	ended := make(chan struct{})
	go func() {
		s.done.Wait()
		close(ended)
	}()
	var err error
	select {
	case <-ended:
	case <-ctx.Done():
		err = ctx.Err()
		s.cut.Store(true)
		for _, w := range s.workers {
			signal(w.wakeFD)
		}
		<-ended
	}
	s.free()
	return err
}

func (s *Server) logf(format string, args ...any) {
	if s.log != nil {
		s.log(fmt.Sprintf(format, args...))
	}
}
