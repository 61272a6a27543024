package wire

import "math"

// Framing is how the end of a body is known (RFC 9112, 6.3).
type Framing uint8

const (
	None     Framing = iota // there is no body
	Sized                   // Length bytes
	Chunked                 // until the chunk of size zero
	UntilEnd                // until the connection ends: answers only
)

// Body is the framing of a message's body.
type Body struct {
	Kind   Framing
	Length int64 // of Sized
}

// requestBody decides on a request. Whatever two recipients could measure differently is refused.
func requestBody(f *Fields, minor byte) (Body, error) {
	switch {
	case f.Has(TransferEncoding):
		if f.Has(ContentLength) {
			return Body{}, bad("Transfer-Encoding beside Content-Length")
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

// onlyChunked allows the one transfer coding that everybody knows. What applies another is refused with 501
// (RFC 9112, 6.1).
func onlyChunked(f *Fields) error {
	if f.count[TransferEncoding] > 1 {
		return bad("Transfer-Encoding more than once")
	}
	value := f.Value(TransferEncoding)
	if Equal(value, "chunked") {
		return nil
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
	return &Refusal{501, "a transfer coding that is not known"}
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

// decimal reads digits, at least one, as a number that fits.
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

// responseBody decides on an answer to a request of a kind. For an answer that could be measured in two ways there is
// no status for the client but 502.
func responseBody(f *Fields, status int, minor byte, request Method) (Body, error) {
	if request == Head || status < 200 || status == 204 || status == 304 {
		return Body{}, nil
	}
	if f.Has(TransferEncoding) {
		if f.Has(ContentLength) || minor == 0 {
			return Body{}, bad("Transfer-Encoding beside Content-Length, or in HTTP/1.0")
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

// Reader measures a body as its bytes come. The zero value is the reader of no body.
type Reader struct {
	kind  Framing
	left  int64 // of Sized, or of the chunk under way
	chunk chunkState
	done  bool
}

// Start begins a body.
func (r *Reader) Start(body Body) {
	*r = Reader{kind: body.Kind, left: body.Length, done: body.Kind == None || (body.Kind == Sized && body.Length == 0)}
}

// Done reports whether the body is over.
func (r *Reader) Done() bool { return r.done }

// Kind is the framing of the body being read.
func (r *Reader) Kind() Framing { return r.kind }

// Left is how many bytes of a Sized body, or of the chunk under way, are still to come.
func (r *Reader) Left() int64 { return r.left }

// Next splits off what text begins with: content to pass on, which may be empty, and taken bytes, of which the content
// is the end. Taken is zero where more is needed or the body is over. trailers is the section after a chunked body, its
// empty line included, once it is there whole.
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

// Take counts bytes of a Sized body that were passed on without being shown to Next.
func (r *Reader) Take(n int) {
	r.left -= int64(n)
	r.done = r.left == 0
}

// End is told that the connection ended, and reports whether the body is whole.
func (r *Reader) End() bool {
	if r.kind == UntilEnd {
		r.done = true
	}
	return r.done
}
