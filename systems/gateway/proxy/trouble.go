package proxy

import (
	"faceoff/systems/gateway/openapi"
	"faceoff/systems/gateway/wire"
)

// mostTries is how often a request is given to a server, the first time included.
const mostTries = 3

// unreachable is told that a connection could not be made. Nothing was sent over it, so that another server may be asked, whatever the request.
// It may have been sent before, over a kept connection that ended with its server.
func (c *client) unreachable(why string) {
	w, l := c.w, c.link
	w.metrics.unreachable.Add(1)
	w.server.logf("connecting to %s: %s", l.server.address, why)
	c.upstream.failed(l.server)
	other := c.elsewhere(l.server)
	if other == nil {
		c.fail(502, unreachable)
		return
	}
	request := append(w.out[:0], l.out...)
	c.part()
	if c.attach(other, request) {
		c.pump()
	}
}

// elsewhere is another server for a request that could not be sent to one; nil where there is none, or where it was tried often enough.
func (c *client) elsewhere(than *server) *server {
	if c.tries >= mostTries {
		return nil
	}
	other := c.upstream.pick(than)
	if other == nil || other == than || !c.upstream.places.again() {
		return nil
	}
	c.w.metrics.repeated.Add(1)
	return other
}

// move gives a request to another connection of its server, as nothing of it was sent over this one.
func (c *client) move() {
	if c.tries >= mostTries {
		c.fail(502, unreachable)
		return
	}
	server, request := c.link.server, append(c.w.out[:0], c.link.out...)
	c.part()
	if c.attach(server, request) {
		c.pump()
	}
}

// part closes the link, and keeps the place.
func (c *client) part() {
	l := c.link
	c.link, l.client, c.deaf = nil, nil, false
	l.server.inFlight.Add(-1)
	l.close()
}

// brokeOff is told that the upstream ended its connection before its answer was whole.
func (c *client) brokeOff() {
	w, l, n := c.w, c.link, c.link.lane
	if n != nil && n.fault != "" {
		c.misspoke(&wire.Refusal{Reason: n.fault})
		return
	}
	unheard := !c.answering && len(l.in.data) == 0
	refused := n != nil && n.refused // whatever was asked, nothing came of it
	// A kept connection may end just as a request comes, which is nobody's fault (RFC 9112, 9.5).
	stale := unheard && (l.used || refused)
	server := l.server
	if !stale {
		c.upstream.failed(server)
		server = c.upstream.pick(server)
	}
	if unheard && len(c.repeat) > 0 && (refused || c.kind.Repeatable()) && c.tries < mostTries && server != nil && (stale || server != l.server) && c.upstream.places.again() {
		w.metrics.repeated.Add(1)
		c.part()
		if stale && n == nil {
			for spare := w.idle(c.upstream, server); spare != nil; spare = w.idle(c.upstream, server) {
				spare.close() // most likely closed as well
			}
		}
		if c.attach(server, c.repeat) {
			c.pump()
		}
		return
	}
	w.metrics.brokeOff.Add(1)
	w.server.logf("%s broke off", l.server.address)
	if c.answering {
		c.close() // an answer that is cut must look cut
		return
	}
	c.fail(502, unreachable)
}

// misspoke is told that an answer cannot be passed on.
func (c *client) misspoke(err error) {
	w := c.w
	if c.link == nil { // what is stored was understood, so that this cannot be
		c.close()
		return
	}
	why := "it switched protocols, which nobody asked for"
	if err != nil {
		why = err.Error()
	}
	w.metrics.misspoke.Add(1)
	w.server.logf("the answer of %s: %s", c.link.server.address, why)
	if c.answering {
		c.close()
		return
	}
	c.fail(502, "the upstream's answer cannot be passed on")
}

// tooSlow is told that nothing moved for as long as is allowed, or too little.
func (c *client) tooSlow() {
	m := &c.w.metrics
	switch {
	case c.phase == gathering:
		m.slow.Add(1)
		c.skipHead()
		c.last = true
		c.fail(408, "the request did not come in time")
	case c.tunnel: // neither side said anything
		c.close()
	case c.awaited() && (c.answered || c.answering || c.link == nil):
		m.slow.Add(1)
		c.close()
	case c.answered || c.answering || c.link == nil:
		m.stalled.Add(1)
		c.close()
	case c.link.connecting:
		c.unreachable("no answer in time")
	case c.awaited():
		m.slow.Add(1)
		c.last = true
		c.fail(408, "the request did not come in time")
	default:
		m.stalled.Add(1)
		c.w.server.logf("%s did not answer in time", c.link.server.address)
		c.upstream.failed(c.link.server)
		c.fail(504, "the upstream did not answer in time")
	}
}

// appendError writes an answer in the gateway's own name, with a problem where there is one.
func appendError(to []byte, status int, message string, p *openapi.Problem, head bool, o *wire.Inbound) []byte {
	kind, length := "application/json", len(errorBefore)+len(message)+len(errorAfter)
	var told []byte
	if p != nil {
		told = p.Body()
		kind, length = problemKind, len(told)
	}
	to = append(to, "HTTP/1.1 "...)
	to = wire.AppendDecimal(to, int64(status))
	to = append(to, ' ')
	to = append(to, reasons[status]...)
	to = append(to, "\r\nDate: "...)
	to = append(to, o.Date...)
	if !bare(status) {
		to = append(to, "\r\nContent-Type: "...)
		to = append(to, kind...)
		to = append(to, "\r\nContent-Length: "...)
		to = wire.AppendDecimal(to, int64(length))
	}
	switch {
	case o.Close:
		to = append(to, "\r\nConnection: close"...)
	case o.Minor == 0:
		to = append(to, "\r\nConnection: keep-alive"...)
	}
	switch status {
	case 401:
		to = append(to, "\r\nWWW-Authenticate: Bearer"...)
	case 429, 503:
		to = append(to, "\r\nRetry-After: 1"...)
	}
	if p != nil && p.Allow != "" {
		to = append(to, "\r\nAllow: "...)
		to = append(to, p.Allow...)
	}
	to = append(to, "\r\n"...)
	to = append(to, o.Lines...)
	to = append(to, "\r\n"...)
	switch {
	case head || bare(status):
		return to
	case p != nil:
		return append(to, told...)
	}
	return appendErrorBody(to, message)
}

// bare reports whether an answer has neither a body nor a length of one (RFC 9110, 8.6).
func bare(status int) bool { return status == 204 }

const errorBefore, errorAfter = `{"error":"`, `"}`

// problemKind is the kind of content of a problem (RFC 9457, 3).
const problemKind = "application/problem+json"

func appendErrorBody(to []byte, message string) []byte {
	to = append(to, errorBefore...)
	to = append(to, message...)
	return append(to, errorAfter...)
}

var reasons = map[int]string{
	204: "No Content",
	400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 408: "Request Timeout", 413: "Content Too Large",
	415: "Unsupported Media Type", 417: "Expectation Failed", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
	500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported",
}
