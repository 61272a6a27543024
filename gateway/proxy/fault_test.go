// Injected faults over HTTP/1.1 and HTTP/2.

package proxy

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"faceoff/gateway/guard"
	"faceoff/gateway/h2"
)

const faultDelay = 200 * time.Millisecond

// faulty starts a gateway whose first route has a fault, and counts the requests that its upstream
// receives.
func faulty(t *testing.T, f guard.Fault) (g started, received *atomic.Int64) {
	t.Helper()
	received = new(atomic.Int64)
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		received.Add(1)
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "ok %s", b)
	})
	return start(t, upstream, func(g *given) { g.routes[0].Fault = &f }), received
}

func TestInjectedFaults(t *testing.T) {
	t.Run("status", func(t *testing.T) {
		g, received := faulty(t, guard.Fault{Share: 1, Status: 503})
		c := connectTo(t, g.address)
		for range 3 {
			wantError(t, c.get("/product/"), 503)
			c.say("POST /product/ HTTP/1.1\nHost: a\nContent-Length: 4\n\nbody")
			wantError(t, c.answer("POST"), 503)
			if got := body(t, c.get("/v1/")); got != "ok " { // a route without a fault
				t.Errorf("body %q", got)
			}
		}
		if n := received.Load(); n != 3 {
			t.Errorf("the upstream received %d requests", n)
		}
		g.counted(t, "gateway_faults_total", 6)
	})
	t.Run("delay", func(t *testing.T) {
		g, _ := faulty(t, guard.Fault{Share: 1, Delay: faultDelay})
		c := connectTo(t, g.address)
		for i := range 2 {
			begun := time.Now()
			c.say(fmt.Sprintf("POST /product/ HTTP/1.1\nHost: a\nContent-Length: 5\n\nbody%d", i))
			if got := body(t, c.answer("POST")); got != fmt.Sprintf("ok body%d", i) {
				t.Errorf("body %q", got)
			}
			// Precision of the timer wheel.
			if passed := time.Since(begun); passed < faultDelay-50*time.Millisecond {
				t.Errorf("after %v", passed)
			}
		}
	})
	t.Run("delay and status", func(t *testing.T) {
		g, received := faulty(t, guard.Fault{Share: 1, Delay: faultDelay, Status: 500})
		c := connectTo(t, g.address)
		begun := time.Now()
		wantError(t, c.get("/product/"), 500)
		if passed := time.Since(begun); passed < faultDelay-50*time.Millisecond || received.Load() != 0 {
			t.Errorf("after %v", passed)
		}
		if got := body(t, c.get("/v1/")); got != "ok " {
			t.Errorf("body %q", got)
		}
	})
	t.Run("delay, and the client closes", func(t *testing.T) {
		g, _ := faulty(t, guard.Fault{Share: 1, Delay: patience})
		c := connectTo(t, g.address)
		c.say("GET /product/ HTTP/1.1\nHost: a\n\n")
		g.counted(t, "gateway_faults_total", 1)
		c.Close()
		g.counted(t, "gateway_connections", 0)
	})
	t.Run("break", func(t *testing.T) {
		g, _ := faulty(t, guard.Fault{Share: 1, Break: true})
		c := connectTo(t, g.address)
		c.say("GET /product/ HTTP/1.1\nHost: a\n\n")
		c.wantEnd()
		g.counted(t, "gateway_connections", 0)
	})
}

func TestFaultsAreInjectedIntoTheirShare(t *testing.T) {
	g, _ := faulty(t, guard.Fault{Share: 0.5, Status: 503})
	c := connectTo(t, g.address)
	failed := 0
	for range 400 {
		response := c.get("/product/")
		if body(t, response); response.StatusCode == 503 {
			failed++
		}
	}
	if failed < 100 || failed > 300 { // 200, within ten standard deviations
		t.Errorf("%d of 400 failed", failed)
	}
	g.counted(t, "gateway_faults_total", int64(failed))
}

func TestInjectedFaultsOverHTTP2(t *testing.T) {
	t.Run("delay", func(t *testing.T) {
		g, _ := faulty(t, guard.Fault{Share: 1, Delay: faultDelay})
		f := connectFramed(t, g.address)
		f.ask(1, true)
		if status := f.status(1); status != "200" {
			t.Errorf("status %s", status)
		}
		if got := f.content(1); got != "ok " {
			t.Errorf("body %q", got)
		}
	})
	t.Run("status", func(t *testing.T) {
		g, _ := faulty(t, guard.Fault{Share: 1, Status: 503})
		f := connectFramed(t, g.address)
		f.ask(1, true)
		if status, got := f.status(1), f.content(1); status != "503" || got != `{"error":"an injected fault"}` {
			t.Errorf("status %s, %q", status, got)
		}
		f.ask(3, false) // its body never arrives
		if status, got := f.status(3), f.content(3); status != "503" || got != `{"error":"an injected fault"}` {
			t.Errorf("status %s, %q", status, got)
		}
		f.wantReset(3, h2.NoError)
		g.counted(t, "gateway_faults_total", 2)
	})
	t.Run("break", func(t *testing.T) { // it ends the request, not the connection
		g, _ := faulty(t, guard.Fault{Share: 1, Break: true})
		f := connectFramed(t, g.address)
		for stream := uint32(1); stream < 9; stream += 4 {
			f.ask(stream, true)
			f.wantReset(stream, h2.InternalError)
			f.ask(stream+2, true, ":method", "GET", ":scheme", "http", ":authority", "a", ":path", "/v1/")
			if status, got := f.status(stream+2), f.content(stream+2); status != "200" || got != "ok " {
				t.Errorf("status %s, %q", status, got)
			}
		}
		g.counted(t, "gateway_faults_total", 2)
	})
	t.Run("delay, and the request is reset", func(t *testing.T) {
		g, _ := faulty(t, guard.Fault{Share: 1, Delay: patience})
		f := connectFramed(t, g.address)
		f.ask(1, true)
		g.counted(t, "gateway_faults_total", 1)
		f.raw(h2.AppendReset(nil, 1, h2.Cancel))
		f.ask(3, true, ":method", "GET", ":scheme", "http", ":authority", "a", ":path", "/v1/")
		if status, got := f.status(3), f.content(3); status != "200" || got != "ok " {
			t.Errorf("status %s, %q", status, got)
		}
		g.counted(t, `gateway_abandoned_total`, 1)
	})
}
