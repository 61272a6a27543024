package proxy

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"faceoff/systems/gateway/mark"
)

func TestRequestsAreMarked(t *testing.T) {
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
		g.routes[0].Marks = &mark.Rules{ID: "x-request-id", Trace: true, Request: mark.Fields{Lines: []byte("X-Set: yes\r\n"), Drop: []string{"x-set", "cookie"}},
			Answer: mark.Fields{Lines: []byte("X-Told: too\r\n"), Drop: []string{"x-secret", "x-told"}}}
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
	c.say("GET /v1/ HTTP/1.1\nHost: a\nX-Request-ID: its own\nCookie: c\n\n") // a route that gives nothing
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

func TestWhatTheGatewayAnswersIsMarkedToo(t *testing.T) {
	closed := listen(t)
	closed.Close()
	g := start(t, closed.Addr().String(), func(g *given) { g.routes[0].Marks = &mark.Rules{ID: "x-request-id"} })
	response := connectTo(t, g.address).get("/product/")
	if got := response.Header.Get("X-Request-Id"); len(got) != 32 {
		t.Errorf("%q", got)
	}
	wantError(t, response, http.StatusBadGateway)
}
