// OpenTelemetry spans of sampled traces, as OTLP JSON. They use the record of access_log.go.

package proxy

import (
	"bytes"
	"strconv"
	"time"

	"faceoff/gateway/wire"
)

// Spans exports a span, as OTLP JSON, for each request of a sampled trace.
type Spans struct{ asyncWriter }

const (
	spansWait = time.Second // for others, so that spans are sent in batches
	spansMost = 256 << 10   // bytes of a batch
)

// NewSpans sends spans by a function. It receives spans that each end in a comma, and returns how
// many were lost.
func NewSpans(send func(spans []byte, n int) (lost int)) *Spans {
	s := &Spans{}
	s.open(spansWait, spansMost, send)
	return s
}

// beginSpan copies the request's attributes before their bytes are overwritten. The names are those
// of OpenTelemetry's semantic conventions for HTTP servers. The query is left out, as it may be
// confidential.
func (c *client) beginSpan() {
	w, m := c.w, c.edits
	if w.server.settings.Spans == nil || !m.Sampled {
		return
	}
	r, a := &w.request, &c.record
	name, method := "HTTP", "_OTHER" // a fixed name, or clients could create names without limit
	if wire.IsStandard(r.Method) {
		name, method = string(r.Method), string(r.Method)
	}
	a.start = time.Now().UnixNano()
	to := append(a.span[:0], `{"traceId":"`...)
	to = append(to, m.Trace...)
	to = append(to, `","spanId":"`...)
	to = append(to, m.Span...)
	if len(m.Parent) > 0 {
		to = append(to, `","parentSpanId":"`...)
		to = append(to, m.Parent...)
	}
	to = append(to, `","kind":2,"name":"`...)
	to = append(to, name...)
	to = append(to, ' ')
	to = appendJSON(to, []byte(c.route.Path))
	to = append(to, `","startTimeUnixNano":"`...)
	to = wire.AppendDecimal(to, a.start)
	to = append(to, `","attributes":[`...)
	to = appendAttribute(to, "http.request.method", []byte(method))
	if method != name {
		to = appendAttribute(to, "http.request.method_original", r.Method)
	}
	to = appendAttribute(to, "http.route", []byte(c.route.Path))
	to = appendAttribute(to, "url.scheme", []byte(c.scheme))
	to = appendAttribute(to, "url.path", r.Path)
	to = appendServer(to, r.Host)
	if c.from.IsValid() {
		to = appendAttribute(to, "client.address", c.appendFrom(w.path[:0]))
	}
	version := []byte{'1', '.', '0' + r.Minor}
	if c.stream != nil {
		version = []byte("2")
	}
	a.span = appendAttribute(to, "network.protocol.version", version)
}

// finishSpan completes the span and queues it.
func (c *client) finishSpan() {
	a := &c.record
	if len(a.span) == 0 {
		return
	}
	w := c.w
	to := append(w.spans.text, a.span...)
	took := time.Since(w.started) - a.started
	failure := ""
	switch {
	case a.status == 0:
		failure = "client_gone"
	case a.status >= 500:
		failure = strconv.Itoa(a.status)
	}
	if a.status != 0 {
		to = appendNumber(to, "http.response.status_code",
			strconv.AppendInt(nil, int64(a.status), 10))
	}
	if c.upstream != nil {
		to = appendAttribute(to, "gateway.upstream", []byte(c.upstream.Name))
	}
	if failure != "" {
		to = appendAttribute(to, "error.type", []byte(failure))
	}
	// Drops the comma after the last attribute.
	to = append(to[:len(to)-1], `],"endTimeUnixNano":"`...)
	to = wire.AppendDecimal(to, a.start+int64(max(took, 0)))
	if failure != "" {
		to = append(to, `","status":{"code":2,"message":"`...)
		to = append(to, a.error...)
		to = append(to, `"}},`...)
	} else {
		to = append(to, `"},`...)
	}
	w.spans.add(to, &w.server.settings.Spans.asyncWriter)
	a.span = a.span[:0]
}

// appendServer writes the host and the port of the request.
func appendServer(to, host []byte) []byte {
	var port []byte
	if colon := bytes.LastIndexByte(host, ':'); colon > bytes.IndexByte(host, ']') {
		host, port = host[:colon], host[colon+1:]
	}
	if host = bytes.Trim(host, "[]"); len(host) > 0 {
		to = appendAttribute(to, "server.address", host)
	}
	if len(port) > 0 {
		to = appendNumber(to, "server.port", port)
	}
	return to
}

// appendAttribute writes an attribute with text.
func appendAttribute(to []byte, key string, value []byte) []byte {
	return appendValue(to, key, "stringValue", value)
}

// appendNumber writes an attribute with a number, for which OTLP uses a string of digits.
func appendNumber(to []byte, key string, digits []byte) []byte {
	return appendValue(to, key, "intValue", digits)
}

// appendValue writes an attribute and a comma.
func appendValue(to []byte, key, kind string, value []byte) []byte {
	to = append(to, `{"key":"`...)
	to = append(to, key...)
	to = append(to, `","value":{"`...)
	to = append(to, kind...)
	to = append(to, `":"`...)
	to = appendJSON(to, value)
	return append(to, `"}},`...)
}
