// Access log lines. A record starts with the request and becomes a line of JSON when the exchange
// ends; spans.go uses the same record.

package proxy

import (
	"io"
	"time"
	"unicode/utf8"

	"faceoff/gateway/wire"
)

// Access writes one line of JSON for each request.
type Access struct{ asyncWriter }

// NewAccess starts writing lines to a writer that no other code uses.
func NewAccess(to io.Writer) *Access {
	a := &Access{}
	a.open(0, 0, func(text []byte, lines int) int {
		if _, err := to.Write(text); err != nil {
			return lines
		}
		return 0
	})
	return a
}

// requestRecord is what the access log and the span report about an exchange.
type requestRecord struct {
	on        bool // a line is written
	started   time.Duration
	status    int
	bytesSent int64  // including heads
	target    []byte // method and target, as JSON fields
	error     string // why the gateway itself responded
	span      []byte // the beginning of a span; empty if none is sent
	start     int64  // of the span, in ns since 1970
}

// resetRecord starts a record in the memory of the last one.
func (c *client) resetRecord() {
	c.record = requestRecord{
		started: c.w.wheel.now,
		target:  c.record.target[:0],
		span:    c.record.span[:0],
	}
}

// beginRecord copies the request's fields before their bytes are overwritten.
func (c *client) beginRecord() {
	w := c.w
	c.resetRecord()
	if w.server.settings.Access == nil || (c.route != nil && c.route.Quiet) {
		return
	}
	r := &w.request
	target := append(c.record.target, `"method":"`...)
	target = append(target, r.Method...) // a token has nothing to escape
	target = append(target, `","host":"`...)
	target = append(target, r.Host...) // neither has a host
	target = append(target, `","path":"`...)
	target = appendJSON(target, r.Path)
	target = appendJSON(target, r.Query)
	if agent := r.Only("user-agent"); agent != nil {
		target = append(target, `","agent":"`...)
		target = appendText(target, agent)
	}
	target = append(target, '"')
	c.record.on, c.record.target = true, target
}

// appendJSON writes the bytes of a target as a part of a JSON string.
func appendJSON(to, text []byte) []byte {
	for _, b := range text {
		if b == '"' || b == '\\' {
			to = append(to, '\\')
		}
		to = append(to, b)
	}
	return to
}

// appendText writes a field's value as a part of a JSON string. Bytes that are not UTF-8 become the
// replacement character.
func appendText(to, text []byte) []byte {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1:
			to = append(to, `\ufffd`...)
		case r < ' ' || r == 0x7f: // only a tab can occur
			to = append(to, `\u00`...)
			to = append(to, hexadecimal[r>>4], hexadecimal[r&15])
		default:
			to = appendJSON(to, text[:size])
		}
		text = text[size:]
	}
	return to
}

const hexadecimal = "0123456789abcdef"

// beginRejectedRecord starts the record of a request that could not be parsed.
func (c *client) beginRejectedRecord() {
	c.resetRecord()
	c.record.on = c.w.server.settings.Access != nil
}

// appendFrom writes the client's address, or "unknown" if it could not be read.
func (c *client) appendFrom(to []byte) []byte {
	switch {
	case c.from == c.peer:
		return append(to, c.address...)
	case c.from.IsValid():
		return c.from.AppendTo(to)
	}
	return append(to, "unknown"...)
}

// finishRecord writes the line and the span.
func (c *client) finishRecord() {
	c.finishSpan()
	a := &c.record
	if !a.on {
		return
	}
	a.on = false
	w := c.w
	now := time.Now().UTC()
	to := append(w.lines.text, `{"time":"`...)
	to = now.AppendFormat(to, "2006-01-02T15:04:05.000Z")
	to = append(to, `","client":"`...)
	to = c.appendFrom(to)
	if c.from != c.peer {
		to = append(to, `","hop":"`...)
		to = append(to, c.address...)
	}
	to = append(to, '"')
	if len(a.target) > 0 {
		to = append(to, ',')
		to = append(to, a.target...)
	}
	to = append(to, `,"status":`...)
	to = wire.AppendDecimal(to, int64(a.status))
	to = append(to, `,"bytes":`...)
	to = wire.AppendDecimal(to, a.bytesSent)
	to = append(to, `,"us":`...)
	to = wire.AppendDecimal(to, int64((time.Since(w.started)-a.started)/time.Microsecond))
	if c.upstream != nil {
		to = append(to, `,"upstream":"`...)
		to = append(to, c.upstream.Name...)
		to = append(to, '"')
	}
	if m := c.headerEdits(); len(m.ID) > 0 || len(m.Trace) > 0 {
		to = append(to, `,"id":"`...)
		to = append(to, m.ID...)
		to = append(to, `","trace":"`...)
		to = append(to, m.Trace...)
		to = append(to, '"')
	}
	if a.error != "" {
		to = append(to, `,"error":"`...)
		to = append(to, a.error...)
		to = append(to, '"')
	}
	w.lines.add(append(to, "}\n"...), &w.server.settings.Access.asyncWriter)
}
