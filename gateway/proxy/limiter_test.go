// Slots, queues and incomplete bodies. The counts of the limiter must add up in the end.

package proxy

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"faceoff/gateway/h2"
)

// gauge counts concurrent operations, and their maximum.
type gauge struct{ now, most atomic.Int32 }

// enter begins an operation, and returns a function that ends it.
func (g *gauge) enter() func() {
	now := g.now.Add(1)
	for most := g.most.Load(); now > most && !g.most.CompareAndSwap(most, now); most = g.most.Load() {
	}
	return func() { g.now.Add(-1) }
}

func TestRequestsBeyondQueueOrTimeoutAreShed(t *testing.T) {
	const places, waiting, clients = 4, 5, 20
	var flying gauge
	release := make(chan struct{})
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		defer flying.enter()()
		receive(t, release, "the release")
	})
	g := start(t, upstream, func(g *given) {
		g.upstreams[0].Most, g.upstreams[0].Queue, g.upstreams[0].Wait = places, waiting, 100*time.Millisecond
	})
	shed := make(chan *http.Response, clients)
	statuses := make(chan int, clients)
	for range clients {
		c := connectTo(t, g.address)
		go func() {
			response := c.get("/product/")
			statuses <- response.StatusCode
			if response.StatusCode != 200 {
				shed <- response
			}
		}()
	}
	for range clients - places {
		response := receive(t, shed, "a request that is shed")
		if got := response.Header.Get("Retry-After"); got != "1" {
			t.Errorf("Retry-After %q", got)
		}
		wantError(t, response, http.StatusServiceUnavailable)
	}
	close(release)
	answered := 0
	for range clients {
		if receive(t, statuses, "a response") == 200 {
			answered++
		}
	}
	if n := flying.most.Load(); answered != places || n != places {
		t.Errorf("%d answered, %d at once, want %d", answered, n, places)
	}
	g.counted(t, "gateway_shed_total", clients-places)
	g.counted(t, "gateway_upstream_requests", 0)
	g.counted(t, "gateway_upstream_waiting", 0)
}

func TestRequestWaitsForSlot(t *testing.T) {
	var flying gauge
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		defer flying.enter()()
		b, _ := io.ReadAll(r.Body)
		w.Write(b)
	})
	g := start(t, upstream, func(g *given) { g.upstreams[0].Most = 1 })
	var clients sync.WaitGroup
	for i := range 30 {
		c := connectTo(t, g.address)
		clients.Go(func() {
			for j := range 3 {
				want := strings.Repeat("x", i*j*200)
				fmt.Fprintf(c, "POST /product/ HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(want), want)
				if response := c.answer("POST"); response.StatusCode != 200 || body(t, response) != want {
					t.Errorf("status %d", response.StatusCode)
				}
			}
		})
	}
	clients.Wait()
	if n := flying.most.Load(); n != 1 {
		t.Errorf("%d requests at once, want 1", n)
	}
	g.counted(t, "gateway_upstream_requests", 0)
}

func TestClientThatLeavesQueueTakesNoSlot(t *testing.T) {
	release := make(chan struct{})
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { receive(t, release, "the release") })
	g := start(t, upstream, func(g *given) { g.upstreams[0].Most = 1 })
	first := connectTo(t, g.address)
	first.say("GET /product/ HTTP/1.1\nHost: a\n\n")
	g.counted(t, "gateway_upstream_requests", 1)
	for range 5 {
		c := connectTo(t, g.address)
		c.say("GET /product/ HTTP/1.1\nHost: a\n\n")
		g.counted(t, "gateway_upstream_waiting", 1)
		c.Close()
		g.counted(t, "gateway_upstream_waiting", 0)
	}
	close(release)
	first.answer("GET")
	g.counted(t, "gateway_upstream_requests", 0)
	if got := connectTo(t, g.address).get("/product/").StatusCode; got != 200 {
		t.Errorf("status %d", got)
	}
}

func TestIncompleteBodiesGetHalfOfTheSlots(t *testing.T) {
	const places, slow = 4, 6
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Fprint(w, len(b))
	})
	g := start(t, upstream, func(g *given) { g.upstreams[0].Most = places })
	var held []*testClient
	for range slow {
		c := connectTo(t, g.address)
		c.say("POST /product/ HTTP/1.1\nHost: a\nContent-Length: 20000\n\nx")
		held = append(held, c)
	}
	g.counted(t, "gateway_upstream_coming", places/2)
	g.counted(t, "gateway_upstream_waiting", slow-places/2)
	honest := connectTo(t, g.address)
	for range 10 {
		if got := body(t, honest.get("/product/")); got != "0" {
			t.Errorf("%q", got)
		}
		for _, parts := range [][]string{
			{"Content-Length: 4\n\nbody"}, {"Content-Length: 4\n\n", "body"}, {"Content-Length: 4\n\nbo", "dy"}, {"Transfer-Encoding: chunked\n\n4\nbod", "y\n0\n", "\n"},
		} {
			honest.say("POST /product/ HTTP/1.1\nHost: a\n")
			for _, part := range parts {
				honest.say(part)
				time.Sleep(time.Millisecond) // one after the other
			}
			if got := body(t, honest.answer("POST")); got != "4" {
				t.Errorf("%q: %q", parts, got)
			}
		}
	}
	f := connectFramed(t, g.address)
	f.ask(1, false, ":method", "POST", ":scheme", "http", ":authority", "a", ":path", "/product/")
	g.counted(t, "gateway_upstream_waiting", slow-places/2+1)
	f.raw(frame(h2.Data, 0, 1, []byte("bo")))
	f.raw(frame(h2.Data, h2.EndStream, 1, []byte("dy")))
	if status, content := f.status(1), f.content(1); status != "200" || content != "4" {
		t.Errorf("%s: %q", status, content)
	}
	g.counted(t, "gateway_upstream_coming", places/2)
	for _, c := range held { // a complete request frees its slot for a waiting one
		c.say(strings.Repeat("x", 19999))
	}
	for _, c := range held {
		if got := body(t, c.answer("POST")); got != "20000" {
			t.Errorf("%q", got)
		}
	}
	g.counted(t, "gateway_upstream_coming", 0)
	g.counted(t, "gateway_upstream_requests", 0)
}

