package wire

import (
	"errors"
	"strings"
	"testing"
)

// lines makes a head of lines.
func lines(text ...string) string { return strings.Join(text, "\r\n") + "\r\n\r\n" }

// refusedRequests are heads that are not passed on, each with the section that says so and the status that tells the client.
var refusedRequests = []struct {
	section, name, text string
	status              int
}{
	{"9112 2.2", "a bare LF ends a line", "GET / HTTP/1.1\nHost: a\r\n\r\n", 400},
	{"9112 2.2", "a bare LF ends a field", "GET / HTTP/1.1\r\nHost: a\n\r\n", 400},
	{"9112 2.2", "a bare LF ends the head", "GET / HTTP/1.1\r\nHost: a\r\n\n", 400},
	{"9112 2.2", "a bare CR in a value", lines("GET / HTTP/1.1", "Host: a", "X: a\rb"), 400},
	{"9112 2.2", "a bare CR in a name", lines("GET / HTTP/1.1", "Host: a", "X\rY: b"), 400},
	{"9112 2.2", "a bare CR in the target", lines("GET /a\rb HTTP/1.1", "Host: a"), 400},
	{"9112 2.2", "two empty lines before", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
	{"9112 2.2", "white space before the first field", lines("GET / HTTP/1.1", " Host: a"), 400},
	{"9112 2.3", "a version without a number", lines("GET / HTTP/x.1", "Host: a"), 400},
	{"9112 2.3", "a version in lower case", lines("GET / http/1.1", "Host: a"), 400},
	{"9112 2.3", "a version of two digits", lines("GET / HTTP/1.10", "Host: a"), 400},
	{"9110 2.5", "another major version", lines("GET / HTTP/2.0", "Host: a"), 505},
	{"9112 3", "two spaces", lines("GET  / HTTP/1.1", "Host: a"), 400},
	{"9112 3", "a space after the version", lines("GET / HTTP/1.1 ", "Host: a"), 400},
	{"9112 3", "a tab instead of a space", lines("GET\t/ HTTP/1.1", "Host: a"), 400},
	{"9112 3", "no version", lines("GET /", "Host: a"), 400},
	{"9112 3", "no target", lines("GET HTTP/1.1", "Host: a"), 400},
	{"9112 3", "a space in the target", lines("GET /a b HTTP/1.1", "Host: a"), 400},
	{"9112 3.1", "a method that is no token", lines("G(T / HTTP/1.1", "Host: a"), 400},
	{"9112 3.2", "no Host", lines("GET / HTTP/1.1"), 400},
	{"9112 3.2", "two Hosts", lines("GET / HTTP/1.1", "Host: a", "Host: a"), 400},
	{"9112 3.2", "Host is a list", lines("GET / HTTP/1.1", "Host: a, b"), 400},
	{"9112 3.2", "Host with user information", lines("GET / HTTP/1.1", "Host: u@a"), 400},
	{"9112 3.2", "Host with a path", lines("GET / HTTP/1.1", "Host: a/b"), 400},
	{"9112 3.2", "Host with a port that is none", lines("GET / HTTP/1.1", "Host: a:http"), 400},
	{"9112 3.2", "Host with an open bracket", lines("GET / HTTP/1.1", "Host: [::1"), 400},
	{"9112 3.2", "Host with something after the bracket", lines("GET / HTTP/1.1", "Host: [::1]a"), 400},
	{"9112 3.2.1", "a target that is no path", lines("GET a HTTP/1.1", "Host: a"), 400},
	{"9112 3.2.1", "a fragment", lines("GET /#a HTTP/1.1", "Host: a"), 400},
	{"9112 3.2.1", "bytes beyond ASCII", lines("GET /\xc3\xa4 HTTP/1.1", "Host: a"), 400},
	{"9112 3.2.2", "target and Host differ", lines("GET http://a/ HTTP/1.1", "Host: b"), 400},
	{"9112 3.2.2", "the target has no host", lines("GET http:///a HTTP/1.1", "Host: "), 400},
	{"9112 3.2.2", "the target has user information", lines("GET http://u@a/ HTTP/1.1", "Host: a"), 400},
	{"9112 3.2.2", "another scheme", lines("GET ftp://a/ HTTP/1.1", "Host: a"), 400},
	{"9112 3.2.3", "CONNECT", lines("CONNECT a:443 HTTP/1.1", "Host: a:443"), 501},
	{"9112 3.2.4", "an asterisk with GET", lines("GET * HTTP/1.1", "Host: a"), 400},
	{"3986 5.2.4", "a dot segment", lines("GET /a/../b HTTP/1.1", "Host: a"), 400},
	{"3986 5.2.4", "a single dot", lines("GET /a/./b HTTP/1.1", "Host: a"), 400},
	{"3986 5.2.4", "a dot segment at the end", lines("GET /a/.. HTTP/1.1", "Host: a"), 400},
	{"3986 5.2.4", "an encoded dot segment", lines("GET /a/%2e%2E/b HTTP/1.1", "Host: a"), 400},
	{"3986 5.2.4", "a half encoded one", lines("GET /a/.%2e HTTP/1.1", "Host: a"), 400},
	{"3986 5.2.4", "one after an encoded slash", lines("GET /a%2f..%2Fb HTTP/1.1", "Host: a"), 400},
	{"3986 5.2.4", "one after an encoded backslash", lines("GET /a%5c../b HTTP/1.1", "Host: a"), 400},
	{"3986 5.2.4", "one with parameters", lines("GET /a/..;x=1/b HTTP/1.1", "Host: a"), 400},
	{"3986 2.1", "a percent sign alone", lines("GET /a%2 HTTP/1.1", "Host: a"), 400},
	{"3986 2.1", "not hexadecimal", lines("GET /a%zz HTTP/1.1", "Host: a"), 400},
	{"3986 7.3", "an encoded NUL", lines("GET /a%00 HTTP/1.1", "Host: a"), 400},
	{"3986 7.3", "a backslash", lines(`GET /a\..\b HTTP/1.1`, "Host: a"), 400},
	{"9112 5.1", "a space before the colon", lines("GET / HTTP/1.1", "Host : a"), 400},
	{"9112 5.1", "a tab before the colon", lines("GET / HTTP/1.1", "Host: a", "Content-Length\t: 1"), 400},
	{"9112 5.1", "no colon", lines("GET / HTTP/1.1", "Host: a", "X"), 400},
	{"9112 5.1", "no name", lines("GET / HTTP/1.1", "Host: a", ": x"), 400},
	{"9110 5.1", "a name that is no token", lines("GET / HTTP/1.1", "Host: a", "X(Y): z"), 400},
	{"9112 5.2", "obs-fold", lines("GET / HTTP/1.1", "Host: a", "X: a", " b"), 400},
	{"9112 5.2", "obs-fold by a tab", lines("GET / HTTP/1.1", "Host: a", "X: a", "\tb"), 400},
	{"9110 5.5", "NUL in a value", lines("GET / HTTP/1.1", "Host: a", "X: a\x00b"), 400},
	{"9110 5.5", "a control character in a value", lines("GET / HTTP/1.1", "Host: a", "X: a\x01b"), 400},
	{"9110 5.4", "too many fields", lines(append([]string{"GET / HTTP/1.1", "Host: a"}, repeat("X: y", maxFields)...)...), 431},
	{"9110 7.6.1", "Connection names too many", lines("GET / HTTP/1.1", "Host: a", "Connection: a"+strings.Repeat(",a", maxOptions)), 400},
	{"9112 6.1", "Transfer-Encoding beside Content-Length", lines("POST / HTTP/1.1", "Host: a", "Content-Length: 3", "Transfer-Encoding: chunked"), 400},
	{"9112 6.1", "Transfer-Encoding in HTTP/1.0", lines("POST / HTTP/1.0", "Host: a", "Transfer-Encoding: chunked"), 400},
	{"9112 6.1", "Transfer-Encoding twice", lines("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), 400},
	{"9112 6.1", "Transfer-Encoding empty", lines("POST / HTTP/1.1", "Host: a", "Transfer-Encoding:"), 400},
	{"9112 6.1", "chunked is not last", lines("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked, identity"), 400},
	{"9112 6.1", "chunked twice", lines("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked, chunked"), 400},
	{"9112 6.1", "something like chunked", lines("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: xchunked"), 400},
	{"9112 6.1", "chunked in quotes", lines("POST / HTTP/1.1", "Host: a", `Transfer-Encoding: "chunked"`), 400},
	{"9112 6.1", "a coding that is not known", lines("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: gzip, chunked"), 501},
	{"9112 6.2", "two lengths", lines("POST / HTTP/1.1", "Host: a", "Content-Length: 3", "Content-Length: 4"), 400},
	{"9112 6.2", "one length twice", lines("POST / HTTP/1.1", "Host: a", "Content-Length: 3", "Content-Length: 3"), 400},
	{"9112 6.2", "a list of lengths", lines("POST / HTTP/1.1", "Host: a", "Content-Length: 3, 3"), 400},
	{"9110 7.6.2", "Max-Forwards that is no number", lines("OPTIONS / HTTP/1.1", "Host: a", "Max-Forwards: -1"), 400},
	{"9110 7.6.2", "Max-Forwards twice", lines("TRACE / HTTP/1.1", "Host: a", "Max-Forwards: 1", "Max-Forwards: 2"), 400},
	{"9110 8.6", "a negative length", lines("POST / HTTP/1.1", "Host: a", "Content-Length: -1"), 400},
	{"9110 8.6", "a signed length", lines("POST / HTTP/1.1", "Host: a", "Content-Length: +1"), 400},
	{"9110 8.6", "a hexadecimal length", lines("POST / HTTP/1.1", "Host: a", "Content-Length: 0x1"), 400},
	{"9110 8.6", "an empty length", lines("POST / HTTP/1.1", "Host: a", "Content-Length:"), 400},
	{"9110 8.6", "a length beyond all numbers", lines("POST / HTTP/1.1", "Host: a", "Content-Length: 9223372036854775808"), 400},
	{"9110 10.1.1", "another expectation", lines("POST / HTTP/1.1", "Host: a", "Content-Length: 1", "Expect: tea"), 417},
	{"8446 5.1", "TLS", "\x16\x03\x01\x02\x00\x01", 400},
	{"9113 3.4", "the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
}

func repeat(line string, n int) (all []string) {
	for range n {
		all = append(all, line)
	}
	return all
}

func TestRefusesRequests(t *testing.T) {
	for _, c := range refusedRequests {
		t.Run(c.section+" "+c.name, func(t *testing.T) {
			var r Request
			n, err := r.Parse([]byte(c.text))
			refusal, ok := errors.AsType[*Refusal](err)
			if n != 0 || !ok {
				t.Fatalf("took %d bytes, error %v", n, err)
			}
			if refusal.Status != c.status || refusal.Reason == "" {
				t.Errorf("status %d (%s), want %d", refusal.Status, refusal.Reason, c.status)
			}
		})
	}
}

// read parses a head that is right, in all its beginnings too.
func read(t *testing.T, text string) *Request {
	t.Helper()
	var r Request
	end := strings.Index(text, "\r\n\r\n") + 4
	for cut := range end {
		if n, err := r.Parse([]byte(text[:cut])); n != 0 || err != nil {
			t.Fatalf("of %q: took %d, error %v", text[:cut], n, err)
		}
	}
	n, err := r.Parse([]byte(text))
	if n != end || err != nil {
		t.Fatalf("took %d bytes of %d, error %v", n, end, err)
	}
	return &r
}

func TestReadsTargets(t *testing.T) {
	for _, c := range []struct{ target, host, path, query, wantHost string }{
		{"/", "a", "/", "", "a"},
		{"/a/b?c=d?e", "a:80", "/a/b", "?c=d?e", "a:80"},
		{"/?", "[::1]:8080", "/", "?", "[::1]:8080"},
		{"/a?b=%zz&c=\\", "", "/a", "?b=%zz&c=\\", ""},
		{"http://shop.example/x", "shop.example", "/x", "", "shop.example"},
		{"HTTP://Shop.example:81", "shop.example:81", "/", "", "Shop.example:81"},
		{"//double//", "a", "//double//", "", "a"},
		{"/.well-known/..a/a..", "a", "/.well-known/..a/a..", "", "a"},
		{"/...", "a", "/...", "", "a"},
		{"/%70roduct/%7e%2Fb%20c%252e", "a", "/product/~%2Fb%20c%252e", "", "a"},
		{"/a|b{c}^", "a", "/a|b{c}^", "", "a"},
	} {
		r := read(t, lines("GET "+c.target+" HTTP/1.1", "Host: "+c.host))
		if string(r.Path) != c.path || string(r.Query) != c.query || string(r.Host) != c.wantHost {
			t.Errorf("%s: path %s, query %s, host %s", c.target, r.Path, r.Query, r.Host)
		}
	}
	if r := read(t, lines("OPTIONS * HTTP/1.1", "Host: a")); string(r.Path) != "*" {
		t.Errorf("path %s", r.Path)
	}
}

func TestReadsWhatFollowsFromARequest(t *testing.T) {
	type meaning struct {
		kind                             Method
		body                             Body
		minor                            byte
		close, upgrade, expect, trailers bool
	}
	for _, c := range []struct {
		text string
		want meaning
	}{
		{lines("GET / HTTP/1.1", "Host: a"), meaning{kind: Safe, minor: 1}},
		{"\r\n" + "GET / HTTP/1.1\r\nHost: a\r\n\r\n", meaning{kind: Safe, minor: 1}},
		{lines("HEAD / HTTP/1.1", "Host: a", "Connection: Close"), meaning{kind: Head, minor: 1, close: true}},
		{lines("HEAD / HTTP/1.9", "Host: a", "Connection: x , close"), meaning{kind: Head, minor: 1, close: true}},
		{lines("GET / HTTP/1.0"), meaning{kind: Safe, close: true}},
		{lines("GET / HTTP/1.0", "Connection: Keep-Alive"), meaning{kind: Safe}},
		{lines("DELETE / HTTP/1.1", "Host: a"), meaning{kind: Idempotent, minor: 1}},
		{lines("get / HTTP/1.1", "Host: a"), meaning{kind: Unsafe, minor: 1}},
		{lines("POST / HTTP/1.1", "Host: a", "Content-Length: 007"), meaning{minor: 1, body: Body{Sized, 7}}},
		{lines("POST / HTTP/1.1", "Host: a", "Content-Length: 0"), meaning{minor: 1, body: Body{Kind: Sized}}},
		{lines("POST / HTTP/1.1", "Host: a", "Content-Length: 1", "Expect: 100-Continue"), meaning{minor: 1, body: Body{Sized, 1}, expect: true}},
		{lines("POST / HTTP/1.1", "Host: a", "Expect: 100-continue"), meaning{minor: 1}},
		{lines("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: CHUNKED"), meaning{minor: 1, body: Body{Kind: Chunked}}},
		{lines("GET / HTTP/1.1", "Host: a", "TE: trailers", "Connection: TE"), meaning{kind: Safe, minor: 1, trailers: true}},
		{lines("GET / HTTP/1.1", "Host: a", "TE: trailers"), meaning{kind: Safe, minor: 1}},
		{lines("GET / HTTP/1.1", "Host: a", "Connection: keep-alive, Upgrade", "Upgrade: websocket"), meaning{kind: Safe, minor: 1, upgrade: true}},
		{lines("GET / HTTP/1.1", "Host: a", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: x"), meaning{kind: Safe, minor: 1}},
		{lines("GET / HTTP/1.1", "Host: a", "Connection: Upgrade", "Upgrade: websocket, H2C"), meaning{kind: Safe, minor: 1}},
		{lines("GET / HTTP/1.1", "Host: a", "Connection: Upgrade", "Upgrade: TLS/1.3"), meaning{kind: Safe, minor: 1}},
		{lines("GET / HTTP/1.1", "Host: a", "Connection: Upgrade", "Upgrade: ,"), meaning{kind: Safe, minor: 1}},
		{lines("GET / HTTP/1.1", "Host: a", "Upgrade: websocket"), meaning{kind: Safe, minor: 1}},
		{lines("POST / HTTP/1.1", "Host: a", "Connection: Upgrade", "Upgrade: h2c", "Content-Length: 1"), meaning{minor: 1, body: Body{Sized, 1}}},
	} {
		r := read(t, c.text)
		got := meaning{r.Kind, r.Body, r.Minor, r.Close, r.Upgrade != nil, r.Continue, r.Trailers}
		if got != c.want {
			t.Errorf("%q:\n got %+v\nwant %+v", c.text, got, c.want)
		}
	}
}

func TestARequestIsReadWithoutAllocation(t *testing.T) {
	text := []byte(lines("GET /product/products?a=1 HTTP/1.1", "Host: shop.example", "Accept: application/json", "Connection: keep-alive"))
	var r Request
	var to []byte
	o := Outbound{Path: []byte("/products"), Host: []byte("127.0.0.1:80"), Client: []byte("127.0.0.1"), Proto: "http", Via: "gateway"}
	if n := testing.AllocsPerRun(100, func() {
		if n, err := r.Parse(text); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
		to = AppendRequest(to[:0], &r, &o)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
