// Decodes header blocks. The result is the text that HTTP/1.1 has for the same request or response,
// so that package wire checks both. Start reading at Reader.Read.

package h2

import (
	"strings"

	"golang.org/x/net/http2/hpack"
)

// Reader decodes the header blocks of one connection.
type Reader struct {
	decoder *hpack.Decoder
	most    int
	text    []byte // the last head as text

	// State of the current block. It holds trailers if it is for neither a request nor a response.
	request, answer                 bool
	status                          int
	method, path, scheme, authority string
	host, protocol, accept          string
	pseudo                          uint8  // pseudo-header fields so far
	plain                           bool   // a regular field was read
	fields                          []byte // as lines
	cookie                          []byte
	te, trailers                    bool
	length                          int64
	size                            int
	malformed                       string
}

// NewReader creates a reader of heads of most bytes, counted as in 6.5.2.
func NewReader(most int) *Reader {
	r := &Reader{most: most}
	r.decoder = hpack.NewDecoder(TableSize, r.take)
	// more than a block can hold: a field that is too long must not end all streams
	r.decoder.SetMaxStringLength(2 * MaxFragments * MaxFrame)
	return r
}

// Head is a decoded header block.
type Head struct {
	// a request, a response, or trailers with their empty line, in the form of HTTP/1.1; valid
	// until the next call
	Text   []byte
	Status int // of a response
	// of the body; -1 if unknown, zero for a response without a body
	Length int64
	// a request for WebSocket (RFC 8441), or a response that accepts it: no body follows, but a
	// tunnel
	Tunnel    bool
	Malformed string // why the block is invalid; its stream ends
	Large     bool   // it exceeds the limit
}

// Read decodes a request or the trailers after one. end reports that nothing follows. An error is a
// *Fault, because HPACK's tables no longer agree.
func (r *Reader) Read(block []byte, request, end bool) (Head, error) {
	r.begin()
	r.request = request
	if err := r.decode(block); err != nil {
		return Head{}, err
	}
	head := Head{Length: r.length, Large: r.size > r.most}
	switch {
	case head.Large:
	case request:
		r.writeRequest(end)
	case r.malformed == "":
		r.text = append(append(r.text, r.fields...), "\r\n"...)
	}
	head.Text, head.Malformed, head.Tunnel = r.text, r.malformed, r.tunnels()
	return head, nil
}

// tunnels reports whether the request is one for WebSocket.
func (r *Reader) tunnels() bool { return r.method == "CONNECT" && r.protocol == "websocket" }

// ReadResponse decodes the head of a response, which may be informational. bare reports that the
// response has no body, whatever its head, and end that nothing follows. accept is the expected
// Sec-WebSocket-Accept of a WebSocket request, and empty for others: a response that accepts it
// becomes 101. An error is a *Fault, as with Read.
func (r *Reader) ReadResponse(block []byte, bare, end bool, accept string) (Head, error) {
	r.begin()
	r.answer, r.accept = true, accept
	if err := r.decode(block); err != nil {
		return Head{}, err
	}
	head := Head{Large: r.size > r.most}
	if !head.Large {
		head.Length = r.writeResponse(bare, end)
	}
	head.Text, head.Status, head.Malformed, head.Tunnel = r.text, r.status, r.malformed, r.agrees()
	return head, nil
}

// agrees reports whether the response accepts WebSocket.
func (r *Reader) agrees() bool { return r.accept != "" && r.status/100 == 2 }

func (r *Reader) begin() {
	*r = Reader{
		decoder: r.decoder,
		most:    r.most,
		text:    r.text[:0],
		fields:  r.fields[:0],
		cookie:  r.cookie[:0],
		length:  -1,
	}
}

func (r *Reader) decode(block []byte) error {
	_, err := r.decoder.Write(block)
	if err == nil {
		err = r.decoder.Close()
	}
	if err != nil {
		return &Fault{CompressionError, err.Error()}
	}
	return nil
}

const (
	method = 1 << iota
	path
	scheme
	authority
	status
	protocol
)

// take handles one decoded field.
func (r *Reader) take(f hpack.HeaderField) {
	r.size += len(f.Name) + len(f.Value) + 32
	if r.size > r.most || r.malformed != "" {
		return
	}
	if !valid(f.Value) {
		r.malformed = "a field value contains a control character, or white space at an end"
		return
	}
	if strings.HasPrefix(f.Name, ":") {
		r.takePseudo(f)
		return
	}
	r.plain = true
	if !token(f.Name) || strings.ToLower(f.Name) != f.Name {
		r.malformed = "a field name contains an invalid character"
		return
	}
	switch f.Name {
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade": // 8.2.2
		r.malformed = "a connection-specific field"
	case "te":
		if r.te = true; f.Value != "trailers" {
			r.malformed = "TE asks for more than trailers"
		}
	case "cookie": // 8.2.3
		if len(r.cookie) > 0 {
			r.cookie = append(r.cookie, "; "...)
		}
		r.cookie = append(r.cookie, f.Value...)
	case "host":
		if r.host != "" {
			r.malformed = "Host more than once"
		}
		r.host = f.Value
	case "content-length":
		length, ok := decimal(f.Value)
		if !ok || r.length >= 0 {
			r.malformed = "Content-Length is not one number of bytes"
		}
		r.length = length
	case "sec-websocket-key":
		if r.pseudo&protocol == 0 { // the gateway writes a key of its own (RFC 8441, 5)
			r.line(f.Name, f.Value)
		}
	case "sec-websocket-accept":
		if r.accept == "" { // the same
			r.line(f.Name, f.Value)
		}
	case "trailer":
		r.trailers = true
		r.line(f.Name, f.Value)
	default:
		r.line(f.Name, f.Value)
	}
}

