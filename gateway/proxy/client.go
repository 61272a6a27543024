// A client's connection as a state machine over phase. worker.run calls ready for events of the
// kernel, proceed for other news, and expired for timeouts. Start reading at client.readRequests;
// request.go, exchange.go and response.go continue.

package proxy

import (
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"faceoff/gateway/headers"
	"faceoff/gateway/wire"
)

// phase is what a client's connection is doing.
type phase uint8

const (
	reading       phase = iota // reading a request's head, or idle
	bufferingBody              // the whole body is read before it is validated
	delaying                   // the request is delayed by its route's fault
	queueing                   // the request waits for a slot
	exchanging                 // the request or the response is on its way
	speakingH2                 // the connection carries HTTP/2; each request on it is a client
	lingering                  // the response is sent; input is read and discarded
)

// lingerFor is how long a client may go on sending after its connection was shut down. Closing at
// once would make the kernel send a reset, and the client could lose the response.
const lingerFor = 2 * time.Second

// maxKeptBuffer is the capacity up to which an idle client keeps its buffers.
const maxKeptBuffer = 1 << 10

// client is a client's connection, or one stream of it in HTTP/2, and its current request.
type client struct {
	conn
	exchange
	phase   phase
	peer    netip.Addr
	address []byte // peer as text
	scheme  string
	trusted bool // the peer is a trusted proxy, so its forwarding fields count
	// client address: the peer, or what trusted proxies report; invalid if it cannot be read
	from    netip.Addr
	since   time.Duration // when it became idle, by the worker's clock
	seen    int           // bytes of in that are known to hold no complete head
	fresh   bool          // the connection may still turn out to be HTTP/2
	session *clientH2     // nil for HTTP/1.1
	stream  *clientStream // set if this client is one stream of a session

	backlog backlog // unsent part of the response
	lag     lag

	record requestRecord
	edits  *headers.Edits // what the route adds and removes; nil if nothing

	member, rest, wait listEntry     // among all clients, among idle ones, in a queue
	slow               listEntry     // among the slow readers
	queued             time.Duration // when it was queued
	granted            atomic.Bool   // it has left the queue with a slot
	queuePosition      uint64        // position in the queue
}

// addClient takes over an accepted connection.
func (w *worker) addClient(n acceptedConn) {
	c := &client{peer: n.address, from: n.address, address: n.address.AppendTo(nil)}
	for _, prefix := range w.server.settings.Trusted {
		c.trusted = c.trusted || prefix.Contains(n.address)
	}
	if err := w.join(&c.conn, n.fd, c); err != nil {
		w.server.clients.Add(-1)
		w.load.Add(-1)
		w.server.logf("adding a connection: %v", err)
		return
	}
	c.scheme = "http"
	if n.secure != nil {
		c.scheme, c.secure = "https", n.secure
		n.socket.conn, n.socket.Conn = &c.conn, nil
		c.readable, c.writable = true, true // only TLS knows what came with the handshake
		w.schedule(&c.conn)
	}
	w.clientList.push(&c.member, c)
	w.metrics.accepted.Add(1)
	c.becomeIdle(w.server.settings.HeadTimeout)
	switch {
	case n.http2:
		c.startH2()
	case n.secure == nil:
		c.fresh = w.server.settings.Streams > 0
	}
	if w.stopping {
		c.close()
	}
}

func (c *client) becomeIdle(limit time.Duration) {
	c.since = c.w.wheel.now
	c.w.idleClients.push(&c.rest, c)
	c.w.wheel.start(&c.timer, limit)
}

// close ends the connection and its current request.
func (c *client) close() {
	if !c.open {
		return
	}
	c.finishRecord()
	c.detach(false)
	c.dropBacklog()
	if c.phase == queueing && c.upstream.limiter.leaveQueue(c) {
		c.phase = reading
	}
	if c.stream != nil {
		c.stream.close()
		return
	}
	if c.session != nil {
		c.session.end()
	}
	c.rest.remove()
	c.member.remove()
	c.conn.close()
	c.w.server.clients.Add(-1)
	c.w.load.Add(-1)
	c.w.listen() // there is room now
}

// ready handles an event on the connection.
func (c *client) ready() {
	if c.phase == exchanging && c.upstreamConn != nil && c.body.Done() && !c.tunnel &&
		!c.pending() &&
		!c.peerClosed {
		return // the client's next request must not extend this request's timeouts
	}
	c.advance()
}

// advance continues in the current phase.
func (c *client) advance() {
	switch c.phase {
	case reading:
		c.readRequests()
	case bufferingBody:
		c.bufferBody()
	case delaying:
		if c.peerClosed {
			c.abandon()
		}
	case queueing:
		c.awaitSlot()
	case exchanging:
		c.pump()
	case speakingH2:
		c.session.ready()
	case lingering:
		c.linger()
	}
}

// proceed continues because the upstream connection has news, a slot was granted, or the client had
// used up its turn.
func (c *client) proceed() {
	switch {
	case c.phase == queueing && c.granted.Load():
		c.granted.Store(false)
		c.phase, c.hasSlot = reading, true
		if !c.open {
			c.detach(false)
			return
		}
		c.resume()
	case c.open:
		c.advance()
	}
}

