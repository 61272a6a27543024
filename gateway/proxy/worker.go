// The event loop. A worker owns its connections and runs on one core, so it needs no locks on them.
// Other goroutines reach it through its inbox and an eventfd. Start reading at worker.run.

package proxy

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"faceoff/gateway/compress"
	"faceoff/gateway/wire"
)

const (
	// readSize is the most bytes that one read takes.
	readSize = 16 << 10

	// readsPerTurn is how many reads in a row a connection gets before others have their turn.
	readsPerTurn = 16

	// acceptsPerTurn is how many connections in a row are accepted.
	acceptsPerTurn = 64
)

// worker is an event loop on one core. It owns its connections, and no other goroutine touches
// them. Events come from epoll, and from other workers through the inbox.
type worker struct {
	server  *Server
	id      int
	epoll   int
	wakeFD  int
	events  []syscall.EpollEvent
	conns   []*conn // by descriptor
	count   int32   // numbers the generations
	wheel   *wheel
	started time.Time
	buffers buffers
	metrics Metrics

	listening   bool // the listener is registered
	stopping    bool
	clientList  list         // all clients
	idleClients list         // clients without a request, the longest idle first
	load        atomic.Int64 // clients, including those on their way to this worker

	// Scratch buffers for the current event: inScratch for what clients send, upScratch for what
	// upstreams send.
	inScratch, upScratch, out, path []byte
	request, storedRequest          wire.Request
	response                        wire.Response
	inbound                         wire.Inbound
	trailers                        wire.Fields

	lines, spans logBuffer // for Access and Spans

	date   []byte // as a Date field
	second int64  // of date

	pendingH2 []*h2Conn // have frames to send

	idleCompressors []*compress.Compressor // ready to be used
	compressing     int                    // responses being compressed
	bufferedBodies  int64                  // bytes reserved for buffered bodies
	extraLines      []byte                 // fields added to the current head
	dropNames       []string               // names of fields dropped from it

	slow    list         // clients whose slots wait for them to read
	readers []slowReader // scratch for those that may be cut
	spill   spill

	ready   []*conn // to be run in the next turn
	running []*conn // being run in this turn

	mu               sync.Mutex
	inbox            []*client      // granted a slot by another worker
	acceptedConns    []acceptedConn // accepted elsewhere
	dials            []tlsDial      // finished handshakes with servers
	stop             bool
	upstreamsDropped bool // upstreams have left the table
	freed            bool // wakeFD is closed
}

// acceptedConn is a connection that was accepted.
type acceptedConn struct {
	fd      int
	address netip.Addr
	secure  *tls.Conn  // nil without TLS
	socket  *tlsSocket // below secure
	http2   bool       // ALPN chose HTTP/2
}

func newWorker(s *Server, id int) (*worker, error) {
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll_create1: %w", err)
	}
	wakeFD, err := newEventFD()
	if err == nil {
		err = register(epoll, wakeFD, 0, syscall.EPOLLIN|1<<31)
	}
	if err != nil {
		syscall.Close(epoll)
		return nil, err
	}
	w := &worker{
		server:    s,
		id:        id,
		epoll:     epoll,
		wakeFD:    wakeFD,
		events:    make([]syscall.EpollEvent, 256),
		wheel:     newWheel(),
		started:   time.Now(),
		inScratch: make([]byte, readSize),
		upScratch: make([]byte, readSize),
		out:       make([]byte, 0, 2*readSize),
	}
	for _, r := range []*wire.Request{&w.request, &w.storedRequest} {
		r.Most, r.Separators = s.settings.Fields, s.settings.Separators
	}
	w.response.Most = s.settings.AnswerFields
	if s.settings.SpillSize > 0 {
		if w.spill, err = openSpill(s.settings.SpillFolder,
			s.settings.SpillSize/int64(s.settings.Workers)); err != nil {
			syscall.Close(epoll)
			syscall.Close(wakeFD)
			return nil, fmt.Errorf("creating a temporary file in %s: %w", s.settings.SpillFolder,
				err)
		}
	}
	return w, nil
}

// run serves until the worker is stopped and its last connection has closed or was cut.
func (w *worker) run() error {
	defer w.end()
	w.listen()
	var lastCheck time.Duration // of updateAccept
	traffic := false            // the last wait returned an event
	for {
		w.flushH2()
		patience := -1
		switch {
		case len(w.ready) > 0:
			patience = 0
		case w.wheel.set > 0 || !w.listening || w.lines.entries+w.spans.entries > 0:
			patience = int(tick / time.Millisecond)
		}
		n, err := wait(w.epoll, w.events, patience, traffic)
		if err != nil {
			return err
		}
		traffic = n > 0
		now := time.Since(w.started)
		w.wheel.advance(now)
		for i := range n {
			w.dispatch(&w.events[i])
		}
		w.readInbox()
		w.running, w.ready = w.ready, w.running[:0]
		for _, c := range w.running {
			c.scheduled = false
			c.handler.proceed()
		}
		if now-lastCheck >= checkInterval || w.stopping {
			lastCheck = now
			w.updateAccept()
			w.cutSlowReaders()
			w.flushLogs()
		}
		if w.stopping && (w.clientList.empty() || w.server.cut.Load()) {
			return nil
		}
	}
}

