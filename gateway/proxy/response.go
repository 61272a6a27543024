// Responses on their way to the client: heads, bodies in the framing that the client understands,
// tunnels, and the end of an exchange. Start reading at client.pumpResponse.

package proxy

import (
	"faceoff/gateway/wire"
)

// pumpFromCache sends a stored response.
func (c *client) pumpFromCache() {
	if c.pumpResponse(); c.open {
		c.in.keep(c.w)
		c.startReadTimer()
	}
}

// startReadTimer sets the timeout of a client that must read more of a stored response.
func (c *client) startReadTimer() {
	if c.phase == exchanging && !c.responseDone {
		c.w.wheel.start(&c.timer, c.w.server.settings.Stall)
		c.watchPace()
	}
}

// pumpResponse passes the response on.
func (c *client) pumpResponse() {
	w := c.w
	for turn := 0; ; turn++ {
		switch c.drain() {
		case later:
			full := !c.mayBuffer()
			c.markLagging(full)
			if full {
				return
			}
		case broken:
			c.abandon()
			return
		default:
			c.clearLagging()
		}
		if c.tunnel && c.responseBody.Done() {
			c.endTunnel()
			return
		}
		w.out = w.out[:0]
		if !c.encodeResponse() {
			return
		}
		whole := c.responding && c.responseBody.Done()
		if whole {
			// The slot is free as soon as the upstream has sent everything, however slowly the
			// client reads.
			c.responseDone = true
			c.commitStore()
			c.detach(true)
		}
		if len(w.out) > 0 {
			c.bytesMoved += int64(len(w.out))
			c.record.bytesSent += int64(len(w.out))
			if c.sendOrBuffer(w.out,
				whole && (c.stream == nil || len(c.stream.trailers) == 0)) == broken {
				c.abandon()
				return
			}
			if !whole {
				continue
			}
		}
		if whole {
			c.finishResponse()
			return
		}
		if turn >= readsPerTurn {
			w.schedule(&c.conn)
			return
		}
		switch c.fillResponse() {
		case later:
			return
		case ended:
			if c.tunnel {
				c.responseBody.End()
				c.passEnd()
				continue
			}
			c.endResponse()
			return
		case broken:
			c.upstreamClosed()
			return
		}
	}
}

// endResponse ends a response that is framed by the end of the server's connection.
func (c *client) endResponse() {
	w := c.w
	if !c.responding || !c.responseBody.End() {
		c.upstreamClosed()
		return
	}
	w.out = w.out[:0]
	switch {
	case c.compressor != nil:
		_ = c.endCompressed(nil) // it cannot fail without trailers
	case c.framing == wire.Chunked:
		w.out, _ = wire.AppendLastChunk(w.out, nil, &w.trailers, nil) // nor can this
	}
	c.noReuse = true
	c.responseDone = true
	c.record.bytesSent += int64(len(w.out))
	c.detach(false)
	if c.sendOrBuffer(w.out, false) == broken {
		c.abandon()
		return
	}
	c.finishResponse()
}

// passEnd closes a tunnel from server to client. The other direction stays open.
func (c *client) passEnd() {
	switch st := c.stream; {
	case st == nil:
		c.shut()
	case c.pending():
		st.ending = true
	default:
		st.h2Stream.sendEnd(nil)
	}
}

// endTunnel ends a tunnel whose server has closed, once the client has closed too or cannot reach
// the server.
func (c *client) endTunnel() {
	if uc := c.upstreamConn; !c.body.Done() && !c.uploadStopped && !uc.dead &&
		(uc.stream == nil || !uc.stream.over) {
		return
	}
	c.noReuse, c.responseDone = true, true
	c.detach(false)
	c.finishResponse()
}

// encodeResponse writes to the worker's scratch buffer what has arrived of the response. False
// means that the exchange is over.
func (c *client) encodeResponse() bool {
	w, r := c.w, &c.w.response
	headPending := !c.responding
	if headPending {
		switch c.readHeads() {
		case undecided:
			return true
		case no:
			return false
		}
	}
	in := c.responseIntake()
	var err error
	if c.compressor == nil {
		err = c.encode(&c.responseBody, in, c.framing == wire.Chunked)
	} else {
		err = c.encodeCompressed()
	}
	if err != nil {
		c.responding = !headPending // no byte of it was sent yet
		c.badResponse(err)
		return false
	}
	if headPending {
		w.metrics.countResponse(r.Status)
		if st := c.stream; st != nil {
			st.sendHead(r, c.inbound(), c.responseBody.Done() && len(w.out)+len(st.trailers) == 0)
		}
	}
	return true
}

