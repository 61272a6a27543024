// Choosing servers, ejection, health checks and the retry budget.

package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"faceoff/gateway/route"
)

// unused are addresses that are never connected to.
func unused(n int, weights ...int) UpstreamSettings {
	u := UpstreamSettings{Name: "products", Most: 10, Failures: 2, Eject: time.Hour}
	for i := range n {
		s := ServerSettings{Address: netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), uint16(i+1))}
		if i < len(weights) {
			s.Weight = weights[i]
		}
		u.Servers = append(u.Servers, s)
	}
	return u
}

// picked counts how often each server is picked, for requests that do not end.
func picked(u *Upstream, times int) map[uint16]int {
	counts := map[uint16]int{}
	for range times {
		if s := u.pick(nil); s != nil {
			s.inFlight.Add(1)
			counts[s.address.Port()]++
		}
	}
	return counts
}

func TestServersArePickedByWeight(t *testing.T) {
	for _, balance := range []Balance{RoundRobin, LeastRequests, TwoChoices} {
		settings := unused(3, 1, 2, 5)
		settings.Balance = balance
		got := picked(NewUpstream(settings, 1), 800)
		for port, want := range map[uint16]int{1: 100, 2: 200, 3: 500} {
			if got[port] < want-20 || got[port] > want+20 {
				t.Errorf("balance %d: %v", balance, got)
				break
			}
		}
	}
}

func TestBusyServerGetsFewerRequests(t *testing.T) {
	for _, balance := range []Balance{LeastRequests, TwoChoices} {
		settings := unused(4)
		settings.Balance = balance
		u := NewUpstream(settings, 1)
		u.servers[2].inFlight.Store(1000)
		if got := picked(u, 300); got[3] > 0 {
			t.Errorf("balance %d: %v", balance, got)
		}
	}
}

func TestRetryDoesNotAdvanceRoundRobin(t *testing.T) {
	u := NewUpstream(unused(2), 1)
	failing, counts := u.servers[0], map[*server]int{}
	for range 20 {
		s := u.pick(nil)
		counts[s]++
		if s != failing {
			continue
		}
		if other := u.pick(failing); other != u.servers[1] {
			t.Errorf("retried on %v", other)
		}
	}
	if counts[failing] != 10 {
		t.Errorf("the failing server received %d requests of 20, want 10", counts[failing])
	}
}

func TestRequestLostOnNewConnectionIsRetriedElsewhere(t *testing.T) {
	var asked atomic.Int64
	failing := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		if _, err := http.ReadRequest(r); err == nil {
			asked.Add(1)
		}
	})
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") })
	g := start(t, upstream, func(g *given) {
		u := plainUpstream(failing, upstream)
		u.Retries, u.Failures = 1, 0
		g.upstreams[0] = u
	})
	c := connectTo(t, g.address)
	for range 10 {
		if got := body(t, c.get("/product/")); got != "ok" {
			t.Errorf("body %q", got)
		}
	}
	if n := asked.Load(); n != 5 {
		t.Errorf("the failing server received %d requests of 10, want 5", n)
	}
	g.counted(t, "gateway_repeated_total", 5)
	c.say("POST /product/ HTTP/1.1\nHost: a\nContent-Length: 0\n\n") // POST must not be sent twice
	first := c.answer("POST")
	body(t, first)
	c.say("POST /product/ HTTP/1.1\nHost: a\nContent-Length: 0\n\n")
	second := c.answer("POST")
	body(t, second)
	if first.StatusCode+second.StatusCode != 200+502 {
		t.Errorf("statuses %d and %d", first.StatusCode, second.StatusCode)
	}
	g.counted(t, "gateway_repeated_total", 5)
}

