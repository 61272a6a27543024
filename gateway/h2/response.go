// Encodes header blocks: the base of requests, and responses to clients. Start reading at
// Writer.Field.

package h2

import (
	"bytes"

	"faceoff/gateway/wire"
)

// Writer encodes header blocks, of responses to clients and of requests to servers. Names in
// HPACK's static table are sent as indexes (RFC 7541, A). The dynamic table is not used: that costs
// some bytes, and saves memory and work.
type Writer struct {
	to    []byte
	begin int // of the frame
	name  [64]byte
}

// Begin starts the head of a response. forget announces an empty dynamic table, once, to a client
// that wants a smaller one.
func (a *Writer) Begin(to []byte, status int, forget bool) {
	a.start(to, forget)
	switch status {
	case 200:
		a.to = append(a.to, 0x80|8)
	case 204:
		a.to = append(a.to, 0x80|9)
	case 206:
		a.to = append(a.to, 0x80|10)
	case 304:
		a.to = append(a.to, 0x80|11)
	case 400:
		a.to = append(a.to, 0x80|12)
	case 404:
		a.to = append(a.to, 0x80|13)
	case 500:
		a.to = append(a.to, 0x80|14)
	default:
		a.to = append(a.to, 8, 3, byte('0'+status/100), byte('0'+status/10%10), byte('0'+status%10))
	}
}

// start reserves space for the frame's head.
func (a *Writer) start(to []byte, forget bool) {
	a.begin = len(to)
	a.to = append(to, make([]byte, FrameHead)...)
	if forget {
		a.to = append(a.to, 0x20) // RFC 7541, 6.3
	}
}

// Field adds a field. Its name may contain capitals.
func (a *Writer) Field(name, value []byte) {
	lowered := append(a.name[:0], name...)
	for i, b := range lowered {
		if 'A' <= b && b <= 'Z' {
			lowered[i] = b | 0x20
		}
	}
	switch index := staticIndex[string(lowered)]; {
	case index == 0:
		a.to = append(a.to, 0)
		a.text(lowered)
	case index < 15:
		a.to = append(a.to, index)
	default:
		a.to = append(a.to, 15, index-15)
	}
	a.text(value)
}

// text writes a string without Huffman coding (RFC 7541, 5.2).
func (a *Writer) text(text []byte) {
	n := len(text)
	if n < 127 {
		a.to = append(a.to, byte(n))
	} else {
		a.to = append(a.to, 127)
		for n -= 127; n >= 128; n >>= 7 {
			a.to = append(a.to, byte(n)|128)
		}
		a.to = append(a.to, byte(n))
	}
	a.to = append(a.to, text...)
}

// End finishes the head, in as many frames as needed.
func (a *Writer) End(stream uint32, last bool) []byte {
	to := a.to
	a.to = nil
	flags := uint8(0)
	if last {
		flags = EndStream
	}
	n := len(to) - a.begin - FrameHead
	if n <= MaxFrame {
		AppendFrame(to[:a.begin], n, Headers, flags|EndHeaders, stream)
		return to
	}
	block := bytes.Clone(to[a.begin+FrameHead:])
	to = AppendFrame(to[:a.begin], MaxFrame, Headers, flags, stream)
	to = append(to, block[:MaxFrame]...)
	for block = block[MaxFrame:]; ; {
		n, flags := min(len(block), MaxFrame), uint8(0)
		if n == len(block) {
			flags = EndHeaders
		}
		to = append(AppendFrame(to, n, Continuation, flags, stream), block[:n]...)
		if block = block[n:]; len(block) == 0 {
			return to
		}
	}
}

// AppendResponse writes the head of a response for a client. last means that no body follows.
func (a *Writer) AppendResponse(
	to []byte,
	stream uint32,
	r *wire.Response,
	o *wire.Inbound,
	forget, last bool,
) []byte {
	a.Begin(to, r.Status, forget)
	for i := range r.List {
		if field := &r.List[i]; r.GoesOn(field, r.Body.Kind, o.Drop) {
			a.Field(field.Name, field.Value)
		}
	}
	if r.Status >= 200 {
		if !r.Has(wire.Date) && len(o.Date) > 0 {
			a.Field([]byte("date"), o.Date)
		}
		a.Lines(o.Lines)
	}
	if r.Body.Kind == wire.Sized {
		var digits [20]byte
		a.Field([]byte("content-length"), wire.AppendDecimal(digits[:0], r.Body.Length))
	}
	return a.End(stream, last)
}

// AppendTrailers writes trailers, which end the stream. They are given as lines.
func (a *Writer) AppendTrailers(to []byte, stream uint32, lines []byte) []byte {
	a.start(to, false)
	a.Lines(lines)
	return a.End(stream, true)
}

// Lines adds fields that are given as lines.
func (a *Writer) Lines(lines []byte) {
	for len(lines) > 2 {
		line, rest, _ := bytes.Cut(lines, []byte("\r\n"))
		name, value, _ := bytes.Cut(line, []byte(": "))
		a.Field(name, value)
		lines = rest
	}
}

// staticIndex is the index of each name in HPACK's static table (RFC 7541, A).
var staticIndex = map[string]byte{
	"accept-charset": 15, "accept-encoding": 16, "accept-language": 17, "accept-ranges": 18,
	"accept": 19, "access-control-allow-origin": 20, "age": 21, "allow": 22, "authorization": 23,
	"cache-control": 24, "content-disposition": 25, "content-encoding": 26, "content-language": 27,
	"content-length": 28, "content-location": 29, "content-range": 30, "content-type": 31,
	"cookie": 32, "date": 33, "etag": 34, "expect": 35, "expires": 36, "from": 37, "if-match": 39,
	"if-modified-since": 40, "if-none-match": 41, "if-range": 42, "if-unmodified-since": 43,
	"last-modified": 44, "link": 45, "location": 46, "max-forwards": 47, "proxy-authenticate": 48,
	"range": 50, "referer": 51, "refresh": 52, "retry-after": 53, "server": 54, "set-cookie": 55,
	"strict-transport-security": 56, "user-agent": 58, "vary": 59, "via": 60,
	"www-authenticate": 61,
}
