package proxy

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"faceoff/systems/gateway/guard"
	"faceoff/systems/gateway/mark"
	"faceoff/systems/gateway/openapi"
	"faceoff/systems/gateway/press"
	"faceoff/systems/gateway/wire"
)

// phase is what a client's connection is about.
type phase uint8

const (
	reading    phase = iota // the head of a request, or nothing yet
	gathering               // the request's body is read whole, to be held against a document
	delaying                // the request is held back on purpose
	queueing                // the request waits for a place
	exchanging              // the request is on its way, or its answer
	framed                  // the connection carries HTTP/2, and its requests are clients of their own
	lingering               // all is said; what the client still sends is read and thrown away
)

// lingerFor is how long a client that was told goodbye may go on sending, so that the kernel does not take the answer
// back with a reset.
const lingerFor = 2 * time.Second

// keepRepeat is the largest buffer for requests that may be sent again which a quiet client keeps.
const keepRepeat = 1 << 10

// client is a connection that requests come from, and the request under way.
type client struct {
	conn
	exchange
	phase   phase
	peer    netip.Addr
	address []byte // peer as text
	scheme  string
	trusted bool          // what it says about hops before it
	since   time.Duration // it is quiet, by the worker's clock
	seen    int           // bytes of in that hold no whole head
	fresh   bool          // nothing has come that could not begin HTTP/2
	session *session      // nil while it speaks HTTP/1.1
	stream  *stream       // of another client's session, where it is one request there

	account account
	mark    *mark.Mark // what the request was given, where its route gives anything

	member, rest, wait place       // among all clients, among quiet ones, in a queue
	granted            atomic.Bool // it has left the queue with a place
	turn               uint64      // when it came to the queue
}

// welcome takes a connection in.
func (w *worker) welcome(n newcomer) {
	c := &client{peer: n.address, address: n.address.AppendTo(nil)}
	for _, prefix := range w.server.settings.Trusted {
		c.trusted = c.trusted || prefix.Contains(n.address)
	}
	if err := w.join(&c.conn, n.fd, c); err != nil {
		w.server.clients.Add(-1)
		w.load.Add(-1)
		w.server.logf("taking a connection in: %v", err)
		return
	}
	c.scheme = "http"
	if n.secure != nil {
		c.scheme, c.secure = "https", n.secure
		n.below.conn, n.below.Conn = &c.conn, nil
		c.readable, c.writable = true, true // what came with the handshake is known to TLS alone
		w.later(&c.conn)
	}
	w.guests.push(&c.member, c)
	w.metrics.accepted.Add(1)
	c.becomeQuiet(w.server.settings.HeadTimeout)
	switch {
	case n.framed:
		c.frame()
	case n.secure == nil:
		c.fresh = w.server.settings.Streams > 0
	}
	if w.stopping {
		c.close()
	}
}

func (c *client) becomeQuiet(limit time.Duration) {
	c.since = c.w.wheel.now
	c.w.quiet.push(&c.rest, c)
	c.w.wheel.start(&c.timer, limit)
}

