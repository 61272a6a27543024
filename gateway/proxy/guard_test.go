// Guards end to end: addresses, body limits and tokens.

package proxy

import (
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"faceoff/gateway/guard"
	"faceoff/gateway/h2"
)

func TestRequestsRefusedByTheirGuard(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	g := start(t, upstream, func(g *given) {
		g.Trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		g.routes[0].Guard = &guard.Guard{Body: 10, Deny: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}
		g.routes[1].Guard = &guard.Guard{Rate: guard.NewRate(guard.Limits{Each: 1e-9, Burst: 2}), Token: &guard.Token{}}
	})
	for _, c := range []struct {
		name, text string
		status     int
	}{
		{"a body with a length", "POST /product/ HTTP/1.1\nHost: a\nContent-Length: 10\n\n0123456789", 200},
		{"one that is too large", "POST /product/ HTTP/1.1\nHost: a\nContent-Length: 11\n\n01234567890", 413},
		{"one in chunks", "POST /product/ HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n5\n01234\n5\n01234\n0\n\n", 200},
		{"chunks that are too large", "POST /product/ HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n5\n01234\n6\n012345\n0\n\n", 413},
		{"from elsewhere", "GET /product/ HTTP/1.1\nHost: a\nX-Forwarded-For: 192.0.2.7\n\n", 403},
		{"without a token", "GET /v1/ HTTP/1.1\nHost: a\n\n", 401},
		{"the same", "GET /v1/ HTTP/1.1\nHost: a\n\n", 401},
		{"too often", "GET /v1/ HTTP/1.1\nHost: a\n\n", 429},
	} {
		client := connectTo(t, g.address)
		client.say(c.text)
		response := client.answer("POST")
		if c.status != 200 {
			wantError(t, response, c.status)
		} else if got := body(t, response); response.StatusCode != 200 || !strings.HasPrefix(got, "01234") {
			t.Errorf("%s: %s %q", c.name, response.Status, got)
		}
		if got := response.Header.Get("WWW-Authenticate"); (got == "Bearer") != (c.status == 401) {
			t.Errorf("%s: %q", c.name, got)
		}
		if got := response.Header.Get("Retry-After"); (got == "1") != (c.status == 429) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	f := connectFramed(t, g.address)
	f.ask(1, false, ":method", "POST", ":scheme", "http", ":authority", "a", ":path", "/product/")
	f.raw(frame(h2.Data, h2.EndStream, 1, []byte("0123456789-")))
	if got := f.status(1); got != "413" {
		t.Errorf("over HTTP/2: %s", got)
	}
	f.content(1)
	f.ask(3, true, ":method", "GET", ":scheme", "http", ":authority", "a", ":path", "/v1/")
	if got := f.status(3); got != "429" {
		t.Errorf("over HTTP/2: %s", got)
	}
	g.counted(t, "gateway_upstream_requests", 0)
	g.counted(t, "gateway_denied_total", 6)
}