// expired handles a timeout.
func (c *client) expired() {
	switch c.phase {
	case reading:
		if len(c.in.data) == 0 {
			c.close()
			return
		}
		c.rejectRequest(&wire.Refusal{Status: 408, Reason: "the request did not come in time"})
	case delaying:
		c.phase = reading
		if c.continueAfterFault(c.route.Fault) {
			c.resume()
		}
	case queueing:
		if c.upstream.limiter.mostlyLagging() {
			if c.w.wheel.now < c.queued+c.upstream.Wait+extraQueueTime {
				c.w.wheel.start(&c.timer, checkInterval)
				return
			}
			c.w.cutSlowReaders() // in case a blocked worker has not done it yet
		}
		if !c.upstream.limiter.leaveQueue(c) {
			return // a slot has just been granted
		}
		c.phase = reading
		c.w.metrics.shed.Add(1)
		c.skipHead()
		c.respondError(503, "too many requests in flight")
	case bufferingBody, exchanging:
		if c.waitsForConn() || (c.waitsForClient() && c.keepsPace() && !c.overdue()) {
			c.w.wheel.start(&c.timer, c.nextCheck())
			return
		}
		c.timedOut()
	case speakingH2:
		c.session.expired()
	case lingering:
		c.close()
	}
}

// readRequests reads requests until one is on its way or the input is used up.
func (c *client) readRequests() {
	w, most := c.w, c.w.server.settings.MaxHead
	for turn := 0; c.open && c.phase == reading; turn++ {
		if turn >= readsPerTurn { // a client whose requests need no upstream could go on forever
			w.schedule(&c.conn)
			break
		}
		if c.fresh && len(c.in.data) > 0 {
			switch isPreface(c.in.data) {
			case yes:
				c.startH2()
				continue
			case no:
				c.fresh = false
			}
		}
		if fresh := len(c.in.data) - c.seen; fresh > 0 && !c.fresh &&
			(c.seen == 0 || c.in.hasLine(fresh)) {
			n, err := w.request.Parse(c.in.data)
			if err != nil {
				c.rejectRequest(err)
				return
			}
			if n > 0 {
				c.begin(n)
				continue
			}
		}
		c.seen = len(c.in.data)
		if c.seen >= most {
			c.rejectRequest(
				&wire.Refusal{Status: 431, Reason: "the head of the request is too long"},
			)
			return
		}
		switch c.fill(w.inScratch, most-c.seen) {
		case fine:
			if c.rest.remove() {
				w.wheel.start(&c.timer, w.server.settings.HeadTimeout)
			}
		case later:
			c.in.keep(w)
			return
		case ended, broken:
			c.close()
			return
		}
	}
	if c.open {
		c.in.keep(w)
	}
}

// next waits for the next request, or continues with one that has already arrived.
func (c *client) next() {
	c.phase, c.seen = reading, 0
	c.table, c.route, c.upstream, c.validation, c.cached = nil, nil, nil, nil, nil
	if cap(c.retryBytes) > maxKeptBuffer {
		c.retryBytes = nil
	}
	if cap(c.upgrade) > maxKeptBuffer {
		c.upgrade = nil
	}
	if cap(c.record.target) > maxKeptBuffer {
		c.record.target = nil
	}
	if cap(c.record.span) > maxKeptBuffer {
		c.record.span = nil
	}
	if len(c.in.data) > 0 {
		c.w.wheel.start(&c.timer, c.w.server.settings.HeadTimeout)
		c.w.schedule(&c.conn)
		return
	}
	c.becomeIdle(c.w.server.settings.IdleTimeout)
	if c.readable {
		c.w.schedule(&c.conn)
	}
}

// closeGracefully ends the connection after the last response.
func (c *client) closeGracefully() {
	c.closeNotify()
	if c.body.Done() && len(c.in.data) == 0 && !c.readable {
		c.close()
		return
	}
	c.phase = lingering
	c.in.drop(c.w)
	_ = syscall.Shutdown(c.fd, syscall.SHUT_WR) // it fails only if the client is gone
	c.w.wheel.start(&c.timer, lingerFor)
	c.linger()
}

// linger discards input until the client closes or the time is up.
func (c *client) linger() {
	for range readsPerTurn {
		c.in.drop(c.w)
		switch c.fill(c.w.inScratch, readSize) {
		case later:
			c.in.drop(c.w)
			return
		case ended, broken:
			c.close()
			return
		}
	}
	c.in.drop(c.w)
	c.w.schedule(&c.conn)
}

// abandon gives up a request whose client is gone.
func (c *client) abandon() {
	c.w.metrics.abandoned.Add(1)
	c.close()
}

// skipBody consumes what has arrived of the request's body, and reports whether that is all of it.
func (c *client) skipBody() bool {
	for !c.body.Done() {
		_, taken, _, err := c.body.Next(c.in.data)
		if err != nil || taken == 0 {
			return false
		}
		c.in.consume(taken)
	}
	return true
}

// finishResponse ends an exchange whose response is complete, once the kernel has taken all of it.
func (c *client) finishResponse() {
	switch c.drain() {
	case later:
		c.watchPace()
		return
	case broken:
		c.abandon()
		return
	}
	c.finishRecord()
	if c.stream != nil {
		c.stream.finish()
		return
	}
	if c.closeAfter || c.w.stopping {
		c.closeGracefully()
		return
	}
	c.next()
}
