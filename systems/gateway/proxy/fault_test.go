package proxy

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"faceoff/systems/gateway/guard"
	"faceoff/systems/gateway/h2"
)

func TestFaultsOnPurpose(t *testing.T) {
	var asked atomic.Int64
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "ok %s", b)
	})
	const delay = 200 * time.Millisecond
	with := func(t *testing.T, f guard.Fault) (started, *testClient) {
		asked.Store(0)
		g := start(t, upstream, func(g *given) { g.routes[0].Fault = &f })
		return g, connectTo(t, g.address)
	}
	t.Run("status", func(t *testing.T) {
		g, c := with(t, guard.Fault{Share: 1, Status: 503})
		for range 3 {
			wantError(t, c.get("/product/"), 503)
			c.say("POST /product/ HTTP/1.1\nHost: a\nContent-Length: 4\n\nbody")
			wantError(t, c.answer("POST"), 503)
			if got := body(t, c.get("/v1/")); got != "ok " { // a route without a fault
				t.Errorf("body %q", got)
			}
		}
		if n := asked.Load(); n != 3 {
			t.Errorf("the upstream was asked %d times", n)
		}
		g.counted(t, "gateway_faults_total", 6)
	})
	t.Run("delay", func(t *testing.T) {
		_, c := with(t, guard.Fault{Share: 1, Delay: delay})
		for i := range 2 {
			begun := time.Now()
			c.say(fmt.Sprintf("POST /product/ HTTP/1.1\nHost: a\nContent-Length: 5\n\nbody%d", i))
			if got := body(t, c.answer("POST")); got != fmt.Sprintf("ok body%d", i) {
				t.Errorf("body %q", got)
			}
			if passed := time.Since(begun); passed < delay-50*time.Millisecond { // the wheel is no more exact
				t.Errorf("after %v", passed)
			}
		}
	})
	t.Run("delay and status", func(t *testing.T) {
		_, c := with(t, guard.Fault{Share: 1, Delay: delay, Status: 500})
		begun := time.Now()
		wantError(t, c.get("/product/"), 500)
		if passed := time.Since(begun); passed < delay-50*time.Millisecond || asked.Load() != 0 {
			t.Errorf("after %v", passed)
		}
		if got := body(t, c.get("/v1/")); got != "ok " {
			t.Errorf("body %q", got)
		}
	})
	t.Run("delay, and the client goes", func(t *testing.T) {
		g, c := with(t, guard.Fault{Share: 1, Delay: patience})
		c.say("GET /product/ HTTP/1.1\nHost: a\n\n")
		g.counted(t, "gateway_faults_total", 1)
		c.Close()
		g.counted(t, "gateway_connections", 0)
	})
	t.Run("break", func(t *testing.T) {
		g, c := with(t, guard.Fault{Share: 1, Break: true})
		c.say("GET /product/ HTTP/1.1\nHost: a\n\n")
		c.wantEnd()
		g.counted(t, "gateway_connections", 0)
	})
	t.Run("over HTTP/2", func(t *testing.T) {
		g, _ := with(t, guard.Fault{Share: 1, Delay: delay})
		f := connectFramed(t, g.address)
		f.ask(1, true)
		if status := f.status(1); status != "200" {
			t.Errorf("status %s", status)
		}
		if got := f.content(1); got != "ok " {
			t.Errorf("body %q", got)
		}
	})
	t.Run("status over HTTP/2", func(t *testing.T) {
		g, _ := with(t, guard.Fault{Share: 1, Status: 503})
		f := connectFramed(t, g.address)
		f.ask(1, true)
		if status, got := f.status(1), f.content(1); status != "503" || got != `{"error":"a fault on purpose"}` {
			t.Errorf("status %s, %q", status, got)
		}
		f.ask(3, false) // and its body never comes
		if status, got := f.status(3), f.content(3); status != "503" || got != `{"error":"a fault on purpose"}` {
			t.Errorf("status %s, %q", status, got)
		}
		f.wantReset(3, h2.NoError)
		g.counted(t, "gateway_faults_total", 2)
	})
	t.Run("break over HTTP/2", func(t *testing.T) { // of a request, and not of the others' connection
		g, _ := with(t, guard.Fault{Share: 1, Break: true})
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
	t.Run("delay over HTTP/2, and the request is taken back", func(t *testing.T) {
		g, _ := with(t, guard.Fault{Share: 1, Delay: patience})
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
	t.Run("a part", func(t *testing.T) {
		g, c := with(t, guard.Fault{Share: 0.5, Status: 503})
		failed := 0
		for range 400 {
			response := c.get("/product/")
			if body(t, response); response.StatusCode == 503 {
				failed++
			}
		}
		if failed < 100 || failed > 300 { // 200, ten deviations apart
			t.Errorf("%d of 400 failed", failed)
		}
		g.counted(t, "gateway_faults_total", int64(failed))
	})
}
