// From a parsed request to a slot: route, header edits, guard, validation, injected faults, cache,
// limiter. Start reading at client.begin.

package proxy

import (
	"math/rand/v2"
	"time"

	"faceoff/gateway/compress"
	"faceoff/gateway/guard"
	"faceoff/gateway/headers"
	"faceoff/gateway/wire"
)

// begin starts an exchange for the request whose head was parsed and takes n bytes.
func (c *client) begin(n int) {
	w, r := c.w, &c.w.request
	w.metrics.requests.Add(1)
	c.rest.remove()
	c.exchange = exchange{
		kind:            r.Kind,
		minor:           r.Minor,
		closeAfter:      r.Close,
		expectsContinue: r.Continue,
		upgrade:         append(c.upgrade[:0], r.Upgrade...),
		chunked:         r.Body.Kind == wire.Chunked,
		head:            n,
		retryBytes:      c.retryBytes[:0],
	}
	c.body.Start(r.Body)
	c.seen = 0
	c.from = c.peer
	if c.trusted {
		c.from = guard.ClientAddress(r, c.peer, w.server.settings.Trusted)
	}
	c.table = w.server.table.Load()
	c.route = c.table.Routes.Match(r)
	c.beginRecord()
	// OPTIONS for the server as a whole, which is the gateway for its clients (RFC 9110, 9.3.7)
	if len(r.Path) == 1 && r.Path[0] == '*' {
		c.skipHead()
		c.respondAsLastHop("OPTIONS")
		return
	}
	if c.route == nil {
		c.skipHead()
		c.respondError(404, "not found")
		return
	}
	if c.route.Compress != nil {
		c.acceptsGzip = compress.Accepts(r.Only("accept-encoding"))
	}
	if rules := c.route.Edits; rules != nil {
		if c.edits == nil {
			c.edits = &headers.Edits{}
		}
		c.edits.Begin(rules, r, c.trusted)
		c.beginSpan()
		if c.edits.Preflight {
			c.skipHead()
			c.respondError(204, "")
			return
		}
	}
	if g := c.route.Guard; g != nil {
		if denied := g.Check(r, c.from, time.Now()); denied.Status != 0 {
			w.metrics.denied.Add(1)
			c.skipHead()
			c.respondError(denied.Status, denied.Reason)
			return
		}
	}
	if r.Limited && r.Hops == 0 {
		c.skipHead()
		c.respondAsLastHop(string(r.Method))
		return
	}
	if c.route.OpenAPI != nil && !c.validateRequest() {
		return
	}
	c.injectFault()
}

// respondAsLastHop responds to OPTIONS and TRACE as their last receiver (RFC 9110, 9.3.7 and
// 9.3.8). TRACE would show what earlier proxies added to the request, credentials included.
func (c *client) respondAsLastHop(method string) {
	if method == "OPTIONS" {
		c.respondError(204, "")
	} else {
		c.respondError(501, "TRACE is not supported")
	}
}

// injectFault continues with a request unless its route's fault applies.
func (c *client) injectFault() {
	w := c.w
	if f := c.route.Fault; f != nil && f.Falls(rand.Float64()) {
		w.metrics.faults.Add(1)
		if f.Delay > 0 {
			c.phase = delaying
			c.in.keep(w)
			w.wheel.start(&c.timer, f.Delay)
			return
		}
		if !c.continueAfterFault(f) {
			return
		}
	}
	c.acquireSlot()
}

// continueAfterFault reports whether a request continues after its fault, which then was only a
// delay. Otherwise the exchange is over.
func (c *client) continueAfterFault(f *guard.Fault) bool {
	switch {
	case f.Break:
		c.close()
	case f.Status != 0:
		c.skipHead()
		c.respondError(f.Status, "an injected fault")
	default:
		return true
	}
	return false
}

// acquireSlot takes a slot of the upstream, unless the cache has a response.
func (c *client) acquireSlot() {
	w := c.w
	if len(c.table.Routes.Caches()) > 0 && c.cached == nil &&
		(c.route.Cache != nil || c.kind == wire.Unsafe || c.kind == wire.Idempotent) &&
		c.cacheLookup() {
		return
	}
	index := c.route.Upstream
	if c.route.Split != nil {
		index = c.route.Pick(rand.Uint32())
	}
	c.upstream = c.table.Upstreams[index]
	c.uploading = !c.bodyBuffered()
	switch c.upstream.limiter.acquire(c) {
	case granted:
		c.hasSlot = true
		c.dispatch()
	case queued:
		c.phase, c.queued = queueing, w.wheel.now
		c.in.keep(w)
		w.wheel.start(&c.timer, c.upstream.Wait)
	case shed:
		w.metrics.shed.Add(1)
		c.skipHead()
		c.respondError(503, "too many requests in flight")
	}
}

// bodyBuffered reports whether the whole body has arrived: after the head, or in the stream's inbox
// in HTTP/2.
func (c *client) bodyBuffered() bool {
	if c.stream != nil && c.stream.ended {
		return true
	}
	body, text := c.body, c.in.data[c.head:]
	for !body.Done() {
		_, taken, _, err := body.Next(text)
		if err != nil || taken == 0 {
			return false
		}
		text = text[taken:]
	}
	return true
}

// maxBodyAhead is how much of a body is read while its request waits for a slot. In HTTP/2 nothing
// is read, because that would open the client's window.
const maxBodyAhead = 8 << 10

// awaitSlot handles events while a client waits for a slot. When a small body becomes complete, the
// request no longer counts as one with an incomplete body.
func (c *client) awaitSlot() {
	if c.peerClosed {
		c.abandon()
		return
	}
	for c.uploading {
		if c.bodyBuffered() {
			c.upstream.limiter.queuedUploadDone(c)
			return
		}
		before := len(c.in.data)
		if c.stream != nil || before >= c.head+maxBodyAhead {
			return
		}
		switch c.fill(c.w.inScratch, maxBodyAhead) {
		case later:
			return
		case ended, broken:
			c.abandon()
			return
		}
		c.bytesMoved += int64(len(c.in.data) - before)
	}
}

// resume continues with a request after a delay or a queue.
func (c *client) resume() {
	if _, err := c.w.request.Parse(c.in.data); err != nil {
		c.rejectRequest(err) // impossible: it was parsed before
		return
	}
	if c.hasSlot {
		c.dispatch()
	} else {
		c.acquireSlot()
	}
	if c.open && c.phase == reading { // it was answered at once
		c.w.schedule(&c.conn)
	}
	if c.open {
		c.in.keep(c.w)
	}
}

func (c *client) skipHead() {
	c.in.consume(c.head)
	c.head = 0
}

// noEdits is for routes that change no fields.
var noEdits headers.Edits

// headerEdits returns the fields that the route adds and removes.
func (c *client) headerEdits() *headers.Edits {
	if c.route == nil || c.route.Edits == nil {
		return &noEdits
	}
	return c.edits
}
