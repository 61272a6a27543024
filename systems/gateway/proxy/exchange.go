package proxy

import (
	"math/rand/v2"

	"faceoff/systems/gateway/cache"
	"faceoff/systems/gateway/guard"
	"faceoff/systems/gateway/press"
	"faceoff/systems/gateway/route"
	"faceoff/systems/gateway/wire"
)

// exchange is a request and its answer. The zero value is none.
type exchange struct {
	table    *Table // in which the route is
	route    *route.Route
	upstream *Upstream
	link     *link
	checks   *checks // nil where no document says how it is to be
	memory   *memory // nil where nothing is stored
	holds    bool    // a place of upstream
	coming   bool    // the body is not here whole, as far as upstream's places know

	kind    wire.Method
	minor   byte
	head    int         // bytes of the head, while they lie in the client's intake
	body    wire.Reader // the request's
	chunked bool        // the request's body is passed on in chunks
	deaf    bool        // the upstream does not take the rest of the body; its answer may be under way all the same
	expects bool        // the client waits for 100 before it sends its body
	upgrade bool        // the client asked for one
	tunnel  bool        // it was granted: bytes pass both ways, unread

	answer    wire.Reader
	asked     bool // all of the request is sent, and the time limit of the answer's head runs
	answering bool // the head of the final answer is on its way
	answered  bool // all of it is here
	framing   wire.Framing
	presses   bool         // the client takes compressed answers
	varies    bool         // the answer depends on that
	shrunk    bool         // it is compressed,
	press     *press.Press // by this, until it is whole
	spent     bool         // the link cannot be used again
	last      bool         // the client's connection ends after this
	pace      pace
	moved     int64 // bytes of bodies that came from the client, and of answers that went to it
	given     int64 // bytes that the request's body has, as far as it is here
	tries     int
	repeat    []byte // the request, where it may be sent again
}

// dispatch sends the request that the worker's parser holds to a server.
func (c *client) dispatch() {
	w, u, r := c.w, c.upstream, &c.w.request
	settings := &w.server.settings
	o := wire.Outbound{Path: r.Path, Host: u.Host, Client: c.address, Proto: c.scheme, Via: settings.Via, Trusted: c.trusted, Forward: settings.Forwarded}
	o.Drop, o.Lines = c.marked().Request.Drop, c.marked().Request.Lines
	if c.stream != nil {
		o.Received = "2"
	}
	if c.route.Rewrites() {
		w.path = c.route.AppendPath(w.path[:0], r.Path)
		o.Path = w.path
	}
	r.Continue = r.Continue && (c.checks == nil || !c.checks.invited)
	if m := c.memory; m != nil && m.entry != nil {
		w.added = m.entry.AppendConditions(append(w.added[:0], o.Lines...))
		w.drop = append(append(w.drop[:0], o.Drop...), cache.Conditions()...)
		o.Lines, o.Drop = w.added, w.drop
	}
	w.out = wire.AppendRequest(w.out[:0], r, &o)
	c.skipHead()
	c.phase = exchanging
	if c.body.Done() && c.kind.Repeatable() {
		c.repeat = append(c.repeat[:0], w.out...)
	} else if err := c.encode(&c.body, &c.in, c.chunked); err != nil {
		c.refuse(err)
		return
	} else if c.body.Done() {
		c.arrived()
		if u.Framed {
			c.repeat = append(c.repeat[:0], w.out...) // a server may say that it did nothing about it
		}
	}
	if m := c.route.Mirror; m != nil && c.body.Done() && !c.upgrade && (m.Upto == route.Whole || uint64(rand.Uint32())*route.Whole>>32 < uint64(m.Upto)) {
		w.mirror(c.table.Upstreams[m.Upstream], w.out, c.kind)
	}
	s := u.pick(nil)
	if s == nil {
		w.metrics.shed.Add(1)
		c.fail(503, "no server is well")
		return
	}
	if c.attach(s, w.out) {
		c.pump()
	}
}

