// Failures of upstreams. A request is retried on another connection or server if that is safe:
// nothing was sent, the server reports that it did nothing, or the method may be repeated. A budget
// keeps retries from multiplying a failure. Start reading at client.upstreamClosed.

package proxy

import (
	"faceoff/gateway/wire"
)

// maxTries is how often a request is sent, the first time included.
const maxTries = 3

// unreachable handles a connection that could not be made. Nothing was sent over it, so any request
// may go to another server. The request may have been sent before, over an idle connection that
// ended with its server.
func (c *client) unreachable(why string) {
	w, uc := c.w, c.upstreamConn
	w.metrics.unreachable.Add(1)
	w.server.logf("connecting to %s: %s", uc.server.address, why)
	c.upstream.recordConnFailure(uc)
	other := c.pickOther(uc.server)
	if other == nil {
		c.respondError(502, unreachable)
		return
	}
	request := append(w.out[:0], uc.out...)
	c.dropUpstream()
	if c.attach(other, request) {
		c.pump()
	}
}

// pickOther returns another server for a request that could not be sent. It returns nil if there is
// none, or after maxTries.
func (c *client) pickOther(than *server) *server {
	if c.tries >= maxTries {
		return nil
	}
	other := c.upstream.pick(than)
	if other == nil || other == than || !c.upstream.limiter.takeRetry() {
		return nil
	}
	c.w.metrics.repeated.Add(1)
	return other
}

// retryOtherConn sends a request over another connection to its server, since none of it was sent
// over this one.
func (c *client) retryOtherConn() {
	if c.tries >= maxTries {
		c.respondError(502, unreachable)
		return
	}
	server, request := c.upstreamConn.server, append(c.w.out[:0], c.upstreamConn.out...)
	c.dropUpstream()
	if c.attach(server, request) {
		c.pump()
	}
}

// dropUpstream closes the upstream connection and keeps the slot.
func (c *client) dropUpstream() {
	uc := c.upstreamConn
	c.upstreamConn, uc.client, c.uploadStopped = nil, nil, false
	uc.server.inFlight.Add(-1)
	uc.close()
}

// upstreamClosed handles an upstream that closed its connection before its response was complete.
func (c *client) upstreamClosed() {
	w, uc, st := c.w, c.upstreamConn, c.upstreamConn.stream
	if st != nil && st.fault != "" {
		c.badResponse(&wire.Refusal{Reason: st.fault})
		return
	}
	noResponse := !c.responding && len(uc.in.data) == 0
	refused := st != nil && st.refused // the server reports that it did not process the request
	// An idle connection may close just as a request is sent, which is no failure (RFC 9112, 9.5).
	stale := noResponse && (uc.reused || refused)
	server := uc.server
	if !stale {
		c.upstream.recordConnFailure(uc)
		server = c.upstream.pick(server)
	}
	if noResponse && len(c.retryBytes) > 0 && (refused || c.kind.Repeatable()) && c.tries < maxTries &&
		server != nil &&
		(stale || server != uc.server) &&
		c.upstream.limiter.takeRetry() {
		w.metrics.repeated.Add(1)
		c.dropUpstream()
		if stale && st == nil {
			for spare := w.idle(c.upstream, server); spare != nil; spare = w.idle(c.upstream, server) {
				spare.close() // most likely closed as well
			}
		}
		if c.attach(server, c.retryBytes) {
			c.pump()
		}
		return
	}
	w.metrics.brokeOff.Add(1)
	w.server.logf("%s broke off", uc.server.address)
	if c.responding {
		c.close() // a truncated response must look truncated
		return
	}
	c.respondError(502, unreachable)
}

// badResponse handles a response that cannot be passed on.
func (c *client) badResponse(err error) {
	w := c.w
	if c.upstreamConn == nil { // impossible: a stored response was parsed before
		c.close()
		return
	}
	w.metrics.malformed.Add(1)
	w.server.logf("the response of %s: %v", c.upstreamConn.server.address, err)
	if c.responding {
		c.close()
		return
	}
	c.respondError(502, "the upstream's response cannot be passed on")
}

// timedOut handles an exchange without progress, or with too little.
func (c *client) timedOut() {
	m := &c.w.metrics
	switch {
	case c.phase == bufferingBody:
		m.slow.Add(1)
		c.skipHead()
		c.closeAfter = true
		c.respondError(408, "the request did not come in time")
	case c.tunnel: // neither side has sent anything
		c.close()
	case c.waitsForClient() && (c.responseDone || c.responding || c.upstreamConn == nil):
		m.slow.Add(1)
		c.close()
	case c.responseDone || c.responding || c.upstreamConn == nil:
		m.stalled.Add(1)
		c.close()
	case c.upstreamConn.connecting:
		c.unreachable("no response in time")
	case c.waitsForClient():
		m.slow.Add(1)
		c.closeAfter = true
		c.respondError(408, "the request did not come in time")
	default:
		m.stalled.Add(1)
		c.w.server.logf("%s did not respond in time", c.upstreamConn.server.address)
		c.upstream.recordFailure(c.upstreamConn.server)
		c.respondError(504, "the upstream did not answer in time")
	}
}
