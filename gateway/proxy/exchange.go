// A request on its way to an upstream: choosing a connection, sending the head and the body, and
// releasing the slot. response.go has the way back, and retry.go what happens on failures. Start
// reading at client.dispatch.

package proxy

import (
	"math/rand/v2"

	"faceoff/gateway/cache"
	"faceoff/gateway/compress"
	"faceoff/gateway/guard"
	"faceoff/gateway/route"
	"faceoff/gateway/wire"
)

// exchange is a request and its response. The zero value is none.
type exchange struct {
	table        *Table // that the route belongs to
	route        *route.Route
	upstream     *Upstream
	upstreamConn *upstreamConn
	validation   *validation // nil without an OpenAPI document
	cached       *cacheState // nil without a cache
	hasSlot      bool        // it holds a slot of its upstream
	uploading    bool        // the limiter counts its body as incomplete

	kind    wire.Method
	minor   byte
	head    int         // length of the head, until it is skipped
	body    wire.Reader // of the request
	chunked bool        // the request's body goes on in chunks
	// The upstream does not read the rest of the body; it may still respond.
	uploadStopped   bool
	expectsContinue bool   // the client waits for 100 Continue
	upgrade         []byte // protocols that the client asked to switch to; empty for none
	tunnel          bool   // the protocol was switched: bytes go both ways unread

	responseBody     wire.Reader
	requestSent      bool // the whole request is sent, and the response timeout runs
	responding       bool // the final response has begun
	responseDone     bool // the final response is complete
	framing          wire.Framing
	acceptsGzip      bool                 // the client accepts gzip
	variesByEncoding bool                 // the response depends on that
	compressed       bool                 // the response is compressed
	compressor       *compress.Compressor // until the response is complete
	noReuse          bool                 // the upstream connection cannot be reused
	closeAfter       bool                 // the client's connection ends after this exchange
	pace             pace
	bytesMoved       int64 // bytes of bodies from the client, and of responses to it
	bodyBytes        int64 // of the request's body so far
	tries            int
	retryBytes       []byte // the request, if it may be retried
}

// dispatch sends the request that the worker has parsed to a server.
func (c *client) dispatch() {
	w, u, r := c.w, c.upstream, &c.w.request
	settings := &w.server.settings
	o := wire.Outbound{
		Path:    r.Path,
		Host:    u.Host,
		Client:  c.address,
		Proto:   c.scheme,
		Via:     settings.Via,
		Trusted: c.trusted,
		Forward: settings.Forwarded,
	}
	o.Drop, o.Lines = c.headerEdits().Request.Drop, c.headerEdits().Request.Lines
	if c.stream != nil {
		o.Received = "2"
	}
	if c.route.Rewrites() {
		w.path = c.route.AppendPath(w.path[:0], r.Path)
		o.Path = w.path
	}
	r.Continue = r.Continue && (c.validation == nil || !c.validation.continueSent)
	if m := c.cached; m != nil && m.entry != nil {
		w.extraLines = m.entry.AppendConditions(append(w.extraLines[:0], o.Lines...))
		w.dropNames = append(append(w.dropNames[:0], o.Drop...), cache.Conditions()...)
		o.Lines, o.Drop = w.extraLines, w.dropNames
	}
	w.out = wire.AppendRequest(w.out[:0], r, &o)
	c.skipHead()
	c.phase = exchanging
	if c.body.Done() && c.kind.Repeatable() {
		c.retryBytes = append(c.retryBytes[:0], w.out...)
	} else if err := c.encode(&c.body, &c.in, c.chunked); err != nil {
		c.rejectRequest(err)
		return
	} else if c.body.Done() {
		c.uploadDone()
		if u.HTTP2 {
			// An HTTP/2 server may report that it did not process it.
			c.retryBytes = append(c.retryBytes[:0], w.out...)
		}
	}
	if m := c.route.Mirror; m != nil && c.body.Done() && len(c.upgrade) == 0 &&
		(m.Upto == route.Whole || uint64(rand.Uint32())*route.Whole>>32 < uint64(m.Upto)) {
		w.mirror(c.table.Upstreams[m.Upstream], w.out, c.kind)
	}
	s := u.pick(nil)
	if s == nil {
		w.metrics.shed.Add(1)
		c.respondError(503, "no server is healthy")
		return
	}
	if c.attach(s, w.out) {
		c.pump()
	}
}

// attach sends the request over a connection to a server. False means that the client got an error
// response.
func (c *client) attach(s *server, request []byte) bool {
	w := c.w
	c.tries++
	forceHTTP1 := c.upstream.HTTP2 && s.noWebSocket.Load() && c.asksWebSocket()
	var uc *upstreamConn
	if !forceHTTP1 {
		uc = w.idle(c.upstream, s)
	}
	for uc != nil && uc.peerClosed {
		uc.close()
		uc = w.idle(c.upstream, s)
	}
	if uc == nil {
		var err error
		if uc, err = w.connect(c.upstream, s, forceHTTP1); err != nil {
			c.upstream.recordFailure(s)
			w.metrics.unreachable.Add(1)
			w.server.logf("connecting to %s: %v", s.address, err)
			if other := c.pickOther(s); other != nil {
				return c.attach(other, request)
			}
			c.respondError(502, unreachable)
			return false
		}
	}
	if uc.connecting {
		uc.queue(request)
		w.wheel.start(&c.timer, c.upstream.Connect)
	} else {
		w.wheel.start(&c.timer, c.upstream.Answer)
	}
	s.inFlight.Add(1)
	uc.client, c.upstreamConn, c.requestSent = c, uc, false
	if !uc.connecting && uc.send(request) == broken {
		uc.peerClosed, uc.readable = true, true // what it sent before it closed is still read
	}
	return true
}

