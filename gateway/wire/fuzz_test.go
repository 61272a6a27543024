// Fuzzing against net/http: both must read what the gateway passes on alike.

package wire

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// FuzzRequest checks that an accepted request is accepted at its end and no sooner, and that
// package wire and net/http read what is passed on alike.
func FuzzRequest(f *testing.F) {
	for _, c := range refusedRequests {
		f.Add([]byte(c.text))
	}
	f.Add([]byte(lines("POST http://a/%7ex/.a?b HTTP/1.1", "Host: a", "Connection: x, te", "X: y", "TE: trailers", "Transfer-Encoding: chunked", "Expect: 100-continue")))
	f.Add([]byte(lines("GET / HTTP/1.0", "Content-Length: 12", "X-Forwarded-For: b")))
	f.Add([]byte(lines("GET / HTTP/1.1", "Host: [::1]:80", "Connection: upgrade", "Upgrade: websocket")))
	f.Add([]byte(lines("OPTIONS / HTTP/1.1", "Host: a", "Max-Forwards: 0")))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r Request
		n, err := r.Parse(text)
		if err != nil || n == 0 || len(r.List) > DefaultFields-10 {
			return // the added fields may exceed the limit of this parser
		}
		for _, cut := range []int{n - 1, n - 2, n / 2, 1} {
			var part Request
			if m, err := part.Parse(text[:cut]); m != 0 || err != nil {
				t.Fatalf("the first %d bytes of %d: %d, %v", cut, n, m, err)
			}
		}
		if r.Limited && r.Hops == 0 {
			return // it may go no further, so the gateway responds
		}
		o := Outbound{Path: r.Path, Host: []byte("upstream"), Client: []byte("192.0.2.1"), Proto: "http", Via: "gateway", Trusted: true, Forward: true}
		out := AppendRequest(nil, &r, &o)
		var again Request
		if m, err := again.Parse(out); m != len(out) || err != nil {
			t.Fatalf("what is passed on is not understood: %d of %d, %v\n%q", m, len(out), err, out)
		}
		if again.Body != r.Body || !bytes.Equal(again.Method, r.Method) || !bytes.Equal(again.Path, r.Path) || !bytes.Equal(again.Query, r.Query) {
			t.Fatalf("another request was passed on:\n%q", out)
		}
		if r.Has(Trailer) {
			return // net/http refuses some harmless names, which are not passed on
		}
		theirs, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(out)))
		if err != nil {
			t.Fatalf("net/http: %v\n%q", err, out)
		}
		if theirs.Method != string(r.Method) || theirs.RequestURI != string(r.Path)+string(r.Query) || theirs.Host != "upstream" {
			t.Fatalf("net/http reads %s %s %s of\n%q", theirs.Method, theirs.RequestURI, theirs.Host, out)
		}
		if chunked := len(theirs.TransferEncoding) == 1; chunked != (r.Body.Kind == Chunked) || (!chunked && theirs.ContentLength != r.Body.Length) {
			t.Fatalf("net/http measures %d, %v of\n%q", theirs.ContentLength, theirs.TransferEncoding, out)
		}
	})
}

// FuzzResponse checks the same for responses.
func FuzzResponse(f *testing.F) {
	for _, text := range []string{
		lines("HTTP/1.1 200 OK", "Content-Length: 2"), lines("HTTP/1.1 200", "Transfer-Encoding: chunked", "Trailer: x"), lines("HTTP/1.0 304 x", "Content-Length: 7"),
		lines("HTTP/1.1 101 Switching Protocols", "Connection: upgrade", "Upgrade: x"), lines("HTTP/1.1 103 x", "Link: y"), lines("HTTP/1.1 204 x", "Connection: y", "Y: z"),
	} {
		f.Add([]byte(text), false, true)
		f.Add([]byte(text), true, false)
	}
	f.Fuzz(func(t *testing.T, text []byte, head, modern bool) {
		request, method := Safe, "GET"
		if head {
			request, method = Head, "HEAD"
		}
		var r Response
		n, err := r.Parse(text, request)
		if err != nil || n == 0 {
			return
		}
		to := Inbound{Close: true}
		if modern {
			to.Minor = 1
		}
		out := AppendResponse(nil, &r, &to)
		var again Response
		if m, err := again.Parse(out, request); m != len(out) || err != nil {
			t.Fatalf("what is passed on is not understood: %d of %d, %v\n%q", m, len(out), err, out)
		}
		if again.Status != r.Status || again.Body.Kind != ResponseBody(r.Body, to.Minor) || again.Body.Length != r.Body.Length {
			t.Fatalf("another response was passed on: %+v\n%q", again.Body, out)
		}
		if r.Status < 200 || r.Has(Trailer) {
			return
		}
		theirs, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(out)), &http.Request{Method: method})
		if err != nil {
			t.Fatalf("net/http: %v\n%q", err, out)
		}
		if again.Body.Kind == Sized && theirs.ContentLength != r.Body.Length {
			t.Fatalf("net/http measures %d of\n%q", theirs.ContentLength, out)
		}
	})
}