func (r *Reader) line(name, value string) {
	r.fields = append(r.fields, name...)
	r.fields = append(r.fields, ": "...)
	r.fields = append(r.fields, value...)
	r.fields = append(r.fields, "\r\n"...)
}

// takePseudo handles the fields that HTTP/1.1 has in its request or status line (8.3).
func (r *Reader) takePseudo(f hpack.HeaderField) {
	var which uint8
	known := r.request
	switch f.Name {
	case ":method":
		which, r.method = method, f.Value
	case ":path":
		which, r.path = path, f.Value
	case ":scheme":
		which, r.scheme = scheme, f.Value
	case ":authority":
		which, r.authority = authority, f.Value
	case ":protocol":
		which, r.protocol = protocol, f.Value
	case ":status":
		code, number := decimal(f.Value)
		if len(f.Value) != 3 || !number || code < 100 {
			r.malformed = "a status that is not three digits"
			return
		}
		which, known, r.status = status, r.answer, int(code)
	}
	switch {
	case which == 0 || !known:
		r.malformed = "an unknown pseudo-header field"
	case r.plain:
		r.malformed = "a pseudo-header field after other fields"
	case r.pseudo&which != 0:
		r.malformed = "a repeated pseudo-header field"
	}
	r.pseudo |= which
}

// writeRequest writes the request in the form of HTTP/1.1. Package wire checks what is not checked
// here.
func (r *Reader) writeRequest(end bool) {
	host := r.authority
	if r.pseudo&authority == 0 {
		host = r.host
	}
	target := r.path
	switch {
	case r.malformed != "":
		return
	case !token(r.method):
		r.malformed = "no valid method"
	case host == "" || (r.host != "" && !strings.EqualFold(r.host, host)):
		r.malformed = "no authority, or two"
	// RFC 8441, 4
	case r.pseudo&protocol != 0 &&
		(r.method != "CONNECT" || r.pseudo != method|path|scheme|authority|protocol):
		r.malformed = ":protocol without CONNECT, a scheme, a path or an authority"
	case r.tunnels() && r.length >= 0:
		r.malformed = "Content-Length for a tunnel"
	case r.method == "CONNECT" && !r.tunnels():
		if r.pseudo&protocol == 0 && r.pseudo != method|authority {
			r.malformed = "CONNECT with a path or without an authority"
		}
		target = host
	case r.scheme != "http" && r.scheme != "https":
		r.malformed = "neither http nor https"
	case !strings.HasPrefix(target, "/") && (target != "*" || r.method != "OPTIONS"):
		r.malformed = "no valid path"
	case end && r.length > 0:
		r.malformed = "the body ends before its length"
	}
	if r.malformed != "" {
		return
	}
	name := r.method
	if r.tunnels() {
		name = "GET"
	}
	to := append(r.text, name...)
	to = append(to, ' ')
	to = append(to, target...)
	to = append(to, " HTTP/1.1\r\nHost: "...)
	to = append(to, host...)
	to = append(to, "\r\n"...)
	to = append(to, r.fields...)
	if len(r.cookie) > 0 {
		to = append(to, "cookie: "...)
		to = append(to, r.cookie...)
		to = append(to, "\r\n"...)
	}
	if r.te {
		to = append(to, "Connection: TE\r\nTE: trailers\r\n"...)
	}
	switch {
	case r.tunnels():
		to = append(to, "Connection: Upgrade\r\nUpgrade: websocket\r\n"...)
	case r.length >= 0:
		to = append(to, "Content-Length: "...)
		to = appendDecimal(to, r.length)
		to = append(to, "\r\n"...)
	case !end:
		to = append(to, "Transfer-Encoding: chunked\r\n"...)
	case r.method == "POST" || r.method == "PUT" || r.method == "PATCH":
		to = append(to, "Content-Length: 0\r\n"...) // RFC 9110, 8.6
	}
	r.text = append(to, "\r\n"...)
}

// writeResponse writes the response in the form of HTTP/1.1, and returns the length of its body, or
// -1.
func (r *Reader) writeResponse(bare, end bool) int64 {
	bare = bare || r.agrees() || r.status < 200 || r.status == 204 || r.status == 304
	switch {
	case r.malformed != "":
	case r.pseudo&status == 0:
		r.malformed = "a response without a status"
	case r.status == 101:
		r.malformed = "HTTP/2 cannot switch protocols" // 8.6
	case r.status < 200 && end:
		r.malformed = "an informational response ends its stream"
	case end && !bare && r.length > 0:
		r.malformed = "the body ends before its length"
	}
	if r.malformed != "" {
		return 0
	}
	if r.agrees() {
		to := append(
			r.text,
			"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: "...)
		to = append(append(to, r.accept...), "\r\n"...)
		r.text = append(append(to, r.fields...), "\r\n"...)
		return -1
	}
	if r.trailers && !bare && !end {
		r.length = -1 // in HTTP/1.1 only chunked bodies have trailers
	}
	to := append(r.text, "HTTP/1.1 "...)
	to = appendDecimal(to, int64(r.status))
	to = append(to, " \r\n"...)
	to = append(to, r.fields...)
	switch {
	case r.length >= 0:
		to = append(to, "Content-Length: "...)
		to = appendDecimal(to, r.length)
		to = append(to, "\r\n"...)
	case bare:
	case end:
		to = append(to, "Content-Length: 0\r\n"...)
	default:
		to = append(to, "Transfer-Encoding: chunked\r\n"...)
	}
	r.text = append(to, "\r\n"...)
	if bare || end {
		return 0
	}
	return r.length
}
