// Header edits and CORS end to end.

package proxy

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"faceoff/gateway/guard"
	"faceoff/gateway/headers"
)

func TestRequestsGetIDAndTrace(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Secret", "1")
		w.Header().Set("X-Request-Id", "not its own")
		fmt.Fprintf(w, "%s|%s|%s|%s|%s", r.Header["X-Request-Id"], r.Header["Traceparent"], r.Header["Tracestate"], r.Header["Cookie"], r.Header["X-Set"])
	})
	var written syncBuffer
	access := NewAccess(&written)
	g := start(t, upstream, func(g *given) {
		g.Access = access
		g.Trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		g.upstreams[0].Most, g.upstreams[0].Queue = 1, 0
		g.routes[0].Edits = &headers.Rules{ID: "x-request-id", Trace: true, Request: headers.Fields{Lines: []byte("X-Set: yes\r\n"), Drop: []string{"x-set", "cookie"}},
			Answer: headers.Fields{Lines: []byte("X-Told: too\r\n"), Drop: []string{"x-secret", "x-told"}}}
	})
	const trace = "0af7651916cd43dd8448eb211c80319c"
	c := connectTo(t, g.address)
	for range 2 {
		c.say("GET /product/ HTTP/1.1\nHost: a\nX-Request-ID: mine\nTraceparent: 00-" + trace + "-b7ad6b7169203331-01\nTracestate: a=b\nCookie: c\nX-Set: no\n\n")
		response := c.answer("GET")
		got := strings.Split(body(t, response), "|")
		if got[0] != "[mine]" || !strings.HasPrefix(got[1], "[00-"+trace+"-") || strings.Contains(got[1], "b7ad6b7169203331") || got[2] != "[a=b]" || got[3] != "[]" || got[4] != "[yes]" {
			t.Errorf("%q", got)
		}
		if h := response.Header; len(h["X-Request-Id"]) != 1 || h.Get("X-Request-Id") != "mine" || h.Get("X-Told") != "too" || h.Get("X-Secret") != "" || h.Get("Traceparent") != "" {
			t.Errorf("%v", h)
		}
	}
	// A route without edits.
	c.say("GET /v1/ HTTP/1.1\nHost: a\nX-Request-ID: its own\nCookie: c\n\n")
	response := c.answer("GET")
	if got := body(t, response); got != "[its own]|[]|[]|[c]|[]" || response.Header.Get("X-Secret") != "1" || response.Header.Get("X-Told") != "" {
		t.Errorf("%q, %v", got, response.Header)
	}
	f := connectFramed(t, g.address)
	f.ask(1, true, "x-request-id", "framed")
	f.status(1)
	if got := f.content(1); !strings.HasPrefix(got, "[framed]|[00-") {
		t.Errorf("%q", got)
	}
	for end := time.Now().Add(patience); strings.Count(written.String(), "\n") < 4; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s", written.String())
		}
	}
	if text := written.String(); strings.Count(text, `"id":"mine","trace":"`+trace+`"`) != 2 || strings.Count(text, `"id":`) != 3 || !strings.Contains(text, `"id":"framed","trace":"`) {
		t.Errorf("%s", text)
	}
}

func TestRemovedFieldsAreNowhereInTheResponse(t *testing.T) {
	upstream := startAnswer(t, "HTTP/1.1 103 Early Hints\r\nLink: a\r\nX-Secret: 1\r\n\r\n"+
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-Sum: 1\r\nX-Secret: 1\r\n\r\n")
	g := start(t, upstream, func(g *given) {
		g.routes[0].Edits = &headers.Rules{Answer: headers.Fields{Drop: []string{"x-secret"}}}
	})
	c := connectTo(t, g.address)
	c.say("GET /product/ HTTP/1.1\nHost: a\n\n")
	if h := c.answer("GET"); h.StatusCode != 103 || h.Header.Get("Link") != "a" || h.Header.Get("X-Secret") != "" {
		t.Errorf("%d, %v", h.StatusCode, h.Header)
	}
	response := c.answer("GET")
	if got := body(t, response); got != "x" || response.Trailer.Get("X-Sum") != "1" || response.Trailer.Get("X-Secret") != "" {
		t.Errorf("%q, %v", got, response.Trailer)
	}
}

func TestGatewayResponsesAreEdited(t *testing.T) {
	g := start(t, nowhere, func(g *given) { g.routes[0].Edits = &headers.Rules{ID: "x-request-id"} })
	response := connectTo(t, g.address).get("/product/")
	if got := response.Header.Get("X-Request-Id"); len(got) != 32 {
		t.Errorf("%q", got)
	}
	wantError(t, response, http.StatusBadGateway)
}

func TestPreflightsAreAnsweredByTheGateway(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "OPTIONS" {
			t.Error("a preflight went on")
		}
		w.Header().Set("Access-Control-Allow-Origin", "https://its.own.example")
		fmt.Fprint(w, "ok")
	})
	g := start(t, upstream, func(g *given) {
		cors := &headers.Cors{Origins: []string{"https://shop.example"}, Methods: "GET"}
		g.routes[0].Methods, g.routes[0].Edits = []string{"GET"}, &headers.Rules{Cors: cors}
		// Browsers send no token with a preflight.
		g.routes[0].Guard = &guard.Guard{Token: &guard.Token{}}
		g.routes[1].Edits = &headers.Rules{Cors: cors}
	})
	const asks = "Origin: https://shop.example\nAccess-Control-Request-Method: GET\n\n"
	c := connectTo(t, g.address)
	for range 2 { // on one connection
		c.say("OPTIONS /product/ HTTP/1.1\nHost: a\n" + asks)
		response := c.answer("OPTIONS")
		if h := response.Header; response.StatusCode != 204 || h.Get("Access-Control-Allow-Origin") != "https://shop.example" || h.Get("Access-Control-Allow-Methods") != "GET" ||
			h.Get("Vary") != "Origin" || len(h["Content-Length"])+len(h["Content-Type"]) > 0 {
			t.Errorf("%d %v", response.StatusCode, h)
		}
	}
	c.say("GET /product/ HTTP/1.1\nHost: a\nOrigin: https://shop.example\n\n")
	response := c.answer("GET")
	if got := response.Header.Get("Access-Control-Allow-Origin"); got != "https://shop.example" {
		t.Errorf("a page may not read why it was refused: %q", got)
	}
	wantError(t, response, http.StatusUnauthorized)
	c.say("GET /v1/ HTTP/1.1\nHost: a\nOrigin: https://evil.example\n\n")
	response = c.answer("GET")
	if got := body(t, response); got != "ok" || len(response.Header["Access-Control-Allow-Origin"]) > 0 {
		t.Errorf("%q %v", got, response.Header)
	}
	f := connectFramed(t, g.address)
	f.ask(1, true, ":method", "OPTIONS", ":scheme", "http", ":authority", "a", ":path", "/product/", "origin", "https://shop.example", "access-control-request-method", "GET")
	if status := f.status(1); status != "204" || !f.closed {
		t.Errorf("status %s, the end: %v", status, f.closed)
	}
}