func TestRequestWaitingForItsBodyNeedsNoQueue(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	g := start(t, upstream, func(g *given) { g.upstreams[0].Most, g.upstreams[0].Queue = 4, 0 })
	for range 2 {
		connectTo(t, g.address).say("POST /product/ HTTP/1.1\nHost: a\nContent-Length: 20000\n\nx")
	}
	g.counted(t, "gateway_upstream_coming", 2)
	var waiting []*testClient
	for range 2 {
		c := connectTo(t, g.address)
		c.say("POST /product/ HTTP/1.1\nHost: a\nContent-Length: 4\n\n")
		waiting = append(waiting, c)
	}
	g.counted(t, "gateway_upstream_waiting", 2)
	beyond := connectTo(t, g.address)
	beyond.say("POST /product/ HTTP/1.1\nHost: a\nContent-Length: 4\n\n")
	wantError(t, beyond.answer("POST"), http.StatusServiceUnavailable)
	for _, c := range waiting {
		c.say("body")
		if got := body(t, c.answer("POST")); got != "body" {
			t.Errorf("%q", got)
		}
	}
}

func TestSlotsAddUpForAllOrdersOfBodies(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Write(b)
	})
	g := start(t, upstream, func(g *given) { g.upstreams[0].Most = 3 })
	var clients sync.WaitGroup
	for i := range 24 {
		clients.Go(func() {
			for j := range 8 {
				c := connectTo(t, g.address)
				want := strings.Repeat("x", 1+(i*j)%7*3000)
				fmt.Fprintf(c, "POST /product/ HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(want), want[:len(want)*(j%4)/3])
				if (i+j)%5 == 0 {
					c.Close() // some leave, whether they wait or not
					continue
				}
				time.Sleep(time.Duration(i%3) * time.Millisecond)
				io.WriteString(c, want[len(want)*(j%4)/3:])
				if response := c.answer("POST"); response.StatusCode != 200 || body(t, response) != want {
					t.Errorf("status %d", response.StatusCode)
				}
			}
		})
	}
	clients.Wait()
	for _, name := range []string{"requests", "coming", "waiting"} {
		g.counted(t, "gateway_upstream_"+name, 0)
	}
}

func TestClientThatClosesCancelsItsRequest(t *testing.T) {
	arrived, gone := make(chan struct{}), make(chan struct{})
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
		close(gone)
	})
	g := start(t, upstream, nil)
	c := connectTo(t, g.address)
	c.say("GET /product/ HTTP/1.1\nHost: a\n\n")
	// While its connection is being made, it counts as in flight; a client that leaves then never
	// reaches the upstream.
	receive(t, arrived, "the request to arrive")
	g.counted(t, "gateway_upstream_requests", 1)
	c.Close()
	receive(t, gone, "the upstream to notice")
	g.counted(t, "gateway_upstream_requests", 0)
	g.counted(t, "gateway_connections", 0)
}

func TestMoreKeepAliveClientsThanSlotsAreServed(t *testing.T) {
	const places, clients, turns = 4, 40, 4
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") })
	g := start(t, upstream, func(g *given) { g.MaxClients = places })
	var ended atomic.Int32
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			var c *testClient
			for range turns {
				if c == nil {
					c = connectTo(t, g.address)
				}
				response := c.get("/product/")
				if got := body(t, response); got != "ok" {
					t.Errorf("body %q", got)
				}
				if response.Close {
					ended.Add(1)
					c.Close()
					c = nil
				}
			}
			if c != nil {
				c.Close()
			}
		})
	}
	all.Wait()
	if ended.Load() == 0 {
		t.Error("no response closed its connection")
	}
}

func TestIdleConnectionsAreClosedForNewOnes(t *testing.T) {
	t.Parallel() // it mostly waits
	const places = 4
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") })
	g := start(t, upstream, func(g *given) { g.MaxClients = places })
	for i := range places {
		c := connectTo(t, g.address)
		if i%2 == 0 { // half of them never send a byte, half have sent a request
			body(t, c.get("/product/"))
		}
	}
	for range places + 1 {
		if got := body(t, connectTo(t, g.address).get("/product/")); got != "ok" {
			t.Errorf("body %q", got)
		}
	}
}
