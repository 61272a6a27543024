// Framing of bodies (RFC 9112, 6): how their end is determined, and reading them in pieces.
// Requests whose length two recipients could determine differently are refused, because they allow
// request smuggling.

package wire

import (
	"bytes"
	"math"
)

// Framing is how the end of a body is determined (RFC 9112, 6.3).
type Framing uint8

const (
	None     Framing = iota // there is no body
	Sized                   // Length bytes
	Chunked                 // until the chunk of size zero
	UntilEnd                // until the connection ends: responses only
)

// Body is the framing of a message's body.
type Body struct {
	Kind   Framing
	Length int64 // of Sized
}

// Empty reports whether no content follows the head for certain.
func (b Body) Empty() bool { return b.Kind == None || (b.Kind == Sized && b.Length == 0) }

// requestBody returns the framing of a request's body. It refuses what two recipients could measure
// differently.
func requestBody(f *Fields, minor byte) (Body, error) {
	switch {
	case f.Has(TransferEncoding):
		if f.Has(ContentLength) {
			return Body{}, bad("Transfer-Encoding with Content-Length")
		}
		if minor == 0 {
			return Body{}, bad("Transfer-Encoding in HTTP/1.0")
		}
		if err := onlyChunked(f); err != nil {
			return Body{}, err
		}
		return Body{Kind: Chunked}, nil
	case f.Has(ContentLength):
		return sized(f)
	}
	return Body{}, nil
}

// onlyChunked allows the one transfer coding that all recipients support. Others are refused with
// 501 (RFC 9112, 6.1).
func onlyChunked(f *Fields) error {
	if f.count[TransferEncoding] > 1 {
		return bad("Transfer-Encoding more than once")
	}
	value := f.Value(TransferEncoding)
	if Equal(value, "chunked") {
		return nil
	}
	if emptyElement(value) { // recipients differ on empty elements (RFC 9110, 5.6.1.2)
		return bad("Transfer-Encoding has an empty element")
	}
	last := []byte(nil)
	for element, rest := option(value); len(element) > 0; element, rest = option(rest) {
		if Equal(last, "chunked") {
			return bad("a transfer coding after chunked")
		}
		last = element
	}
	if !Equal(last, "chunked") {
		return bad("the last transfer coding is not chunked")
	}
	return &Refusal{501, "an unknown transfer coding"}
}

// emptyElement reports whether an element of a list is empty.
func emptyElement(list []byte) bool {
	for {
		element, rest, more := bytes.Cut(list, []byte(","))
		if len(trim(element)) == 0 {
			return true
		}
		if !more {
			return false
		}
		list = rest
	}
}

func sized(f *Fields) (Body, error) {
	if f.count[ContentLength] > 1 {
		return Body{}, bad("Content-Length more than once")
	}
	length, ok := decimal(f.Value(ContentLength))
	if !ok {
		return Body{}, bad("Content-Length is not a number of bytes")
	}
	return Body{Kind: Sized, Length: length}, nil
}

// decimal parses digits, at least one, as a number that fits.
func decimal(text []byte) (int64, bool) {
	if len(text) == 0 {
		return 0, false
	}
	var n int64
	for _, b := range text {
		if classes[b]&digitByte == 0 || n > (math.MaxInt64-9)/10 {
			return 0, false
		}
		n = n*10 + int64(b-'0')
	}
	return n, true
}

// responseBody returns the framing of a response's body. An ambiguous response becomes 502 for the
// client.
func responseBody(f *Fields, status int, minor byte, request Method) (Body, error) {
	if request == Head || status < 200 || status == 204 || status == 304 {
		return Body{}, nil
	}
	if f.Has(TransferEncoding) {
		if f.Has(ContentLength) || minor == 0 {
			return Body{}, bad("Transfer-Encoding with Content-Length, or in HTTP/1.0")
		}
		if err := onlyChunked(f); err != nil {
			return Body{}, err
		}
		return Body{Kind: Chunked}, nil
	}
	if f.Has(ContentLength) {
		return sized(f)
	}
	return Body{Kind: UntilEnd}, nil
}

// Reader tracks a body as its bytes arrive. The zero value is for no body.
type Reader struct {
	kind  Framing
	left  int64 // of Sized, or of the current chunk
	chunk chunkState
	done  bool
}

// Start begins a body.
func (r *Reader) Start(body Body) {
	*r = Reader{kind: body.Kind, left: body.Length, done: body.Empty()}
}

// Done reports whether the body is complete.
func (r *Reader) Done() bool { return r.done }

// Kind returns the framing of the body.
func (r *Reader) Kind() Framing { return r.kind }

// Left returns how many bytes of a Sized body, or of the current chunk, are missing.
func (r *Reader) Left() int64 { return r.left }

// Next splits off what text begins with. It returns content to pass on, which may be empty, and the
// number of bytes taken, of which the content is the end. Zero taken means that more is needed, or
// that the body is complete. trailers is the section after a chunked body with its empty line, once
// it is complete.
func (r *Reader) Next(text []byte) (content []byte, taken int, trailers []byte, err error) {
	if r.done || len(text) == 0 {
		return nil, 0, nil, nil
	}
	switch r.kind {
	case Sized:
		taken = int(min(int64(len(text)), r.left))
		r.Take(taken)
		return text[:taken], taken, nil, nil
	case UntilEnd:
		return text, len(text), nil, nil
	}
	return r.nextChunk(text)
}

// Take counts bytes of a Sized body that were passed on without Next.
func (r *Reader) Take(n int) {
	r.left -= int64(n)
	r.done = r.left == 0
}

// End reports whether the body is complete when the connection ends.
func (r *Reader) End() bool {
	if r.kind == UntilEnd {
		r.done = true
	}
	return r.done
}