// attach gives the request to a connection to a server. False means that the client was answered instead.
func (c *client) attach(s *server, request []byte) bool {
	w := c.w
	c.tries++
	l := w.idle(c.upstream, s)
	for l != nil && l.hung {
		l.close()
		l = w.idle(c.upstream, s)
	}
	if l == nil {
		var err error
		if l, err = w.connect(c.upstream, s); err != nil {
			c.upstream.failed(s)
			w.metrics.unreachable.Add(1)
			w.server.logf("connecting to %s: %v", s.address, err)
			if other := c.elsewhere(s); other != nil {
				return c.attach(other, request)
			}
			c.fail(502, unreachable)
			return false
		}
	}
	if l.connecting {
		l.queue(request)
		w.wheel.start(&c.timer, c.upstream.Connect)
	} else {
		w.wheel.start(&c.timer, c.upstream.Answer)
	}
	s.inFlight.Add(1)
	l.client, c.link, c.asked = c, l, false
	if !l.connecting && l.send(request) == broken {
		l.hung, l.readable = true, true // whatever it said before it went is still read
	}
	return true
}

const unreachable = "the upstream could not be reached or broke off"

// detach parts from the link, which is kept where it can be used again, and gives the place back.
func (c *client) detach(whole bool) {
	if l := c.link; l != nil {
		c.link = nil
		l.server.inFlight.Add(-1)
		if whole && !c.spent && !c.deaf && !c.tunnel && c.body.Done() && !l.pending() {
			l.rest()
		} else {
			l.client = nil
			l.close()
		}
	}
	if c.press != nil {
		c.putBack()
	}
	c.release()
	c.dropDraft()
	if c.holds {
		c.holds = false
		c.upstream.places.release(c.w, c.coming)
		c.coming = false
	}
}

// pump moves what can be moved, in both directions.
func (c *client) pump() {
	w := c.w
	if c.answered {
		c.settle()
		return
	}
	l := c.link
	if c.hung && c.body.Done() && !c.tunnel {
		c.abandon()
		return
	}
	if c.stored() {
		c.pumpStored()
		return
	}
	if l.connecting {
		if !l.writable && !l.hung {
			c.in.keep(w)
			return
		}
		if err := connected(l.fd); err != nil {
			c.unreachable(err.Error())
			return
		}
		l.connecting = false
	}
	if c.pumpRequest() {
		c.pumpAnswer()
	}
	if !c.open {
		return
	}
	c.in.keep(w)
	if c.stored() { // as the upstream has said that it still holds
		c.awaitReader()
		return
	}
	if l := c.link; l != nil && c.phase == exchanging {
		l.in.keep(w)
		switch {
		case l.connecting:
			w.wheel.start(&c.timer, c.upstream.Connect)
		case c.tunnel:
			w.wheel.start(&c.timer, c.upstream.Tunnel)
		case c.asked && !c.answering: // however it comes, and whatever else the client sends
		case c.body.Done() && !l.pending() && !c.answering:
			c.asked = true
			w.wheel.start(&c.timer, c.upstream.Answer)
		default:
			w.wheel.start(&c.timer, w.server.settings.Stall)
			c.watchPace()
		}
	}
}

// pumpStored passes on what is stored.
func (c *client) pumpStored() {
	if c.pumpAnswer(); c.open {
		c.in.keep(c.w)
		c.awaitReader()
	}
}

// awaitReader sets the time limit of a client that is to take more of what is stored.
func (c *client) awaitReader() {
	if c.phase == exchanging && !c.answered {
		c.w.wheel.start(&c.timer, c.w.server.settings.Stall)
		c.watchPace()
	}
}

// arrived lets others know whose body is still coming that this one's is here.
func (c *client) arrived() {
	if c.coming {
		c.coming = false
		c.upstream.places.arrived(c.w)
	}
}

