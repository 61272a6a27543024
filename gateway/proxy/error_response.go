// Responses of the gateway itself: errors as JSON, or as problem documents for routes with OpenAPI.

package proxy

import (
	"errors"

	"faceoff/gateway/openapi"
	"faceoff/gateway/wire"
)

// rejectRequest responds to a request that cannot be passed on, and ends the connection.
func (c *client) rejectRequest(err error) {
	refusal, ok := errors.AsType[*wire.Refusal](err)
	if !ok {
		refusal = &wire.Refusal{Status: 400, Reason: err.Error()}
	}
	c.w.metrics.refused.Add(1)
	if c.phase == reading {
		c.detach(false)
		c.exchange = exchange{minor: 1, retryBytes: c.retryBytes[:0], upgrade: c.upgrade[:0]}
		c.from = c.peer
		c.body.Start(wire.Body{Kind: wire.UntilEnd}) // its end is unknown
		c.beginRejectedRecord()
	}
	c.closeAfter = true
	if c.responding { // too late for an error response
		c.close()
		return
	}
	c.respondError(refusal.Status, refusal.Reason)
}

// respondError sends a response of the gateway itself.
func (c *client) respondError(status int, message string) { c.respond(status, message, nil) }

// respond does the same with a problem document, if there is one, in place of the message.
func (c *client) respond(status int, message string, p *openapi.Problem) {
	w := c.w
	c.detach(false)
	c.rest.remove()
	if !c.closeAfter && !c.skipBody() {
		c.closeAfter = true
	}
	w.metrics.countResponse(status)
	c.closeAfter = c.closeAfter || w.server.crowded.Load()
	o := wire.Inbound{
		Minor: c.minor,
		Close: c.closeAfter,
		Date:  w.now(),
		Lines: c.headerEdits().Answer.Lines,
	}
	if c.stream != nil {
		w.out = c.stream.sendErrorHead(w.out[:0], status, message, p, c.kind == wire.Head, &o)
	} else {
		w.out = appendError(w.out[:0], status, message, p, c.kind == wire.Head, &o)
	}
	c.record.status, c.record.error = status, message
	c.record.bytesSent += int64(len(w.out))
	c.phase, c.responding, c.responseDone = exchanging, true, true
	if c.pending() { // a part of an informational response
		c.close()
		return
	}
	if c.send(w.out) == broken {
		c.abandon()
		return
	}
	c.finishResponse()
}

// appendError writes a response of the gateway itself, with a problem document if there is one.
func appendError(
	to []byte,
	status int,
	message string,
	p *openapi.Problem,
	head bool,
	o *wire.Inbound,
) []byte {
	kind, length := "application/json", len(errorBefore)+len(message)+len(errorAfter)
	var problem []byte
	if p != nil {
		problem = p.Body()
		kind, length = problemKind, len(problem)
	}
	to = append(to, "HTTP/1.1 "...)
	to = wire.AppendDecimal(to, int64(status))
	to = append(to, ' ')
	to = append(to, reasons[status]...)
	to = append(to, "\r\nDate: "...)
	to = append(to, o.Date...)
	if !bodiless(status) {
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
	case head || bodiless(status):
		return to
	case p != nil:
		return append(to, problem...)
	}
	return appendErrorBody(to, message)
}

// bodiless reports whether a response has neither a body nor a length (RFC 9110, 8.6).
func bodiless(status int) bool { return status == 204 }

const errorBefore, errorAfter = `{"error":"`, `"}`

// problemKind is the content type of a problem document (RFC 9457, 3).
const problemKind = "application/problem+json"

func appendErrorBody(to []byte, message string) []byte {
	to = append(to, errorBefore...)
	to = append(to, message...)
	return append(to, errorAfter...)
}

var reasons = map[int]string{
	204: "No Content", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
	405: "Method Not Allowed", 408: "Request Timeout", 413: "Content Too Large",
	415: "Unsupported Media Type", 417: "Expectation Failed", 429: "Too Many Requests",
	431: "Request Header Fields Too Large", 500: "Internal Server Error", 501: "Not Implemented",
	502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
	505: "HTTP Version Not Supported",
}
