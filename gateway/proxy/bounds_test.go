// Timeouts of slow clients and upstreams, fairness, reloading and stopping under load.

package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"faceoff/gateway/route"
)

func TestSlowClientsTimeOut(t *testing.T) {
	t.Parallel() // it mostly waits
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	g := start(t, upstream, func(g *given) {
		g.HeadTimeout, g.IdleTimeout, g.Stall = 200*time.Millisecond, 200*time.Millisecond, 200*time.Millisecond
	})
	silent := connectTo(t, g.address)
	silent.wantEnd()

	half := connectTo(t, g.address)
	half.say("GET /product/ HTTP/1.1\nHost:")
	wantError(t, half.answer("GET"), http.StatusRequestTimeout)
	half.wantEnd()

	stuck := connectTo(t, g.address)
	stuck.say("POST /product/ HTTP/1.1\nHost: a\nContent-Length: 4\n\nbo")
	wantError(t, stuck.answer("POST"), http.StatusRequestTimeout)
	stuck.wantEnd()

	idle := connectTo(t, g.address)
	body(t, idle.get("/product/"))
	idle.wantEnd()
	g.counted(t, "gateway_upstream_requests", 0)
	g.counted(t, "gateway_connections", 0)
	g.counted(t, "gateway_slow_clients_total", 1) // the one that owes a body
}

func TestSlowUpstreamTimesOut(t *testing.T) {
	t.Parallel() // it mostly waits
	for answer, status := range map[string]int{"": 504, "HTTP/1.1 200": 504, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbo": 200} {
		upstream := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
			http.ReadRequest(r)
			io.WriteString(conn, answer)
			io.Copy(io.Discard, r)
		})
		g := start(t, upstream, func(g *given) { g.Stall, g.upstreams[0].Answer = 200*time.Millisecond, 200*time.Millisecond })
		c := connectTo(t, g.address)
		response := c.get("/product/")
		if response.StatusCode != status {
			t.Errorf("%q: status %d, want %d", answer, response.StatusCode, status)
		}
		if _, err := io.ReadAll(response.Body); (err != nil) != (status == 200) {
			t.Errorf("%q: %v", answer, err)
		}
		g.counted(t, "gateway_upstream_requests", 0)
		g.counted(t, `gateway_upstream_failures_total{cause="too_slow"}`, 1)
		g.counted(t, "gateway_slow_clients_total", 0)
	}
}

func TestEndlessRequestsDoNotStarveOthers(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") })
	g := start(t, upstream, func(g *given) { g.Workers = 1 })
	flood := connectTo(t, g.address)
	go func() { // the gateway itself responds to each
		for many := []byte(strings.Repeat("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n", 2000)); ; {
			if _, err := flood.Write(many); err != nil {
				return
			}
		}
	}()
	go io.Copy(io.Discard, flood.Conn)
	others := int64(3)
	for range others {
		if got := body(t, connectTo(t, g.address).get("/product/")); got != "ok" {
			t.Errorf("body %q", got)
		}
	}
	flood.Close()
	g.counted(t, "gateway_connections", others)
}

func TestTimeoutsCannotBeExtended(t *testing.T) {
	t.Parallel() // it mostly waits
	drip := func(to io.Writer) (ended chan struct{}) {
		ended = make(chan struct{})
		go func() {
			defer close(ended)
			for _, err := io.WriteString(to, "x"); err == nil; _, err = io.WriteString(to, "x") {
				time.Sleep(20 * time.Millisecond)
			}
		}()
		return ended
	}
	says := func(text string, drips bool) string {
		return startRaw(t, func(conn net.Conn, r *bufio.Reader) {
			http.ReadRequest(r)
			io.WriteString(conn, text)
			if drips {
				<-drip(conn)
			}
			io.Copy(io.Discard, r)
		})
	}
	for _, c := range []struct {
		name, upstream string
		drips          bool // the client drips its next request
		status         int
	}{
		{"a head that comes byte by byte", says("HTTP/1.1 200 OK\r\nX: ", true), false, 504},
		{"no answer", says("", false), true, 504},
		{"part of an answer", says("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbo", false), true, 200},
	} {
		g := start(t, c.upstream, func(g *given) { g.Stall, g.upstreams[0].Answer = 300*time.Millisecond, 300*time.Millisecond })
		client := connectTo(t, g.address)
		client.say("GET /product/ HTTP/1.1\nHost: a\n\n")
		ended := make(chan struct{})
		if c.drips {
			ended = drip(client)
		} else {
			close(ended)
		}
		client.SetReadDeadline(time.Now().Add(5 * time.Second))
		response, err := http.ReadResponse(client.r, nil)
		if err != nil || response.StatusCode != c.status {
			t.Errorf("%s: %v, %v", c.name, response, err)
		} else if _, err := io.ReadAll(response.Body); (err != nil) != (c.status == 200) || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %v", c.name, err)
		}
		client.Close()
		receive(t, ended, "the end of the sender")
		g.counted(t, "gateway_upstream_requests", 0)
	}
}

func TestSwapLosesNoRequest(t *testing.T) {
	old := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "old") })
	young := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "new") })
	var settings *given
	g := start(t, old, func(g *given) { settings = g })
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for range 4 {
		c := connectTo(t, g.address)
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				response := c.get("/product/")
				if got := body(t, response); response.StatusCode != 200 || (got != "old" && got != "new") {
					t.Errorf("status %d, %q", response.StatusCode, got)
					return
				}
			}
		})
	}
	for i := range 100 {
		settings.upstreams = []UpstreamSettings{plainUpstream([]string{young, old}[i%2])}
		settings.routes = append([]*route.Route{}, settings.routes...)
		g.Swap(settings.table(g.Table()))
		time.Sleep(time.Millisecond)
	}
	close(stop)
	clients.Wait()
	g.counted(t, "gateway_upstream_requests", 0)
}

func TestStoppingWaitsForResponses(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(entered)
			receive(t, release, "the release")
		}
		fmt.Fprint(w, "ok")
	})
	g := start(t, upstream, nil)
	quiet := connectTo(t, g.address)
	body(t, quiet.get("/product/"))
	busy := connectTo(t, g.address)
	busy.say("GET /product/slow HTTP/1.1\nHost: a\n\n")
	receive(t, entered, "the request")
	stopped := make(chan error, 1)
	go func() { stopped <- g.Stop(context.Background()) }()
	quiet.wantEnd()
	if conn, err := net.Dial("tcp", g.address); err == nil {
		conn.Close()
		t.Error("a client was accepted while the gateway stops")
	}
	close(release)
	response := busy.answer("GET")
	if got := body(t, response); got != "ok" || !response.Close {
		t.Errorf("%v, body %q", response, got)
	}
	if err := receive(t, stopped, "the end"); err != nil {
		t.Error(err)
	}
}
