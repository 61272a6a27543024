// Parsing of requests; each refused one names the section that forbids it.

package wire

import (
	"errors"
	"strings"
	"testing"
)

// lines makes a head of lines.
func lines(text ...string) string { return strings.Join(text, "\r\n") + "\r\n\r\n" }

// refusedRequests are invalid heads, each with the section of the RFC and the status for the
// client.
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
	{"9112 3.3", "an empty Host", lines("GET / HTTP/1.1", "Host:"), 400},
	{"9112 3.3", "Host is white space", lines("GET / HTTP/1.1", "Host: \t "), 400},
	{"9110 4.2.1", "Host is a port", lines("GET / HTTP/1.1", "Host: :80"), 400},
	{"9110 4.2.1", "Host is a port in HTTP/1.0", lines("GET / HTTP/1.0", "Host: :80"), 400},
	{"9110 4.2.1", "the target's host is a port", lines("GET http://:80/ HTTP/1.1", "Host: :80"), 400},
	{"9110 4.2.1", "the target has a query and no host", lines("GET http://?x=1 HTTP/1.1", "Host: a"), 400},
	{"9112 3.2.1", "a target that is a query", lines("GET ?x=1 HTTP/1.1", "Host: a"), 400},
	{"9112 3.2.2", "target and Host differ, without a path", lines("GET http://a?x HTTP/1.1", "Host: b"), 400},
	{"9112 3.2.2", "an empty Host with an absolute target", lines("GET http://a/ HTTP/1.1", "Host:"), 400},
	{"9112 3.2.4", "an asterisk with a query", lines("OPTIONS *?a HTTP/1.1", "Host: a"), 400},
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
	{"3986 2.2", "an encoded slash", lines("GET /admin%2Fx HTTP/1.1", "Host: a"), 400},
	{"3986 2.2", "an encoded slash in lower case", lines("GET /%2fadmin HTTP/1.1", "Host: a"), 400},
	{"3986 2.2", "an encoded backslash", lines("GET /admin%5Cx HTTP/1.1", "Host: a"), 400},
	{"3986 2.2", "an encoded slash in an absolute target", lines("GET http://a/admin%2fx HTTP/1.1", "Host: a"), 400},
	{"3986 2.4", "a slash that is encoded twice", lines("GET /admin%252Fx HTTP/1.1", "Host: a"), 400},
	{"3986 2.4", "a slash that is encoded three times", lines("GET /admin%25252fx HTTP/1.1", "Host: a"), 400},
	{"3986 2.4", "a backslash that is encoded twice", lines("GET /admin%255cx HTTP/1.1", "Host: a"), 400},
	{"3986 2.4", "a letter that is encoded twice", lines("GET /%2561dmin HTTP/1.1", "Host: a"), 400},
	{"3986 2.4", "digits of an escape that are encoded", lines("GET /admin%25%32%46x HTTP/1.1", "Host: a"), 400},
	{"3986 2.4", "digits that are encoded twice", lines("GET /admin%25%2532%2546x HTTP/1.1", "Host: a"), 400},
	{"3986 5.2.4", "a dot segment that is encoded twice", lines("GET /a/%252e%252e/b HTTP/1.1", "Host: a"), 400},
	{"3986 5.2.4", "one with encoded parameters", lines("GET /a/..%3Bx=1/b HTTP/1.1", "Host: a"), 400},
	{"3986 5.2.4", "one at the end of parameters", lines("GET /a;x/.. HTTP/1.1", "Host: a"), 400},
	{"3986 7.3", "a NUL that is encoded twice", lines("GET /a%2500 HTTP/1.1", "Host: a"), 400},
	{"3629 3", "an overlong slash", lines("GET /admin%c0%afx HTTP/1.1", "Host: a"), 400},
	{"3629 3", "an overlong slash of three bytes", lines("GET /admin%e0%80%afx HTTP/1.1", "Host: a"), 400},
	{"3629 3", "an overlong slash of four bytes", lines("GET /admin%f0%80%80%afx HTTP/1.1", "Host: a"), 400},
	{"3629 3", "an overlong dot segment", lines("GET /a/%c0%ae%c0%ae/b HTTP/1.1", "Host: a"), 400},
	{"3629 3", "an overlong backslash", lines("GET /admin%c1%9cx HTTP/1.1", "Host: a"), 400},
	{"3986 2.1", "an escape as IIS has it", lines("GET /admin%u002fx HTTP/1.1", "Host: a"), 400},
	{"9112 5.1", "a space before the colon", lines("GET / HTTP/1.1", "Host : a"), 400},
	{"9112 5.1", "a tab before the colon", lines("GET / HTTP/1.1", "Host: a", "Content-Length\t: 1"), 400},
	{"9112 5.1", "no colon", lines("GET / HTTP/1.1", "Host: a", "X"), 400},
	{"9112 5.1", "no name", lines("GET / HTTP/1.1", "Host: a", ": x"), 400},
	{"9110 5.1", "a name that is no token", lines("GET / HTTP/1.1", "Host: a", "X(Y): z"), 400},
	{"9112 5.2", "obs-fold", lines("GET / HTTP/1.1", "Host: a", "X: a", " b"), 400},
	{"9112 5.2", "obs-fold by a tab", lines("GET / HTTP/1.1", "Host: a", "X: a", "\tb"), 400},
	{"9110 5.5", "NUL in a value", lines("GET / HTTP/1.1", "Host: a", "X: a\x00b"), 400},
	{"9110 5.5", "a control character in a value", lines("GET / HTTP/1.1", "Host: a", "X: a\x01b"), 400},
	{"9110 5.4", "too many fields", lines(append([]string{"GET / HTTP/1.1", "Host: a"}, repeat("X: y", DefaultFields)...)...), 431},
	{"9110 7.6.1", "Connection names too many", lines("GET / HTTP/1.1", "Host: a", "Connection: a"+strings.Repeat(",a", maxOptions)), 400},
	{"9112 6.1", "Transfer-Encoding with Content-Length", lines("POST / HTTP/1.1", "Host: a", "Content-Length: 3", "Transfer-Encoding: chunked"), 400},
	{"9112 6.1", "Transfer-Encoding in HTTP/1.0", lines("POST / HTTP/1.0", "Host: a", "Transfer-Encoding: chunked"), 400},
	{"9112 6.1", "Transfer-Encoding twice", lines("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), 400},
	{"9112 6.1", "Transfer-Encoding empty", lines("POST / HTTP/1.1", "Host: a", "Transfer-Encoding:"), 400},
	{"9112 6.1", "an empty element before chunked", lines("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: ,chunked"), 400},
	{"9112 6.1", "an empty element after chunked", lines("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked, "), 400},
	{"9112 6.1", "an empty element between codings", lines("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: gzip, ,chunked"), 400},
	{"9112 6.1", "nothing but a comma", lines("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: ,"), 400},
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

func TestInvalidRequestsAreRefused(t *testing.T) {
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

// read parses a valid head, and also each of its prefixes.
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

func TestTargetsAreParsed(t *testing.T) {
	for _, c := range []struct{ target, host, path, query, wantHost string }{
		{"/", "a", "/", "", "a"},
		{"/a/b?c=d?e", "a:80", "/a/b", "?c=d?e", "a:80"},
		{"/?", "[::1]:8080", "/", "?", "[::1]:8080"},
		{"/a?b=%zz&c=\\", "a", "/a", "?b=%zz&c=\\", "a"},
		{"/a?b=%2F..%2f%252f", "a", "/a", "?b=%2F..%2f%252f", "a"},
		{"http://shop.example/x", "shop.example", "/x", "", "shop.example"},
		{"HTTP://Shop.example:81", "shop.example:81", "/", "", "Shop.example:81"},
		{"http://a?x=1", "a", "/", "?x=1", "a"},
		{"http://a?", "a", "/", "?", "a"},
		{"https://a:81?x=/../y", "a:81", "/", "?x=/../y", "a:81"},
		{"HTTP://[::1]:80?x", "[::1]:80", "/", "?x", "[::1]:80"},
		{"http://a", "a", "/", "", "a"},
		{"//double//", "a", "//double//", "", "a"},
		{"/.well-known/..a/a..", "a", "/.well-known/..a/a..", "", "a"},
		{"/...", "a", "/...", "", "a"},
		{"/%70roduct/%7e%3Fb%20c%25e%23", "a", "/product/~%3Fb%20c%25e%23", "", "a"},
		{"/100%25", "a", "/100%25", "", "a"},
		{"/100%25/a%25z", "a", "/100%25/a%25z", "", "a"},
		{"/caf%C3%A9/%E0%A0%80%F0%90%80%80", "a", "/caf%C3%A9/%E0%A0%80%F0%90%80%80", "", "a"},
		{"/caf%E9", "a", "/caf%E9", "", "a"}, // Latin-1
		{"/a|b{c}^", "a", "/a|b{c}^", "", "a"},
	} {
		r := read(t, lines("GET "+c.target+" HTTP/1.1", "Host: "+c.host))
		if string(r.Path) != c.path || string(r.Query) != c.query || string(r.Host) != c.wantHost {
			t.Errorf("%s: path %s, query %s, host %s", c.target, r.Path, r.Query, r.Host)
		}
	}
	for _, c := range []struct{ target, path, query string }{
		{"*", "*", ""}, {"http://a", "*", ""}, {"http://a/", "/", ""}, {"http://a?x", "/", "?x"}, {"/*", "/*", ""},
	} {
		if r := read(t, lines("OPTIONS "+c.target+" HTTP/1.1", "Host: a")); string(r.Path) != c.path || string(r.Query) != c.query {
			t.Errorf("OPTIONS %s: path %s, query %s", c.target, r.Path, r.Query)
		}
	}
}

func TestEncodedSlashesMayBeAllowed(t *testing.T) {
	for target, refused := range map[string]bool{
		"/a%2Fb": false, "/a%5cb": false, "/a%252fb": false, "/a%2520b": false, "/%2561": false,
		"/a%2f..%2fb": true, "/a/%252e%252e/b": true, "/a%2f%2e": true, "/a%252f..": true, "/a%c0%af": true, "/a%2500": true, "/a%25%2532%2546": true,
	} {
		r := Request{Separators: true}
		_, err := r.Parse([]byte(lines("GET "+target+" HTTP/1.1", "Host: a")))
		if (err != nil) != refused {
			t.Errorf("%s: %v", target, err)
		}
	}
}

func TestPathsAreNormalisedConsistently(t *testing.T) {
	for path, want := range map[string]string{
		"/a/b": "/a/b", "/a%2Fb": "/a/b", "/a%5cb": "/a/b", "/a%252Fb": "/a/b", "/a%25255Cb": "/a/b", "/a%2Bb%3b": "/a+b;", "/100%25": "/100%", "/%25x%2": "/%x%2",
	} {
		var got []byte
		for at := 0; at < len(path); {
			b, width := Normal([]byte(path), at)
			got = append(got, b)
			at += width
		}
		if string(got) != want {
			t.Errorf("%s reads as %s, want %s", path, got, want)
		}
	}
}

func TestFieldsAreLimited(t *testing.T) {
	for most, fields := range map[int]int{0: DefaultFields, 1: 1, 300: 300} {
		for n, refused := range map[int]bool{fields - 1: false, fields: true} {
			var r Request
			r.Most = most
			_, err := r.Parse([]byte(lines(append([]string{"GET / HTTP/1.1", "Host: a"}, repeat("X: y", n)...)...)))
			if (err != nil) != refused {
				t.Errorf("%d of at most %d and Host: %v", n, fields, err)
			}
		}
	}
	r := Request{Fields: Fields{Most: 1000}} // more than a byte can count
	if _, err := r.Parse([]byte(lines(append([]string{"POST / HTTP/1.1", "Host: a"}, repeat("Content-Length: 3", 256)...)...))); err == nil {
		t.Error("256 lengths count as none")
	}
}

func TestRequestPropertiesAreDerived(t *testing.T) {
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
		{lines("GET / HTTP/1.1", "Host: a", "Connection: Upgrade", "Upgrade: websocket", "Content-Length: 0"), meaning{kind: Safe, minor: 1, body: Body{Kind: Sized}, upgrade: true}},
		{lines("GET / HTTP/1.1", "Host: a", "Connection: Upgrade", "Upgrade: websocket", "Content-Length: 1"), meaning{kind: Safe, minor: 1, body: Body{Sized, 1}}},
		{lines("GET / HTTP/1.1", "Host: a", "Connection: Upgrade", "Upgrade: websocket", "Transfer-Encoding: chunked"), meaning{kind: Safe, minor: 1, body: Body{Kind: Chunked}}},
		{lines("GET / HTTP/1.0", "Host: a", "Connection: Upgrade", "Upgrade: websocket"), meaning{kind: Safe, close: true}},
		{lines("GET / HTTP/1.1", "Host: a", "Connection: Upgrade", "Upgrade: chat/2, websocket"), meaning{kind: Safe, minor: 1, upgrade: true}},
		{lines("GET / HTTP/1.1", "Host: a", "TE: ,chunked", "Connection: TE"), meaning{kind: Safe, minor: 1}},
		{lines("GET / HTTP/1.1", "Host: a", "TE: ,trailers", "Connection: TE"), meaning{kind: Safe, minor: 1, trailers: true}},
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

func TestRequestIsParsedWithoutAllocation(t *testing.T) {
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

func TestOfferedProtocolIsSwitchedTo(t *testing.T) {
	for _, c := range []struct {
		request, answer string
		offered         bool
	}{
		{"websocket", "websocket", true}, {"websocket", "WebSocket", true}, {"chat, websocket", "websocket", true}, {"a, b", "b, a", true},
		{"chat", "chat/2", true}, {"chat/2", "chat/2", true},
		{"websocket", "other", false}, {"a, b", "a, c", false}, {"chat/2", "chat/3", false}, {"chat/2", "chat", false}, {"web", "websocket", false},
		{"websocket", "web", false}, {"websocket", ",", false}, {"", "websocket", false}, {"websocket", "h2c", false},
	} {
		if got := Offered([]byte(c.request), []byte(c.answer)); got != c.offered {
			t.Errorf("%s after %s: %v", c.answer, c.request, got)
		}
	}
}
