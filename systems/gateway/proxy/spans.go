package proxy

import (
	"bytes"
	"strconv"
	"time"

	"faceoff/systems/gateway/wire"
)

// Spans is where a span goes for each request whose trace is sampled, as JSON of OTLP.
type Spans struct{ outlet }

const (
	spansWait = time.Second // for others, so that few are not sent one by one
	spansMost = 256 << 10   // bytes that are sent at once
)

// NewSpans has them sent by a function, which is given some, each with a comma behind, and returns how many were lost.
func NewSpans(send func(spans []byte, n int) (lost int)) *Spans {
	s := &Spans{}
	s.open(spansWait, spansMost, send)
	return s
}

// openSpan notes what a span tells of the request, before the bytes are gone. The names are those of OpenTelemetry's semantic conventions for HTTP servers;
// the query stays out of it, as it may hold what collectors are not to know.
func (c *client) openSpan() {
	w, m := c.w, c.mark
	if w.server.settings.Spans == nil || !m.Sampled {
		return
	}
	r, a := &w.request, &c.account
	name, method := "HTTP", "_OTHER" // so that clients cannot make names without end
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
	to = appendAttribute(to, "client.address", c.address)
	version := []byte{'1', '.', '0' + r.Minor}
	if c.stream != nil {
		version = []byte("2")
	}
	a.span = appendAttribute(to, "network.protocol.version", version)
}

// closeSpan hands it on.
func (c *client) closeSpan() {
	a := &c.account
	if len(a.span) == 0 {
		return
	}
	w := c.w
	to := append(w.spans.text, a.span...)
	took := time.Since(w.started) - a.begun
	failure := ""
	switch {
	case a.status == 0:
		failure = "client_gone"
	case a.status >= 500:
		failure = strconv.Itoa(a.status)
	}
	if a.status != 0 {
		to = appendNumber(to, "http.response.status_code", strconv.AppendInt(nil, int64(a.status), 10))
	}
	if c.upstream != nil {
		to = appendAttribute(to, "gateway.upstream", []byte(c.upstream.Name))
	}
	if failure != "" {
		to = appendAttribute(to, "error.type", []byte(failure))
	}
	to = append(to[:len(to)-1], `],"endTimeUnixNano":"`...) // without the comma behind the last attribute
	to = wire.AppendDecimal(to, a.start+int64(max(took, 0)))
	if failure != "" {
		to = append(to, `","status":{"code":2,"message":"`...)
		to = append(to, a.error...)
		to = append(to, `"}},`...)
	} else {
		to = append(to, `"},`...)
	}
	w.spans.add(to, &w.server.settings.Spans.outlet)
	a.span = a.span[:0]
}

// appendServer tells the name and the port that the client asked for.
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

// appendAttribute tells text.
func appendAttribute(to []byte, key string, value []byte) []byte {
	return appendValue(to, key, "stringValue", value)
}

// appendNumber tells a number, in whose place OTLP has a string of its digits.
func appendNumber(to []byte, key string, digits []byte) []byte {
	return appendValue(to, key, "intValue", digits)
}

// appendValue writes an attribute, with a comma behind.
func appendValue(to []byte, key, kind string, value []byte) []byte {
	to = append(to, `{"key":"`...)
	to = append(to, key...)
	to = append(to, `","value":{"`...)
	to = append(to, kind...)
	to = append(to, `":"`...)
	to = appendJSON(to, value)
	return append(to, `"}},`...)
}