func TestRequestOnKilledServerIsRetriedElsewhere(t *testing.T) {
	killed := listen(t)
	go func() {
		conn, err := killed.Accept()
		if err != nil {
			return
		}
		defer conn.Close() // after its listener
		conn.SetDeadline(time.Now().Add(patience))
		r := bufio.NewReader(conn)
		if _, err := http.ReadRequest(r); err == nil {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
		http.ReadRequest(r)
		killed.Close()
	}()
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") })
	g := start(t, upstream, func(g *given) {
		g.Workers = 1
		g.upstreams[0] = plainUpstream(killed.Addr().String(), upstream)
	})
	c := connectTo(t, g.address)
	for i := range 4 { // two for each; the second closes a connection as well
		if response := c.get("/product/"); response.StatusCode != 200 || body(t, response) != "ok" {
			t.Errorf("request %d: status %d", i, response.StatusCode)
		}
	}
	// Over a new connection to the same server, and then to the other.
	g.counted(t, "gateway_repeated_total", 2)
}

func TestFailingServersAreEjected(t *testing.T) {
	u := NewUpstream(unused(3), 1)
	failing := u.servers[1]
	u.recordFailure(failing)
	if got := picked(u, 30); got[2] != 10 {
		t.Errorf("after one failure: %v", got)
	}
	u.recordFailure(failing)
	if got := picked(u, 30); got[2] != 0 || got[1]+got[3] != 30 {
		t.Errorf("after two: %v", got)
	}
	for _, s := range u.servers {
		s.down.Store(true)
	}
	if got := picked(u, 30); got[1] != 10 || got[2] != 10 {
		t.Errorf("without a healthy server: %v", got)
	}
	u.Shed = true
	if got := picked(u, 30); len(got) > 0 {
		t.Errorf("with shed: %v", got)
	}
}

func TestSilentServerIsEjected(t *testing.T) {
	t.Parallel() // it mostly waits
	const row = 3
	breaksOff := func(net.Conn, *bufio.Reader) {}
	hangs := func(conn net.Conn, r *bufio.Reader) { io.Copy(io.Discard, r) }
	for name, talk := range map[string]func(net.Conn, *bufio.Reader){"it breaks off": breaksOff, "it hangs": hangs} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			failing := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
				if _, err := http.ReadRequest(r); err == nil {
					asked.Add(1)
				}
				talk(conn, r)
			})
			upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") })
			g := start(t, upstream, func(g *given) {
				u := plainUpstream(failing, upstream)
				u.Retries, u.Failures, u.Eject, u.Answer = 0, row, time.Hour, time.Second
				g.upstreams[0] = u
			})
			c := connectTo(t, g.address)
			failed := 0
			for range 6 * row {
				if response := c.get("/product/"); response.StatusCode != 200 {
					failed++
					body(t, response)
				} else if got := body(t, response); got != "ok" {
					t.Errorf("body %q", got)
				}
			}
			if failed != row || asked.Load() != row {
				t.Errorf("%d requests failed and the server saw %d, want %d", failed, asked.Load(), row)
			}
		})
	}
}

func TestResponseEndsRunOfFailures(t *testing.T) {
	var turn atomic.Int64
	flaky := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		for {
			if _, err := http.ReadRequest(r); err != nil || turn.Add(1)%3 != 0 {
				return // two of three in a row, on new connections
			}
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		}
	})
	g := start(t, flaky, func(g *given) {
		g.upstreams[0].Retries, g.upstreams[0].Failures, g.upstreams[0].Eject, g.upstreams[0].Shed = 0, 3, time.Hour, true
	})
	c := connectTo(t, g.address)
	for i := range 12 {
		want := 502
		if i%3 == 2 {
			want = 200
		}
		response := c.get("/product/")
		if body(t, response); response.StatusCode != want {
			t.Errorf("request %d: status %d, want %d", i, response.StatusCode, want)
		}
	}
}

func TestReturningServerRampsUp(t *testing.T) {
	settings := unused(2)
	settings.Slow = time.Hour
	u := NewUpstream(settings, 1)
	for _, c := range []struct {
		back     time.Duration // time since it is back
		from, to int           // per 1000
	}{{time.Second, 0, 10}, {30 * time.Minute, 200, 300}, {45 * time.Minute, 320, 430}, {time.Hour, 500, 500}} {
		u.servers[0].until.Store(time.Now().Add(-c.back).UnixNano())
		if got := picked(u, 1000); got[1] < c.from || got[1] > c.to || got[1]+got[2] != 1000 {
			t.Errorf("after %v: %v", c.back, got)
		}
	}
}

func TestRetriesStayWithinBudget(t *testing.T) {
	settings := UpstreamSettings{Most: 100, Retries: 0.1}
	p := newLimiter(settings)
	spend := func() (n int) {
		for p.takeRetry() {
			n++
		}
		return n
	}
	if n := spend(); n != minRetryBudget {
		t.Errorf("%d at the start", n)
	}
	for range 55 {
		p.acquire(&client{})
	}
	if n := spend(); n != 5 {
		t.Errorf("%d after 55 requests", n)
	}
	if newLimiter(UpstreamSettings{Most: 100}).takeRetry() {
		t.Error("without a budget a request was sent again")
	}
}