// FuzzChunks checks that a chunked body, cut anywhere, has the same content and end, also for
// net/http.
func FuzzChunks(f *testing.F) {
	for _, text := range []string{"4\r\nbody\r\n0\r\n\r\nnext", "1;a\r\nb\r\n0\r\nX: y\r\n\r\n", "0\r\n\n", "ffffffffffffffff\r\n", "2\r\nab\r\n", "000\r\nX : y\r\n\r\n"} {
		f.Add([]byte(text), uint8(1))
		f.Add([]byte(text), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, piece uint8) {
		content, trailers, rest, done, err := measure(Body{Kind: Chunked}, string(text), len(text)+1)
		again, trailersAgain, restAgain, doneAgain, errAgain := measure(Body{Kind: Chunked}, string(text), int(piece)+1)
		if (err == nil) != (errAgain == nil) {
			t.Fatalf("whole %v, in pieces %v", err, errAgain)
		}
		if err != nil {
			return
		}
		if content != again || trailers != trailersAgain || done != doneAgain || (done && rest != restAgain) {
			t.Fatalf("whole %q %q %d %v, in pieces %q %q %d %v", content, trailers, rest, done, again, trailersAgain, restAgain, doneAgain)
		}
		if !done {
			return
		}
		var fields Fields
		out, err := AppendLastChunk(AppendChunk(nil, []byte(content)), []byte(trailers), &fields, nil)
		if err != nil {
			return
		}
		head := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		theirs, err := http.ReadResponse(bufio.NewReader(strings.NewReader(head+string(out))), nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(theirs.Body); err != nil || string(body) != content {
			t.Fatalf("net/http reads %q, %v of %q", body, err, out)
		}
		if body, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(out))); err != nil || string(body) != content {
			t.Fatalf("httputil reads %q, %v of %q", body, err, out)
		}
	})
}

func FuzzLength(f *testing.F) {
	f.Add("0")
	f.Add("9223372036854775807")
	f.Add("+1")
	f.Fuzz(func(t *testing.T, text string) {
		n, ok := decimal([]byte(text))
		want, err := strconv.ParseUint(text, 10, 63)
		if ok && (err != nil || n != int64(want)) {
			t.Fatalf("%q: %d, not %d, %v", text, n, want, err)
		}
		if ok && string(AppendDecimal(nil, n)) != strconv.FormatInt(n, 10) {
			t.Fatalf("%d is written %s", n, AppendDecimal(nil, n))
		}
	})
}

// FuzzPath checks that an accepted path has the same segments for a server that decodes it once or
// several times.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/a%2Fb", "/a/%2e%2e/b", "/a%252e%252e", "/a%25%32%66", "/100%25/a;b%3Bc", "/%c0%af", "/a%5c..", "/a%20b/caf%C3%A9"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		text := []byte("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n")
		for _, separators := range []bool{false, true} {
			r := Request{Separators: separators}
			if n, err := r.Parse(text); err != nil || n != len(text) || r.Path[0] != '/' {
				continue
			}
			slashes := bytes.Count(r.Path, []byte("/"))
			for decoded := string(r.Path); ; {
				for _, segment := range strings.FieldsFunc(decoded, func(r rune) bool { return r == '/' || r == '\\' }) {
					if name, _, _ := strings.Cut(segment, ";"); name == "." || name == ".." {
						t.Fatalf("%q has a dot segment in %q", r.Path, decoded)
					}
				}
				if n := strings.Count(decoded, "/") + strings.Count(decoded, "\\"); !separators && n != slashes {
					t.Fatalf("%q has other segments in %q", r.Path, decoded)
				}
				again, err := url.PathUnescape(decoded)
				if err != nil || again == decoded {
					break
				}
				decoded = again
			}
		}
	})
}