const unreachable = "the upstream could not be reached or broke off"

// detach releases the slot and the upstream connection, which stays open if it can be reused.
func (c *client) detach(whole bool) {
	if uc := c.upstreamConn; uc != nil {
		c.upstreamConn = nil
		uc.server.inFlight.Add(-1)
		if whole && !c.noReuse && !c.uploadStopped && !c.tunnel && c.body.Done() && !uc.pending() {
			uc.keepIdle()
		} else {
			uc.client = nil
			uc.close()
		}
	}
	if c.compressor != nil {
		c.releaseCompressor()
	}
	c.release()
	c.cancelStore()
	if c.hasSlot {
		c.clearLagging()
		c.hasSlot = false
		c.upstream.limiter.release(c.w, c)
		c.uploading = false
	}
}

// pump moves bytes in both directions.
func (c *client) pump() {
	w := c.w
	if c.responseDone {
		c.finishResponse()
		return
	}
	uc := c.upstreamConn
	if c.peerClosed && c.body.Done() && !c.tunnel {
		c.abandon()
		return
	}
	if c.servesStored() {
		c.pumpFromCache()
		return
	}
	if uc.connecting {
		if !uc.writable && !uc.peerClosed {
			c.in.keep(w)
			return
		}
		if err := connected(uc.fd); err != nil {
			c.unreachable(err.Error())
			return
		}
		uc.connecting = false
	}
	if c.pumpRequest() {
		c.pumpResponse()
	}
	if !c.open {
		return
	}
	c.in.keep(w)
	if c.servesStored() { // the upstream has validated the stored response
		c.startReadTimer()
		return
	}
	if uc := c.upstreamConn; uc != nil && c.phase == exchanging {
		uc.in.keep(w)
		switch {
		case uc.connecting:
			w.wheel.start(&c.timer, c.upstream.Connect)
		case c.tunnel:
			w.wheel.start(&c.timer, c.upstream.Tunnel)
		case c.requestSent && !c.responding: // this timeout runs on, whatever the client sends
		case c.body.Done() && !uc.pending() && !c.responding:
			c.requestSent = true
			w.wheel.start(&c.timer, c.upstream.Answer)
		default:
			w.wheel.start(&c.timer, w.server.settings.Stall)
			c.watchPace()
		}
	}
}

// uploadDone tells the limiter that the request's body is complete.
func (c *client) uploadDone() {
	if c.uploading {
		c.uploading = false
		c.upstream.limiter.uploadDone(c.w)
	}
}

// pumpRequest passes the request's body on. False means that the exchange is over.
func (c *client) pumpRequest() bool {
	w, uc := c.w, c.upstreamConn
	for turn := 0; !c.uploadStopped; turn++ {
		switch uc.flush() {
		case later:
			return true
		case broken:
			c.uploadStopped = true
			uc.dropOut()
			return true
		}
		if c.body.Done() {
			return true
		}
		w.out = w.out[:0]
		if err := c.encode(&c.body, &c.in, c.chunked); err != nil {
			c.rejectRequest(err)
			return false
		}
		if c.body.Done() {
			c.uploadDone()
		}
		if len(w.out) > 0 {
			if uc.send(w.out) == broken {
				c.uploadStopped = true
			}
			continue
		}
		if turn >= readsPerTurn {
			w.schedule(&c.conn)
			return true
		}
		before := len(c.in.data)
		switch c.fill(w.inScratch, readSize) {
		case fine:
			c.bytesMoved += int64(len(c.in.data) - before)
			c.expectsContinue = false
		case later:
			return true
		case ended:
			if c.tunnel {
				c.body.End()
				uc.shut()
				return true
			}
			c.abandon()
			return false
		case broken:
			c.abandon()
			return false
		}
	}
	return true
}

// encode writes what has arrived of a body to the worker's scratch buffer, in chunks or as it is.
func (c *client) encode(body *wire.Reader, in *intake, chunked bool) error {
	w := c.w
	for !body.Done() && len(in.data) > 0 {
		content, taken, trailers, err := body.Next(in.data)
		if err != nil {
			return err
		}
		if taken == 0 {
			return nil
		}
		if body == &c.responseBody {
			c.storeContent(content)
		}
		if g := c.route.Guard; g != nil && g.Body > 0 && body == &c.body && !c.tunnel {
			if c.bodyBytes += int64(len(content)); c.bodyBytes > g.Body {
				return &wire.Refusal{Status: 413, Reason: guard.TooLarge}
			}
		}
		if !chunked {
			w.out = append(w.out, content...)
		} else {
			w.out = wire.AppendChunk(w.out, content)
		}
		in.consume(taken)
		switch {
		case trailers == nil:
		case c.stream != nil && body == &c.responseBody:
			if c.stream.trailers, err = wire.AppendTrailers(nil, trailers, &w.trailers,
				c.headerEdits().Answer.Drop); err != nil {
				return err
			}
		case chunked:
			drop := c.headerEdits().Request.Drop
			if body == &c.responseBody {
				drop = c.headerEdits().Answer.Drop
			}
			if w.out, err = wire.AppendLastChunk(w.out, trailers, &w.trailers, drop); err != nil {
				return err
			}
		}
	}
	return nil
}