// pumpRequest passes the request's body on. False means that the exchange is over.
func (c *client) pumpRequest() bool {
	w, l := c.w, c.link
	for turn := 0; !c.deaf; turn++ {
		switch l.flush() {
		case later:
			return true
		case broken:
			c.deaf = true
			l.dropOut()
			return true
		}
		if c.body.Done() {
			return true
		}
		w.out = w.out[:0]
		if err := c.encode(&c.body, &c.in, c.chunked); err != nil {
			c.refuse(err)
			return false
		}
		if c.body.Done() {
			c.arrived()
		}
		if len(w.out) > 0 {
			if l.send(w.out) == broken {
				c.deaf = true
			}
			continue
		}
		if turn >= turnsEach {
			w.later(&c.conn)
			return true
		}
		before := len(c.in.data)
		switch c.fill(w.inScratch, readSize) {
		case fine:
			c.moved += int64(len(c.in.data) - before)
			c.expects = false
		case later:
			return true
		case ended:
			if c.tunnel {
				c.body.End()
				l.shut()
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

// pumpAnswer passes the answer on.
func (c *client) pumpAnswer() {
	w := c.w
	for turn := 0; ; turn++ {
		switch c.flush() {
		case later:
			return
		case broken:
			c.abandon()
			return
		}
		w.out = w.out[:0]
		if !c.encodeAnswer() {
			return
		}
		whole := c.answering && c.answer.Done()
		if whole {
			// The place is free as soon as the upstream has said all, however slowly the client reads.
			c.answered = true
			c.keepAnswer()
			c.detach(true)
			if c.stream != nil {
				c.stream.ending = len(c.stream.trailers) == 0
			}
		}
		if len(w.out) > 0 {
			c.moved += int64(len(w.out))
			c.account.said += int64(len(w.out))
			if c.send(w.out) == broken {
				c.abandon()
				return
			}
			if !whole {
				continue
			}
		}
		if whole {
			c.settle()
			return
		}
		if turn >= turnsEach {
			w.later(&c.conn)
			return
		}
		switch c.fillAnswer() {
		case later:
			return
		case ended:
			if !c.answering || !c.answer.End() {
				c.brokeOff()
				return
			}
			w.out = w.out[:0]
			switch {
			case c.press != nil:
				_ = c.endPressed(nil) // without trailers it cannot fail
			case c.framing == wire.Chunked:
				w.out, _ = wire.AppendLastChunk(w.out, nil, &w.trailers, nil) // the same
			}
			c.spent = true
			c.answered = true
			c.account.said += int64(len(w.out))
			c.detach(false)
			if c.send(w.out) == broken {
				c.abandon()
				return
			}
			c.settle()
			return
		case broken:
			c.brokeOff()
			return
		}
	}
}

// encodeAnswer writes to the worker's scratch what of the answer is there. False means that the exchange is over.
func (c *client) encodeAnswer() bool {
	w, in, r := c.w, c.answerIntake(), &c.w.response
	unsaid := !c.answering
	for !c.answering && len(in.data) > 0 {
		n, err := r.Parse(in.data, c.kind)
		if err == nil && n == 0 && len(in.data) >= w.server.settings.MaxHead {
			err = &wire.Refusal{Reason: "the head of the answer is too long"}
		}
		if err == nil && n > 0 && c.stream != nil && c.stream.raw {
			err = c.stream.agreed(r)
		}
		if err != nil || (r.Status == 101 && n > 0 && !c.upgrade) {
			c.misspoke(err)
			return false
		}
		if n == 0 {
			return true
		}
		if c.checks != nil && c.route.OpenAPI.Answers && r.Status >= 200 && !c.stored() {
			switch c.inspect(n) {
			case undecided:
				return true
			case no:
				return false
			}
		}
		in.took(n)
		if r.Status < 200 && r.Status != 101 {
			c.repeat = c.repeat[:0] // it was heard
			c.asked = false         // and is at work
			c.expects = c.expects && r.Status != 100
			switch {
			case c.stream != nil:
				c.stream.head(r, &wire.Inbound{Drop: c.marked().Answer.Drop}, false)
			case c.minor == 1:
				w.out = wire.AppendResponse(w.out, r, &wire.Inbound{Minor: 1, Drop: c.marked().Answer.Drop})
			}
			continue
		}
		if c.memory != nil && !c.stored() && r.Status != 101 {
			switch c.consult(r) {
			case undecided:
				return false
			case no:
				in = c.answerIntake()
				continue
			}
		}
		c.answering = true
		c.account.status = r.Status
		if c.link != nil {
			c.link.server.answered()
		}
		if r.Status == 101 {
			c.tunnel, c.last, c.framing = true, true, wire.UntilEnd
			c.chunked = false
			c.body.Start(wire.Body{Kind: wire.UntilEnd})
			c.answer.Start(wire.Body{Kind: wire.UntilEnd})
			if c.stream != nil {
				r.Status, r.Body = 200, wire.Body{Kind: wire.UntilEnd} // RFC 8441, 5
			} else {
				w.out = wire.AppendResponse(w.out, r, &wire.Inbound{Minor: 1})
			}
			w.later(&c.conn) // what the client has sent since is for the tunnel
			break
		}
		c.answer.Start(r.Body)
		if rules := c.route.Press; rules != nil {
			c.choose(rules, r)
		}
		c.spent = r.Close
		c.framing = wire.AnswerBody(r.Body, c.minor)
		if c.stream != nil {
			c.framing = wire.UntilEnd // frames tell where it is
		}
		c.last = c.last || c.framing == wire.UntilEnd || !c.body.Done() || w.server.stopping.Load() || w.server.crowded.Load()
		if c.stream == nil {
			w.out = wire.AppendResponse(w.out, r, c.inbound())
		}
	}
	if !c.answering {
		return true
	}
	var err error
	if c.press == nil {
		err = c.encode(&c.answer, in, c.framing == wire.Chunked)
	} else {
		err = c.encodePressed()
	}
	if err != nil {
		c.answering = !unsaid // nothing of it has left yet
		c.misspoke(err)
		return false
	}
	if unsaid {
		w.metrics.answer(r.Status)
		if st := c.stream; st != nil {
			st.head(r, c.inbound(), c.answer.Done() && len(w.out)+len(st.trailers) == 0)
		}
	}
	return true
}

// inbound is how the answer goes to the client.
func (c *client) inbound() *wire.Inbound {
	fields := &c.marked().Answer
	c.w.inbound = wire.Inbound{Minor: c.minor, Close: c.last, Date: c.w.now(), Drop: fields.Drop, Lines: fields.Lines}
	if c.tunnel {
		c.w.drop = append(append(c.w.drop[:0], fields.Drop...), accepted)
		c.w.inbound.Drop = c.w.drop
	}
	if m := c.memory; m != nil && m.store != nil {
		c.tellCache(&c.w.inbound)
	}
	if c.varies {
		c.pressed(&c.w.inbound, &c.w.response)
	}
	return &c.w.inbound
}

// encode writes to the worker's scratch what of a body is there, as it is passed on: in chunks, or as it is.
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
		if body == &c.answer {
			c.note(content)
		}
		if g := c.route.Guard; g != nil && g.Body > 0 && body == &c.body && !c.tunnel {
			if c.given += int64(len(content)); c.given > g.Body {
				return &wire.Refusal{Status: 413, Reason: guard.TooLarge}
			}
		}
		if !chunked {
			w.out = append(w.out, content...)
		} else {
			w.out = wire.AppendChunk(w.out, content)
		}
		in.took(taken)
		switch {
		case trailers == nil:
		case c.stream != nil && body == &c.answer:
			if c.stream.trailers, err = wire.AppendTrailers(nil, trailers, &w.trailers, c.marked().Answer.Drop); err != nil {
				return err
			}
		case chunked:
			drop := c.marked().Request.Drop
			if body == &c.answer {
				drop = c.marked().Answer.Drop
			}
			if w.out, err = wire.AppendLastChunk(w.out, trailers, &w.trailers, drop); err != nil {
				return err
			}
		}
	}
	return nil
}
