// Framing of bodies, given in pieces of every size.

package wire

import (
	"errors"
	"strings"
	"testing"
)

// measure gives text to a reader in pieces, as a connection would: bytes that were not taken are
// repeated with the next piece.
func measure(body Body, text string, piece int) (content, trailers string, rest int, done bool, err error) {
	var r Reader
	r.Start(body)
	var pending []byte
	for at := 0; at < len(text) || len(pending) > 0; {
		before := len(pending)
		end := min(at+piece, len(text))
		pending = append(pending, text[at:end]...)
		ended := at == len(text)
		at = end
		for {
			part, taken, section, fault := r.Next(pending)
			if fault != nil {
				return content, trailers, 0, false, fault
			}
			content += string(part)
			if section != nil {
				trailers = string(section)
			}
			pending = pending[taken:]
			if taken == 0 || r.Done() {
				break
			}
		}
		if r.Done() {
			return content, trailers, len(pending) + len(text) - at, true, nil
		}
		if ended && len(pending) == before {
			break
		}
	}
	return content, trailers, len(pending), r.Done(), nil
}

func TestBodiesAreMeasured(t *testing.T) {
	for _, c := range []struct {
		section, text string
		body          Body
		content       string
		trailers      string
		rest          int
		done          bool
	}{
		{"9112 6.3 no body", "next", Body{}, "", "", 4, true},
		{"9112 6.2", "bodynext", Body{Sized, 4}, "body", "", 4, true},
		{"9112 6.2 too short", "bo", Body{Sized, 4}, "bo", "", 0, false},
		{"9112 6.3 until the end", "body", Body{Kind: UntilEnd}, "body", "", 0, false},
		{"9112 7.1", "4\r\nbody\r\n0\r\n\r\nnext", Body{Kind: Chunked}, "body", "\r\n", 4, true},
		{"9112 7.1 two", "2\r\nbo\r\n00A\r\n0123456789\r\n000\r\n\r\n", Body{Kind: Chunked}, "bo0123456789", "\r\n", 0, true},
		{"9112 7.1.1 extensions", "4;a=b\r\nbody\r\n0 ;c=\"d\"\r\n\r\n", Body{Kind: Chunked}, "body", "\r\n", 0, true},
		{"9112 7.1.1 a name alone", "4;a\r\nbody\r\n0\r\n\r\n", Body{Kind: Chunked}, "body", "\r\n", 0, true},
		{"9112 7.1.1 several", "4 ; a = b;c=\"d;\\\"e\" ; f\r\nbody\r\n0;g=\"\"\r\n\r\n", Body{Kind: Chunked}, "body", "\r\n", 0, true},
		{"9112 7.1.2 trailers", "0\r\nX-Sum: 1\r\nY: 2\r\n\r\nnext", Body{Kind: Chunked}, "", "X-Sum: 1\r\nY: 2\r\n\r\n", 4, true},
		{"9112 8 broken off", "5\r\nbo", Body{Kind: Chunked}, "bo", "", 0, false},
		{"9112 8 without an end", "2\r\nbo\r\n0\r\n", Body{Kind: Chunked}, "bo", "", 0, false},
	} {
		for piece := 1; piece <= len(c.text); piece++ {
			content, trailers, rest, done, err := measure(c.body, c.text, piece)
			if err != nil || content != c.content || trailers != c.trailers || rest != c.rest || done != c.done {
				t.Errorf("%s in pieces of %d: content %q, trailers %q, rest %d, done %v, error %v", c.section, piece, content, trailers, rest, done, err)
			}
		}
	}
}

func TestInvalidChunksAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, text string
		status     int
	}{
		{"no size", "\r\nbody\r\n", 400},
		{"no hexadecimal number", "x\r\n", 400},
		{"a prefix", "0x4\r\nbody\r\n", 400},
		{"a sign", "+4\r\nbody\r\n", 400},
		{"a negative size", "-4\r\nbody\r\n", 400},
		{"a space before", " 4\r\nbody\r\n", 400},
		{"a space after", "4 \r\nbody\r\n", 400},
		{"a size too large", "8000000000000000\r\n", 400},
		{"a size that would wrap", "10000000000000004\r\nbody\r\n", 400},
		{"a bare LF after the size", "4\nbody\r\n0\r\n\r\n", 400},
		{"an extension without a name", "4;\r\nbody\r\n0\r\n\r\n", 400},
		{"a value without a name", "4;=b\r\nbody\r\n0\r\n\r\n", 400},
		{"a name that is no token", "4;a(b\r\nbody\r\n0\r\n\r\n", 400},
		{"an extension without its value", "4;a=\r\nbody\r\n0\r\n\r\n", 400},
		{"two semicolons", "4;;a\r\nbody\r\n0\r\n\r\n", 400},
		{"two words in a value", "4;a=b c\r\nbody\r\n0\r\n\r\n", 400},
		{"a quote that does not end", "4;a=\"b\r\nbody\r\n0\r\n\r\n", 400},
		{"a quote that ends in its escape", "4;a=\"b\\\r\nbody\r\n0\r\n\r\n", 400},
		{"something after a quote", "4;a=\"b\"c\r\nbody\r\n0\r\n\r\n", 400},
		{"an extension of the last chunk", "0;\r\n\r\n", 400},
		{"a space after an extension", "4;a \r\nbody\r\n0\r\n\r\n", 400},
		{"a comma instead of a semicolon", "4,a\r\nbody\r\n0\r\n\r\n", 400},
		{"a bare CR in an extension", "4;a\rb\r\nbody\r\n", 400},
		{"a NUL in an extension", "4;\x00\r\nbody\r\n", 400},
		{"an extension too long", "4;" + strings.Repeat("a", maxSizeLine) + "\r\nbody\r\n", 400},
		{"content longer than its size", "4\r\nbody!\r\n0\r\n\r\n", 400},
		{"content shorter than its size", "5\r\nbody\r\n0\r\n\r\n", 400},
		{"a bare LF after the content", "4\r\nbody\n0\r\n\r\n", 400},
		{"a bare LF after the last chunk", "0\r\n\n", 400},
		{"too many trailers", "0\r\n" + strings.Repeat("X: y\r\n", MaxTrailers/6+1) + "\r\n", 431},
	} {
		for _, piece := range []int{1, 3, len(c.text)} {
			content, _, _, done, err := measure(Body{Kind: Chunked}, c.text, piece)
			refusal, ok := errors.AsType[*Refusal](err)
			if !ok || refusal.Status != c.status {
				t.Errorf("%s in pieces of %d: content %q, done %v, error %v", c.name, piece, content, done, err)
			}
		}
	}
}

func TestOnlyHarmlessTrailersArePassedOn(t *testing.T) {
	var fields Fields
	got, err := AppendLastChunk(nil, []byte("X-Sum: 1\r\nContent-Length: 5\r\nHost: b\r\nAuthorization: c\r\nTransfer-Encoding: chunked\r\nConnection: close\r\nSet-Cookie: d\r\nX-Secret: e\r\nX_Secret: f\r\nX-Real-IP: g\r\nX-Forwarded-Port: h\r\n\r\n"), &fields, []string{"x-secret"})
	if err != nil || string(got) != "0\r\nX-Sum: 1\r\n\r\n" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := AppendLastChunk(nil, []byte("X : 1\r\n\r\n"), &fields, []string{"x-secret"}); err == nil {
		t.Error("a space before the colon of a trailer went through")
	}
	if got, err := AppendLastChunk(nil, []byte("\r\n"), &fields, []string{"x-secret"}); err != nil || string(got) != "0\r\n\r\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestChunksAreWrittenAsTheyAreRead(t *testing.T) {
	for _, content := range []string{"a", strings.Repeat("b", 15), strings.Repeat("c", 16), strings.Repeat("d", 70000)} {
		text := AppendChunk(nil, []byte(content))
		if len(text) > len(content)+ChunkOverhead {
			t.Errorf("%d bytes around %d", len(text), len(content))
		}
		got, _, _, done, err := measure(Body{Kind: Chunked}, string(text)+"0\r\n\r\n", len(text)+5)
		if got != content || !done || err != nil {
			t.Errorf("%d bytes became %d, %v", len(content), len(got), err)
		}
	}
	if text := AppendChunk(nil, nil); len(text) > 0 {
		t.Errorf("nothing became %q, which is an end", text)
	}
}