// close ends the connection and whatever it is about.
func (c *client) close() {
	if !c.open {
		return
	}
	c.closeAccount()
	c.detach(false)
	if c.phase == queueing && c.upstream.places.giveUp(c) {
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

// ready is told by the worker that something about the connection has changed.
func (c *client) ready() {
	if c.phase == exchanging && c.link != nil && c.body.Done() && !c.tunnel && !c.pending() && !c.hung {
		return // it is what the client asks next, which must not put off the time limits of this request
	}
	c.goOn()
}

// goOn does what there is to do.
func (c *client) goOn() {
	switch c.phase {
	case reading:
		c.read()
	case gathering:
		c.gather()
	case delaying:
		if c.hung {
			c.abandon()
		}
	case queueing:
		c.await()
	case exchanging:
		c.pump()
	case framed:
		c.session.ready()
	case lingering:
		c.linger()
	}
}

// proceed goes on where the client was left: its link has news, it was granted a place, or it has more to do.
func (c *client) proceed() {
	switch {
	case c.phase == queueing && c.granted.Load():
		c.granted.Store(false)
		c.phase, c.holds = reading, true
		if !c.open {
			c.detach(false)
			return
		}
		c.enter()
	case c.open:
		c.goOn()
	}
}

// expired is told that the time limit set last is over.
func (c *client) expired() {
	switch c.phase {
	case reading:
		if len(c.in.data) == 0 {
			c.close()
			return
		}
		c.refuse(&wire.Refusal{Status: 408, Reason: "the request did not come in time"})
	case delaying:
		c.phase = reading
		if c.spared(c.route.Fault) {
			c.enter()
		}
	case queueing:
		if !c.upstream.places.giveUp(c) {
			return // the place is on its way
		}
		c.phase = reading
		c.w.metrics.shed.Add(1)
		c.skipHead()
		c.fail(503, "too many requests in flight")
	case gathering, exchanging:
		if c.behind() || (c.awaited() && c.keepsPace() && !c.overdue()) {
			c.w.wheel.start(&c.timer, c.untilLook())
			return
		}
		c.tooSlow()
	case framed:
		c.session.expired()
	case lingering:
		c.close()
	}
}

// read reads heads of requests, until one is on its way or there is no more to read.
func (c *client) read() {
	w, most := c.w, c.w.server.settings.MaxHead
	for turn := 0; c.open && c.phase == reading; turn++ {
		if turn >= turnsEach { // whose requests are answered here could go on for as long as it sends
			w.later(&c.conn)
			break
		}
		if c.fresh && len(c.in.data) > 0 {
			switch prior(c.in.data) {
			case yes:
				c.frame()
				continue
			case no:
				c.fresh = false
			}
		}
		if fresh := len(c.in.data) - c.seen; fresh > 0 && !c.fresh && (c.seen == 0 || c.in.hasLine(fresh)) {
			n, err := w.request.Parse(c.in.data)
			if err != nil {
				c.refuse(err)
				return
			}
			if n > 0 {
				c.begin(n)
				continue
			}
		}
		c.seen = len(c.in.data)
		if c.seen >= most {
			c.refuse(&wire.Refusal{Status: 431, Reason: "the head of the request is too long"})
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

// begin takes up the request whose head is read and takes n bytes.
func (c *client) begin(n int) {
	w, r := c.w, &c.w.request
	w.metrics.requests.Add(1)
	c.rest.remove()
	c.exchange = exchange{kind: r.Kind, minor: r.Minor, last: r.Close, expects: r.Continue, upgrade: r.Upgrade != nil, chunked: r.Body.Kind == wire.Chunked, head: n, repeat: c.repeat[:0]}
	c.body.Start(r.Body)
	c.seen = 0
	c.table = w.server.table.Load()
	c.route = c.table.Routes.Match(r)
	c.openAccount()
	if c.route == nil {
		c.skipHead()
		c.fail(404, "not found")
		return
	}
	if c.route.Press != nil {
		c.presses = press.Accepts(r.Only("accept-encoding"))
	}
	if rules := c.route.Marks; rules != nil {
		if c.mark == nil {
			c.mark = &mark.Mark{}
		}
		c.mark.Begin(rules, r, c.trusted)
		c.openSpan()
		if c.mark.Preflight {
			c.skipHead()
			c.fail(204, "")
			return
		}
	}
	if g := c.route.Guard; g != nil {
		if denied := g.Check(r, guard.From(r, c.peer, w.server.settings.Trusted), time.Now()); denied.Status != 0 {
			w.metrics.denied.Add(1)
			c.skipHead()
			c.fail(denied.Status, denied.Reason)
			return
		}
	}
	if r.Limited && r.Hops == 0 {
		c.skipHead()
		c.answerLast(string(r.Method))
		return
	}
	if c.route.OpenAPI != nil && !c.describe() {
		return
	}
	c.venture()
}

// answerLast answers OPTIONS and TRACE as their last receiver (RFC 9110, 9.3.7 and 9.3.8). TRACE would show what the
// servers before this one have added to a request, credentials among it.
func (c *client) answerLast(method string) {
	if method == "OPTIONS" {
		c.fail(204, "")
	} else {
		c.fail(501, "TRACE is not answered here")
	}
}

// venture goes on with a request that may go on, unless it meets its route's fault.
func (c *client) venture() {
	w := c.w
	if f := c.route.Fault; f != nil && f.Falls(rand.Float64()) {
		w.metrics.faults.Add(1)
		if f.Delay > 0 {
			c.phase = delaying
			c.in.keep(w)
			w.wheel.start(&c.timer, f.Delay)
			return
		}
		if !c.spared(f) {
			return
		}
	}
	c.admit()
}

// spared reports whether a request that meets its route's fault goes on after all. Otherwise it is over.
func (c *client) spared(f *guard.Fault) bool {
	switch {
	case f.Break:
		c.close()
	case f.Status != 0:
		c.skipHead()
		c.fail(f.Status, "a fault on purpose")
	default:
		return true
	}
	return false
}

// admit asks for a place, unless what is stored is the answer.
func (c *client) admit() {
	w := c.w
	if len(c.table.Routes.Caches()) > 0 && c.memory == nil && (c.route.Cache != nil || c.kind == wire.Unsafe || c.kind == wire.Idempotent) && c.recall() {
		return
	}
	place := c.route.Upstream
	if c.route.Split != nil {
		place = c.route.Pick(rand.Uint32())
	}
	c.upstream = c.table.Upstreams[place]
	c.coming = !c.bodyHere()
	switch c.upstream.places.take(c) {
	case granted:
		c.holds = true
		c.dispatch()
	case queued:
		c.phase = queueing
		c.in.keep(w)
		w.wheel.start(&c.timer, c.upstream.Wait)
	case shed:
		w.metrics.shed.Add(1)
		c.skipHead()
		c.fail(503, "too many requests in flight")
	}
}

// bodyHere reports whether all of the request's body is here: behind its head, or in HTTP/2 where it waits to be read.
func (c *client) bodyHere() bool {
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

// mostAhead is how much of a body is read while its request waits for a place. In HTTP/2 nothing is, as that would let the client send more.
const mostAhead = 8 << 10

// await looks after a client that waits for a place. One with a small body, however it comes, needs none of those for bodies that are still coming.
func (c *client) await() {
	if c.hung {
		c.abandon()
		return
	}
	for c.coming {
		if c.bodyHere() {
			c.upstream.places.arrivedWaiting(c)
			return
		}
		before := len(c.in.data)
		if c.stream != nil || before >= c.head+mostAhead {
			return
		}
		switch c.fill(c.w.inScratch, mostAhead) {
		case later:
			return
		case ended, broken:
			c.abandon()
			return
		}
		c.moved += int64(len(c.in.data) - before)
	}
}

// enter goes on with a request that was held back, or waited for its place.
func (c *client) enter() {
	if _, err := c.w.request.Parse(c.in.data); err != nil {
		c.refuse(err) // it was read before, so that this cannot be
		return
	}
	if c.holds {
		c.dispatch()
	} else {
		c.admit()
	}
	if c.open && c.phase == reading { // it was answered at once
		c.w.later(&c.conn)
	}
	if c.open {
		c.in.keep(c.w)
	}
}

func (c *client) skipHead() {
	c.in.took(c.head)
	c.head = 0
}

// next waits for another request, or goes on to one that is there.
func (c *client) next() {
	c.phase, c.seen = reading, 0
	c.table, c.route, c.upstream, c.checks, c.memory = nil, nil, nil, nil, nil
	if cap(c.repeat) > keepRepeat {
		c.repeat = nil
	}
	if cap(c.account.asked) > keepRepeat {
		c.account.asked = nil
	}
	if cap(c.account.span) > keepRepeat {
		c.account.span = nil
	}
	if len(c.in.data) > 0 {
		c.w.wheel.start(&c.timer, c.w.server.settings.HeadTimeout)
		c.w.later(&c.conn)
		return
	}
	c.becomeQuiet(c.w.server.settings.IdleTimeout)
	if c.readable {
		c.w.later(&c.conn)
	}
}

// goodbye ends the connection once everything is said.
func (c *client) goodbye() {
	c.farewell()
	if c.body.Done() && len(c.in.data) == 0 && !c.readable {
		c.close()
		return
	}
	c.phase = lingering
	c.in.drop(c.w)
	_ = syscall.Shutdown(c.fd, syscall.SHUT_WR) // a client that is gone needs none
	c.w.wheel.start(&c.timer, lingerFor)
	c.linger()
}

// linger reads what nobody wants, until the client ends or its time is over.
func (c *client) linger() {
	for range turnsEach {
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
	c.w.later(&c.conn)
}

// abandon gives up a client that is gone.
func (c *client) abandon() {
	c.w.metrics.abandoned.Add(1)
	c.close()
}

// refuse answers what cannot be passed on, and ends the connection.
func (c *client) refuse(err error) {
	refusal, ok := errors.AsType[*wire.Refusal](err)
	if !ok {
		refusal = &wire.Refusal{Status: 400, Reason: err.Error()}
	}
	c.w.metrics.refused.Add(1)
	if c.phase == reading {
		c.detach(false)
		c.exchange = exchange{minor: 1, repeat: c.repeat[:0]}
		c.body.Start(wire.Body{Kind: wire.UntilEnd}) // nobody knows where it ends
		c.refuseAccount()
	}
	c.last = true
	if c.answering { // too late to say so
		c.close()
		return
	}
	c.fail(refusal.Status, refusal.Reason)
}

// fail answers in the gateway's own name.
func (c *client) fail(status int, message string) { c.tell(status, message, nil) }

// tell does so with a problem, where there is one, in place of the message.
func (c *client) tell(status int, message string, p *openapi.Problem) {
	w := c.w
	c.detach(false)
	c.rest.remove()
	if !c.last && !c.bodyThere() {
		c.last = true
	}
	w.metrics.answer(status)
	c.last = c.last || w.server.crowded.Load()
	o := wire.Inbound{Minor: c.minor, Close: c.last, Date: w.now(), Lines: c.marked().Answer.Lines}
	if c.stream != nil {
		w.out = c.stream.error(w.out[:0], status, message, p, c.kind == wire.Head, &o)
	} else {
		w.out = appendError(w.out[:0], status, message, p, c.kind == wire.Head, &o)
	}
	c.account.status, c.account.error = status, message
	c.account.said += int64(len(w.out))
	c.phase, c.answering, c.answered = exchanging, true, true
	if c.pending() { // part of an informational answer
		c.close()
		return
	}
	if c.send(w.out) == broken {
		c.abandon()
		return
	}
	c.settle()
}

// unmarked is what a request was given whose route gives nothing.
var unmarked mark.Mark

// marked is what the request was given.
func (c *client) marked() *mark.Mark {
	if c.route == nil || c.route.Marks == nil {
		return &unmarked
	}
	return c.mark
}

// bodyThere reads over the rest of the request's body as far as it is here, and reports whether that is all of it.
func (c *client) bodyThere() bool {
	for !c.body.Done() {
		_, taken, _, err := c.body.Next(c.in.data)
		if err != nil || taken == 0 {
			return false
		}
		c.in.took(taken)
	}
	return true
}

// settle ends an exchange whose answer is written, once the kernel has all of it.
func (c *client) settle() {
	switch c.flush() {
	case later:
		c.watchPace()
		return
	case broken:
		c.abandon()
		return
	}
	c.closeAccount()
	if c.stream != nil {
		c.stream.finish()
		return
	}
	if c.last || c.w.stopping {
		c.goodbye()
		return
	}
	c.next()
}
