// Heads as they are passed on.

package wire

import (
	"strings"
	"testing"
)

var plainOutbound = Outbound{Path: []byte("/products"), Host: []byte("upstream:80"), Client: []byte("192.0.2.9"), Proto: "http"}

func sent(t *testing.T, o Outbound, text ...string) string {
	t.Helper()
	return string(AppendRequest(nil, read(t, lines(text...)), &o))
}

func TestHopByHopFieldsAreRemoved(t *testing.T) { // RFC 9110, 7.6.1
	got := sent(t, plainOutbound, "POST /product/products HTTP/1.1", "host: shop.example", "Connection: keep-alive, X-Secret, Host, X-Forwarded-For",
		"Connection: X-Other", "X-Secret: 1", "x-other: 2", "Keep-Alive: timeout=5", "Proxy-Connection: keep-alive", "Proxy-Authenticate: Basic",
		"Proxy-Authorization: Basic x", "TE: trailers", "Upgrade: websocket", "HTTP2-Settings: x", "Trailer: X-Sum", "Transfer-Encoding: chunked",
		"Expect: 100-continue", "X-Kept:  1\t", "X-Empty:")
	want := lines("POST /products HTTP/1.1", "Host: upstream:80", "Trailer: X-Sum", "Expect: 100-continue", "X-Kept: 1", "X-Empty: ",
		"X-Forwarded-For: 192.0.2.9", "X-Forwarded-Host: shop.example", "X-Forwarded-Proto: http", "Transfer-Encoding: chunked")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestForwardingFieldsOfTrustedPeersAreKept(t *testing.T) { // RFC 7239
	head := []string{"GET /?a HTTP/1.1", "Host: shop.example", "X-Forwarded-For: 192.0.2.1", "X-Forwarded-For: 192.0.2.2",
		"X-Forwarded-Host: first.example", "X-Forwarded-Proto: https", "Forwarded: for=192.0.2.1"}
	distrusted := plainOutbound
	distrusted.Forward, distrusted.Client, distrusted.Host = true, []byte("2001:db8::1"), nil
	if got, want := sent(t, distrusted, head...), lines("GET /products?a HTTP/1.1", "Host: shop.example", "X-Forwarded-For: 2001:db8::1",
		"X-Forwarded-Host: shop.example", "X-Forwarded-Proto: http", `Forwarded: for="[2001:db8::1]";host="shop.example";proto=http`); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	trusted := plainOutbound
	trusted.Trusted = true
	if got, want := sent(t, trusted, head...), lines("GET /products?a HTTP/1.1", "Host: upstream:80", "Forwarded: for=192.0.2.1",
		"X-Forwarded-For: 192.0.2.1, 192.0.2.2, 192.0.2.9", "X-Forwarded-Host: first.example", "X-Forwarded-Proto: https"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNamesWithUnderscoresAreDropped(t *testing.T) {
	routed := plainOutbound
	routed.Drop, routed.Lines = []string{"x-shop"}, []byte("X-Shop: one\r\n")
	got := sent(t, routed, "GET / HTTP/1.1", "Host: shop.example", "X_Forwarded_For: 192.0.2.1", "x-forwarded_proto: https", "X_Shop: two", "Transfer_Encoding: chunked", "X_Other: 1")
	if want := lines("GET /products HTTP/1.1", "Host: upstream:80", "X_Other: 1", "X-Forwarded-For: 192.0.2.9", "X-Forwarded-Host: shop.example",
		"X-Forwarded-Proto: http", "X-Shop: one"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFieldsAddedToRequests(t *testing.T) {
	named := plainOutbound
	named.Via = "gateway"
	for _, c := range []struct {
		section, head string
		want          []string
	}{
		{"9110 7.6.3", lines("GET / HTTP/1.0", "Via: 1.0 fred"), []string{"Via: 1.0 fred\r\n", "Via: 1.0 gateway\r\n"}},
		{"9110 7.6.2", lines("OPTIONS / HTTP/1.1", "Host: a", "Connection: Max-Forwards", "Max-Forwards: 10"), []string{"\r\nMax-Forwards: 9\r\n"}},
		{"9110 7.6.2", lines("TRACE / HTTP/1.1", "Host: a", "Max-Forwards: 1"), []string{"\r\nMax-Forwards: 0\r\n"}},
		{"9110 7.6.2", lines("GET / HTTP/1.1", "Host: a", "Max-Forwards: 0"), []string{"\r\nMax-Forwards: 0\r\n"}},
		{"9110 7.8", lines("GET / HTTP/1.1", "Host: a", "Connection: Upgrade", "Upgrade: websocket"), []string{"Connection: Upgrade\r\nUpgrade: websocket\r\n"}},
		{"9110 10.1.4", lines("GET / HTTP/1.1", "Host: a", "Connection: TE", "TE: trailers"), []string{"Connection: TE\r\nTE: trailers\r\n"}},
		{"9112 6.2", lines("POST / HTTP/1.1", "Host: a", "Content-Length: 007"), []string{"Content-Length: 7\r\n"}},
		{"9112 6.2", lines("POST / HTTP/1.1", "Host: a", "Content-Length: 0"), []string{"Content-Length: 0\r\n"}},
	} {
		got := string(AppendRequest(nil, read(t, c.head), &named))
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is missing in\n%s", c.section, want, got)
			}
		}
	}
	if got := sent(t, named, "GET / HTTP/1.1", "Host: a"); strings.Contains(got, "Content-Length") || strings.Contains(got, "Connection") {
		t.Errorf("a request without a body became\n%s", got)
	}
}

// answer parses the head of a response, and also each of its prefixes.
func answer(t *testing.T, request Method, text string) *Response {
	t.Helper()
	var r Response
	for cut := range len(text) {
		if n, err := r.Parse([]byte(text[:cut]), request); n != 0 || err != nil {
			t.Fatalf("of %q: took %d, error %v", text[:cut], n, err)
		}
	}
	if n, err := r.Parse([]byte(text), request); n != len(text) || err != nil {
		t.Fatalf("of %q: took %d, error %v", text, n, err)
	}
	return &r
}

func TestResponsesArePassedOn(t *testing.T) {
	const date = "Date: Thu, 01 Jan 1970 00:00:00 GMT"
	now := []byte("Fri, 02 Jan 1970 00:00:00 GMT")
	for _, c := range []struct {
		section string
		request Method
		text    string
		to      Inbound
		want    string
	}{
		{"9110 6.6.1 a date is added", Safe, lines("HTTP/1.1 200 OK", "Content-Length: 2"), Inbound{Minor: 1, Date: now},
			lines("HTTP/1.1 200 OK", "Date: "+string(now), "Content-Length: 2")},
		{"9110 7.6.1 hop by hop", Safe, lines("HTTP/1.1 200 OK", date, "Connection: close, X-Secret", "X-Secret: 1", "Keep-Alive: timeout=5", "Proxy-Authenticate: Basic",
			"Upgrade: h2c", "TE: x", "Content-Length: 2", "X-Kept: 1"), Inbound{Minor: 1, Date: now}, lines("HTTP/1.1 200 OK", date, "X-Kept: 1", "Content-Length: 2")},
		{"9112 4 without a reason", Safe, lines("HTTP/1.1 200", date, "Content-Length: 0"), Inbound{Minor: 1}, lines("HTTP/1.1 200 ", date, "Content-Length: 0")},
		{"9112 6.3 chunked stays", Safe, lines("HTTP/1.1 200 OK", date, "Trailer: X-Sum", "Transfer-Encoding: chunked"), Inbound{Minor: 1},
			lines("HTTP/1.1 200 OK", date, "Trailer: X-Sum", "Transfer-Encoding: chunked")},
		{"9112 6.3 until the end becomes chunked", Safe, lines("HTTP/1.0 200 OK", date), Inbound{Minor: 1}, lines("HTTP/1.1 200 OK", date, "Transfer-Encoding: chunked")},
		{"9112 6.1 no chunks for HTTP/1.0", Safe, lines("HTTP/1.1 200 OK", date, "Trailer: X-Sum", "Transfer-Encoding: chunked"), Inbound{Close: true},
			lines("HTTP/1.1 200 OK", date, "Connection: close")},
		{"9112 9.3 HTTP/1.0 is kept", Safe, lines("HTTP/1.1 200 OK", date, "Content-Length: 2"), Inbound{}, lines("HTTP/1.1 200 OK", date, "Content-Length: 2", "Connection: keep-alive")},
		{"9112 9.6 the last answer", Safe, lines("HTTP/1.1 200 OK", date, "Content-Length: 2"), Inbound{Minor: 1, Close: true},
			lines("HTTP/1.1 200 OK", date, "Content-Length: 2", "Connection: close")},
		{"9110 8.6 HEAD", Head, lines("HTTP/1.1 200 OK", date, "Content-Length: 2"), Inbound{Minor: 1}, lines("HTTP/1.1 200 OK", date, "Content-Length: 2")},
		{"9110 8.6 HEAD, no number", Head, lines("HTTP/1.1 200 OK", date, "Content-Length: x"), Inbound{Minor: 1}, lines("HTTP/1.1 200 OK", date)},
		{"9110 8.6 HEAD, chunked", Head, lines("HTTP/1.1 200 OK", date, "Transfer-Encoding: chunked"), Inbound{Minor: 1}, lines("HTTP/1.1 200 OK", date)},
		{"9110 15.3.5 204", Safe, lines("HTTP/1.1 204 No Content", date, "Content-Length: 2"), Inbound{Minor: 1}, lines("HTTP/1.1 204 No Content", date)},
		{"9110 15.4.5 304", Safe, lines("HTTP/1.1 304 Not Modified", date, "Content-Length: 2"), Inbound{Minor: 1}, lines("HTTP/1.1 304 Not Modified", date, "Content-Length: 2")},
		{"9110 15.2 103", Safe, lines("HTTP/1.1 103 Early Hints", "Link: </a>"), Inbound{Minor: 1, Date: now}, lines("HTTP/1.1 103 Early Hints", "Link: </a>")},
		{"9110 15.2.2 101", Safe, lines("HTTP/1.1 101 Switching Protocols", "Connection: upgrade", "Upgrade: websocket", "Sec-WebSocket-Accept: x"), Inbound{Minor: 1},
			lines("HTTP/1.1 101 Switching Protocols", "Sec-WebSocket-Accept: x", "Connection: Upgrade", "Upgrade: websocket")},
	} {
		if got := string(AppendResponse(nil, answer(t, c.request, c.text), &c.to)); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.section, got, c.want)
		}
	}
}

func TestInvalidResponsesAreRefused(t *testing.T) {
	for _, c := range []struct{ section, text string }{
		{"9112 4", lines("ICY 200 OK")},
		{"9112 4", "\x15\x03\x03\x00\x02\x02\x50"},
		{"9112 4", lines("HTTP/1.1 20 OK")},
		{"9112 4", lines("HTTP/1.1 2000 OK")},
		{"9112 4", lines("HTTP/1.1 099 OK")},
		{"9112 4", lines("HTTP/1.1 200 O\rK")},
		{"9112 4", "HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n"},
		{"9112 5.1", lines("HTTP/1.1 200 OK", "Content-Length : 0")},
		{"9112 5.2", lines("HTTP/1.1 200 OK", "X: a", " b")},
		{"9112 6.1", lines("HTTP/1.1 200 OK", "Content-Length: 1", "Transfer-Encoding: chunked")},
		{"9112 6.1", lines("HTTP/1.0 200 OK", "Transfer-Encoding: chunked")},
		{"9112 6.1", lines("HTTP/1.1 200 OK", "Transfer-Encoding: gzip, chunked")},
		{"9112 6.3", lines("HTTP/1.1 200 OK", "Content-Length: 1", "Content-Length: 2")},
		{"9112 6.3", lines("HTTP/1.1 200 OK", "Content-Length: one")},
		{"9110 15.2.2", lines("HTTP/1.1 101 Switching Protocols", "Connection: upgrade")},
		{"9110 15.2.2", lines("HTTP/1.1 101 Switching Protocols", "Upgrade: websocket")},
	} {
		var r Response
		if n, err := r.Parse([]byte(c.text), Safe); n != 0 || err == nil {
			t.Errorf("%s: %q took %d bytes", c.section, c.text, n)
		}
	}
}

func TestResponseReportsConnectionReuse(t *testing.T) { // RFC 9112, 9.3
	for text, want := range map[string]bool{
		lines("HTTP/1.1 200 OK", "Content-Length: 0"):                           false,
		lines("HTTP/1.1 200 OK", "Content-Length: 0", "Connection: close"):      true,
		lines("HTTP/1.1 200 OK"):                                                true,
		lines("HTTP/1.0 200 OK", "Content-Length: 0"):                           true,
		lines("HTTP/1.0 200 OK", "Content-Length: 0", "Connection: keep-alive"): false,
	} {
		if got := answer(t, Safe, text).Close; got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