func TestServersAreHealthChecked(t *testing.T) {
	var ill atomic.Bool
	answer := func(name string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/well" {
				if r.Host != "products" {
					t.Errorf("Host %s", r.Host)
				}
				if name == "second" && ill.Load() {
					w.WriteHeader(500)
				}
				return
			}
			fmt.Fprint(w, name)
		}
	}
	first, second := startUpstream(t, answer("first")), startUpstream(t, answer("second"))
	g := start(t, first, func(g *given) {
		g.upstreams[0] = plainUpstream(first, second)
		g.upstreams[0].Host = []byte("products")
		g.upstreams[0].Health = &Health{Path: "/well", Every: 5 * time.Millisecond, Within: patience, Up: 2, Down: 2}
	})
	c := connectTo(t, g.address)
	seen := func() map[string]int {
		counts := map[string]int{}
		for range 10 {
			counts[body(t, c.get("/product/"))]++
		}
		return counts
	}
	until := func(want int) {
		t.Helper()
		for end := time.Now().Add(patience); time.Now().Before(end); {
			if seen()["second"] == want {
				return
			}
		}
		t.Fatalf("%v", seen())
	}
	until(5)
	ill.Store(true)
	until(0)
	ill.Store(false)
	until(5)
}

func TestConnectionsStayWithinTheirLimit(t *testing.T) {
	const most = 6
	var addresses []string
	for range 3 {
		addresses = append(addresses, startUpstream(t, func(w http.ResponseWriter, r *http.Request) { time.Sleep(time.Millisecond) }))
	}
	g := start(t, addresses[0], func(g *given) {
		g.Workers = 1
		g.upstreams[0] = plainUpstream(addresses...)
		g.upstreams[0].Connections, g.upstreams[0].Most, g.upstreams[0].Keep = most, most, most
	})
	connections := &g.Table().Upstreams[0].limiter.connections
	var clients sync.WaitGroup
	for range 20 {
		c := connectTo(t, g.address)
		clients.Go(func() {
			for range 20 {
				body(t, c.get("/product/"))
				if n := connections.Load(); n > most {
					t.Errorf("%d connections, want %d at most", n, most)
				}
			}
		})
	}
	clients.Wait()
	if n := connections.Load(); n < 1 {
		t.Error("none was kept")
	}
	g.counted(t, "gateway_upstream_requests", 0)
}

func TestClientsAreSpreadOverWorkers(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {})
	g := start(t, upstream, func(g *given) { g.Workers = 3 })
	for range 30 {
		body(t, connectTo(t, g.address).get("/product/"))
	}
	for i, w := range g.workers {
		if n := w.load.Load(); n != 10 {
			t.Errorf("worker %d has %d clients, want 10", i, n)
		}
	}
}

func TestCanaryGetsItsFraction(t *testing.T) {
	old := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "old") })
	young := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "new") })
	g := start(t, old, func(g *given) {
		canary := plainUpstream(young)
		canary.Name = "canary"
		g.upstreams = append(g.upstreams, canary)
		g.routes[0].Split = []route.Part{{Upstream: 0, Upto: route.Whole / 2}, {Upstream: 1, Upto: route.Whole}}
	})
	c := connectTo(t, g.address)
	counts := map[string]int{}
	for range 400 {
		counts[body(t, c.get("/product/"))]++
	}
	if counts["old"] < 100 || counts["new"] < 100 { // 200 each, within ten standard deviations
		t.Errorf("%v", counts)
	}
}