func (w *worker) dispatch(event *syscall.EpollEvent) {
	fd := int(event.Fd)
	switch fd {
	case w.wakeFD:
		var count [8]byte
		readSocket(w.wakeFD, count[:])
		return
	case w.server.listener:
		w.accept()
		return
	}
	if fd >= len(w.conns) || w.conns[fd] == nil || w.conns[fd].generation != event.Pad {
		return // the connection was closed earlier in this turn
	}
	c := w.conns[fd]
	c.recordEvents(event.Events)
	c.handler.ready()
}

// join registers a descriptor. It closes the descriptor on failure.
func (w *worker) join(c *conn, fd int, handler connHandler) error {
	w.count++
	c.w, c.fd, c.generation, c.handler, c.timer.owner, c.open = w, fd, w.count, handler, handler, true
	if err := register(w.epoll, fd, c.generation, edges); err != nil {
		c.open = false
		syscall.Close(fd)
		return err
	}
	for fd >= len(w.conns) {
		w.conns = append(w.conns, nil)
	}
	w.conns[fd] = c
	return nil
}

func (w *worker) unregister(fd int) { w.conns[fd] = nil }

// schedule runs a connection again before the worker sleeps.
func (w *worker) schedule(c *conn) {
	if !c.scheduled {
		c.scheduled = true
		w.ready = append(w.ready, c)
	}
}

// post runs a client of this worker. Any goroutine may call it.
func (w *worker) post(c *client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inbox = append(w.inbox, c)
	w.wake()
}

// wake makes the worker read its inbox, unless it will do so anyway. The caller holds the lock.
func (w *worker) wake() {
	if len(w.inbox)+len(w.acceptedConns)+len(w.dials) == 1 && !w.freed {
		signal(w.wakeFD)
	}
}

// send gives this worker a connection that was accepted elsewhere.
func (w *worker) send(n acceptedConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.freed {
		syscall.Close(n.fd)
		return
	}
	w.acceptedConns = append(w.acceptedConns, n)
	w.wake()
}

func (w *worker) readInbox() {
	w.mu.Lock()
	for _, c := range w.inbox {
		w.schedule(&c.conn)
	}
	clear(w.inbox)
	w.inbox = w.inbox[:0]
	acceptedConns, dials := w.acceptedConns, w.dials
	stop, upstreamsDropped := w.stop, w.upstreamsDropped
	w.acceptedConns, w.dials, w.upstreamsDropped = nil, nil, false
	w.mu.Unlock()
	if upstreamsDropped {
		w.closeUnused()
	}
	for _, n := range acceptedConns {
		w.addClient(n)
	}
	for _, d := range dials {
		w.dialDone(d)
	}
	if stop && !w.stopping {
		w.stopping = true
		w.unlisten()
		for c := range w.clientList.clients() {
			if c.session != nil {
				c.session.drain()
			} else if c.rest.next != nil {
				c.close()
			}
		}
	}
}

// dropUnusedUpstreams makes the worker close idle connections of upstreams that have left the
// table.
func (w *worker) dropUnusedUpstreams() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.upstreamsDropped = true; !w.freed {
		signal(w.wakeFD)
	}
}

// quit stops the worker: idle connections are closed at once, others after their response.
func (w *worker) quit() {
	w.mu.Lock()
	w.stop = true
	w.mu.Unlock()
	signal(w.wakeFD)
}

// end closes all connections.
func (w *worker) end() {
	w.stopping = true
	for _, c := range slices.Clone(w.conns) {
		if c == nil {
			continue
		}
		if client, ok := c.handler.(*client); ok {
			client.close()
		}
		c.close()
	}
	w.flushLogs()
}

// flushLogs hands over access log lines and spans.
func (w *worker) flushLogs() {
	if access := w.server.settings.Access; access != nil {
		w.lines.flushLogs(&access.asyncWriter)
	}
	if spans := w.server.settings.Spans; spans != nil {
		w.spans.flushLogs(&spans.asyncWriter)
	}
}

// free closes what other workers may still use while they run.
func (w *worker) free() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.freed = true
	for _, n := range w.acceptedConns {
		syscall.Close(n.fd)
	}
	for _, d := range w.dials {
		d.close()
	}
	syscall.Close(w.wakeFD)
	syscall.Close(w.epoll)
	w.spill.close()
}

// now returns the date for responses. It is formatted once a second.
func (w *worker) now() []byte {
	if second := int64(w.wheel.now / time.Second); second != w.second || w.date == nil {
		w.second = second
		w.date = time.Now().UTC().AppendFormat(w.date[:0], http.TimeFormat)
	}
	return w.date
}