// readHeads reads the heads of informational responses and of the final one. Undecided means that
// the final head has not arrived, no that the exchange is over.
func (c *client) readHeads() decision {
	in, r := c.responseIntake(), &c.w.response
	for !c.responding && len(in.data) > 0 {
		n, err := c.parseHead(in)
		if err != nil {
			c.badResponse(err)
			return no
		}
		if n == 0 {
			return undecided
		}
		if c.validation != nil && c.route.OpenAPI.Answers && r.Status >= 200 && !c.servesStored() {
			if valid := c.validateResponse(n); valid != yes {
				return valid
			}
		}
		in.consume(n)
		if r.Status < 200 && r.Status != 101 {
			c.passInformational(r)
			continue
		}
		if c.cached != nil && !c.servesStored() && r.Status != 101 {
			switch c.cacheResponse(r) {
			case undecided:
				return no
			case no:
				in = c.responseIntake()
				continue
			}
		}
		c.beginResponse(r)
	}
	if !c.responding {
		return undecided
	}
	return yes
}

// parseHead parses the next head of the response, and returns its length. Zero means that the head
// is incomplete.
func (c *client) parseHead(in *intake) (int, error) {
	r := &c.w.response
	n, err := r.Parse(in.data, c.kind)
	switch {
	case err != nil:
		return 0, err
	case n == 0 && len(in.data) >= c.w.server.settings.MaxHead:
		return 0, &wire.Refusal{Reason: "the head of the response is too long"}
	case n == 0:
		return 0, nil
	}
	if c.stream != nil && c.stream.raw {
		if err := c.stream.agreed(r); err != nil {
			return 0, err
		}
	}
	if r.Status == 101 && !wire.Offered(c.upgrade, r.Upgrade) {
		return 0, &wire.Refusal{Reason: "it switched to a protocol that the client did not ask for"}
	}
	return n, nil
}

// passInformational passes on a response before the final one, such as 100 or 103.
func (c *client) passInformational(r *wire.Response) {
	c.retryBytes = c.retryBytes[:0] // the server has received the request
	c.requestSent = false           // and is working on it
	c.expectsContinue = c.expectsContinue && r.Status != 100
	switch {
	case c.stream != nil:
		c.stream.sendHead(r, &wire.Inbound{Drop: c.headerEdits().Answer.Drop}, false)
	case c.minor == 1:
		c.w.out = wire.AppendResponse(c.w.out, r,
			&wire.Inbound{Minor: 1, Drop: c.headerEdits().Answer.Drop})
	}
}

// beginResponse decides how the final response goes to the client: as a tunnel, compressed, in
// chunks, or as it is. For HTTP/1.1 it writes the head.
func (c *client) beginResponse(r *wire.Response) {
	w := c.w
	c.responding = true
	c.record.status = r.Status
	if c.upstreamConn != nil {
		c.upstreamConn.server.recordSuccess()
	}
	if r.Status == 101 {
		c.beginTunnel(r)
		return
	}
	c.responseBody.Start(r.Body)
	if rules := c.route.Compress; rules != nil {
		c.chooseCompression(rules, r)
	}
	c.noReuse = r.Close
	c.framing = wire.ResponseBody(r.Body, c.minor)
	if c.stream != nil {
		c.framing = wire.UntilEnd // frames mark the end
	}
	c.closeAfter = c.closeAfter || c.framing == wire.UntilEnd || !c.body.Done() ||
		w.server.stopping.Load() ||
		w.server.crowded.Load()
	if c.stream == nil {
		w.out = wire.AppendResponse(w.out, r, c.inbound())
	}
}

// beginTunnel passes bytes both ways from now on, without reading them.
func (c *client) beginTunnel(r *wire.Response) {
	c.tunnel, c.closeAfter, c.framing = true, true, wire.UntilEnd
	c.chunked = false
	c.body.Start(wire.Body{Kind: wire.UntilEnd})
	c.responseBody.Start(wire.Body{Kind: wire.UntilEnd})
	if c.stream != nil {
		r.Status, r.Body = 200, wire.Body{Kind: wire.UntilEnd} // RFC 8441, 5
	} else {
		c.w.out = wire.AppendResponse(c.w.out, r, &wire.Inbound{Minor: 1})
	}
	c.w.schedule(&c.conn) // the client may have sent bytes for the tunnel already
}

// inbound returns how the head of the response goes to the client.
func (c *client) inbound() *wire.Inbound {
	fields := &c.headerEdits().Answer
	c.w.inbound = wire.Inbound{
		Minor: c.minor,
		Close: c.closeAfter,
		Date:  c.w.now(),
		Drop:  fields.Drop,
		Lines: fields.Lines,
	}
	if c.tunnel {
		c.w.dropNames = append(append(c.w.dropNames[:0], fields.Drop...), accepted)
		c.w.inbound.Drop = c.w.dropNames
	}
	if m := c.cached; m != nil && m.store != nil {
		c.appendCacheStatus(&c.w.inbound)
	}
	if c.variesByEncoding {
		c.appendCompressionFields(&c.w.inbound, &c.w.response)
	}
	return &c.w.inbound
}