func TestClientsThatDripAreCut(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		if n, _ := io.Copy(io.Discard, r.Body); n > 0 {
			return
		}
		block := make([]byte, 1<<20)
		for {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	const stall = 200 * time.Millisecond
	g := start(t, upstream, func(g *given) { g.Stall, g.Pace = stall, 1000 })
	drip := func(c *testClient, each string) (sent int) {
		for ; sent < 40*len(each); sent += len(each) {
			if _, err := io.WriteString(c, each); err != nil {
				break
			}
			time.Sleep(stall / 10)
		}
		return sent
	}
	slow := connectTo(t, g.address)
	slow.say("POST /product/ HTTP/1.1\nHost: a\nContent-Length: 100000\n\n")
	dripped := make(chan struct{})
	go func() {
		drip(slow, "x") // 50 bytes per second
		close(dripped)
	}()
	wantError(t, slow.answer("POST"), http.StatusRequestTimeout)
	select {
	case <-dripped:
		t.Error("it was cut only when it had stopped")
	default:
		<-dripped
	}

	steady := connectTo(t, g.address)
	steady.say("POST /product/ HTTP/1.1\nHost: a\nContent-Length: 4000\n\n")
	if n := drip(steady, fmt.Sprintf("%0100d", 0)); n != 4000 { // 5,000 bytes per second
		t.Errorf("cut after %d bytes", n)
	}
	if got := steady.answer("POST").StatusCode; got != 200 {
		t.Errorf("status %d", got)
	}

	deaf := connectTo(t, g.address)
	deaf.say("GET /product/ HTTP/1.1\nHost: a\n\n")
	steady.Close()
	slow.Close()
	g.counted(t, "gateway_connections", 0)
	g.counted(t, "gateway_upstream_requests", 0)
	g.counted(t, "gateway_slow_clients_total", 2)
	g.counted(t, `gateway_upstream_failures_total{cause="too_slow"}`, 0)
}

func TestCopiesAreSent(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") })
	seen := make(chan string, 100)
	other := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		seen <- fmt.Sprintf("%s %s %s", r.Method, r.URL.Path, b)
		w.WriteHeader(500)
		w.Write(make([]byte, 3*readsPerTurn*readSize))
	})
	g := start(t, upstream, func(g *given) {
		copies := plainUpstream(other)
		copies.Name = "copies"
		g.upstreams = append(g.upstreams, copies)
		g.routes[0].Mirror = &route.Part{Upstream: 1, Upto: route.Whole}
	})
	copied := g.Table().Upstreams[1].servers[0]
	copied.failures.Store(2)
	c := connectTo(t, g.address)
	for range 5 {
		if got := body(t, c.get("/product/x")); got != "ok" {
			t.Errorf("body %q", got)
		}
		if got := receive(t, seen, "the copy"); got != "GET /x " {
			t.Errorf("a copy of %q", got)
		}
		c.say("POST /product/y HTTP/1.1\nHost: a\nContent-Length: 4\n\nbody")
		body(t, c.answer("POST"))
		if got := receive(t, seen, "the copy"); got != "POST /y body" {
			t.Errorf("a copy of %q", got)
		}
	}
	g.counted(t, "gateway_mirrored_total", 10)
	g.counted(t, "gateway_upstream_requests", 0)
	if n := copied.failures.Load(); n != 0 {
		t.Errorf("a server that answers copies has still failed %d times in a row", n)
	}

	g = start(t, upstream, func(g *given) {
		copies := plainUpstream(nowhere)
		copies.Name = "copies"
		g.upstreams = append(g.upstreams, copies)
		g.routes[0].Mirror = &route.Part{Upstream: 1, Upto: route.Whole}
	})
	c = connectTo(t, g.address)
	for range 5 {
		if got := body(t, c.get("/product/x")); got != "ok" {
			t.Errorf("body %q", got)
		}
	}
	g.counted(t, "gateway_upstream_requests", 0)
}

func TestReplacedUpstreamClosesItsConnections(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { time.Sleep(time.Millisecond) })
	var settings *given
	g := start(t, upstream, func(g *given) { settings = g })
	connections := &g.Table().Upstreams[0].limiter.connections
	for range 3 {
		var clients sync.WaitGroup
		for range 10 {
			c := connectTo(t, g.address)
			clients.Go(func() { body(t, c.get("/product/")) })
		}
		clients.Wait()
		if connections.Load() == 0 {
			t.Fatal("none was kept")
		}
		settings.upstreams[0].Queue++
		g.Swap(settings.table(g.Table()))
		for end := time.Now().Add(patience); connections.Load() > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d connections are still open", connections.Load())
			}
		}
	}
}

func TestAddedSlotsGoToQueuedRequests(t *testing.T) {
	release := make(chan struct{})
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { receive(t, release, "the release") })
	var settings *given
	g := start(t, upstream, func(g *given) {
		settings = g
		g.upstreams[0].Most = 1
	})
	for range 4 {
		connectTo(t, g.address).say("GET /product/ HTTP/1.1\nHost: a\n\n")
	}
	g.counted(t, "gateway_upstream_waiting", 3)
	settings.upstreams[0].Most = 3
	g.Swap(settings.table(g.Table()))
	g.counted(t, "gateway_upstream_waiting", 1)
	g.counted(t, "gateway_upstream_requests", 3)
	close(release)
	g.counted(t, "gateway_upstream_requests", 0)
}
