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
	"sync/atomic"
	"testing"
	"time"

	"faceoff/systems/gateway/h2"
	"faceoff/systems/gateway/route"
)

// gauge counts what is going on at once, and the most that ever was.
type gauge struct{ now, most atomic.Int32 }

// enter counts one in, and the function it returns counts it out.
func (g *gauge) enter() func() {
	now := g.now.Add(1)
	for most := g.most.Load(); now > most && !g.most.CompareAndSwap(most, now); most = g.most.Load() {
	}
	return func() { g.now.Add(-1) }
}

func TestBeyondTheQueueAndItsTimeRequestsAreShed(t *testing.T) {
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
		if receive(t, statuses, "an answer") == 200 {
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

func TestARequestWaitsForAPlace(t *testing.T) {
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

func TestWhoLeavesTheQueueTakesNoPlace(t *testing.T) {
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

func TestBodiesThatAreStillComingHaveHalfOfThePlaces(t *testing.T) {
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
				time.Sleep(time.Millisecond) // so that it comes alone
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
	for _, c := range held { // who waits gets the place of who has sent all
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

func TestWhoWaitsForItsOwnBodyNeedsNoQueue(t *testing.T) {
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

func TestPlacesAddUpHoweverBodiesCome(t *testing.T) {
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

func TestAClientThatLeavesCancelsItsRequest(t *testing.T) {
	arrived, gone := make(chan struct{}), make(chan struct{})
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
		close(gone)
	})
	g := start(t, upstream, nil)
	c := connectTo(t, g.address)
	c.say("GET /product/ HTTP/1.1\nHost: a\n\n")
	// It counts as under way while its connection is being made: who leaves then is never heard of upstream.
	receive(t, arrived, "the request to arrive")
	g.counted(t, "gateway_upstream_requests", 1)
	c.Close()
	receive(t, gone, "the upstream to learn of it")
	g.counted(t, "gateway_upstream_requests", 0)
	g.counted(t, "gateway_connections", 0)
}

func TestMoreKeepAliveClientsThanPlacesAllGetTheirTurn(t *testing.T) {
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
		t.Error("no answer ended its connection")
	}
}

func TestQuietConnectionsGiveWay(t *testing.T) {
	t.Parallel() // it mostly waits
	const places = 4
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") })
	g := start(t, upstream, func(g *given) { g.MaxClients = places })
	for i := range places {
		c := connectTo(t, g.address)
		if i%2 == 0 { // half of them never say a word, half did
			body(t, c.get("/product/"))
		}
	}
	for range places + 1 {
		if got := body(t, connectTo(t, g.address).get("/product/")); got != "ok" {
			t.Errorf("body %q", got)
		}
	}
}

func TestSlowClientsAreTimedOut(t *testing.T) {
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
	g.counted(t, "gateway_slow_clients_total", 1) // which was asked for a body
}

func TestASlowUpstreamIsTimedOut(t *testing.T) {
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

func TestWhoAsksWithoutEndLeavesOthersTheirTurn(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") })
	g := start(t, upstream, func(g *given) { g.Workers = 1 })
	flood := connectTo(t, g.address)
	go func() { // each is answered by the gateway itself
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

func TestNothingPutsATimeLimitOff(t *testing.T) {
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
		drips          bool // the client, of what it asks next
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

func TestWhatAnUpstreamDoesWrongIs502(t *testing.T) {
	closed := listen(t)
	address := closed.Addr().String()
	closed.Close()
	wantError(t, connectTo(t, start(t, address, nil).address).get("/product/"), http.StatusBadGateway)
	for _, answer := range []string{
		"", "HTTP/1.1 200 OK\r\n", "SSH-2.0\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 17<<10) + "\r\n\r\n",
	} {
		upstream := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
			http.ReadRequest(r)
			io.WriteString(conn, answer)
		})
		c := connectTo(t, start(t, upstream, nil).address)
		for range 2 {
			wantError(t, c.get("/product/"), http.StatusBadGateway)
		}
	}
}

func TestAnAnswerThatBreaksOffLooksBroken(t *testing.T) {
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbo", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\nx\r\n",
	} {
		upstream := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
			http.ReadRequest(r)
			io.WriteString(conn, answer[:len(answer)-3])
			time.Sleep(20 * time.Millisecond) // so that the head is passed on before
			io.WriteString(conn, answer[len(answer)-3:])
		})
		response := connectTo(t, start(t, upstream, nil).address).get("/product/")
		if b, err := io.ReadAll(response.Body); err == nil {
			t.Errorf("%q looked whole: %q", answer, b)
		}
	}
}

func TestWhatAServerSaysTooMuchIsNobodysAnswer(t *testing.T) {
	const head, more = "HTTP/1.1 200 OK\r\nContent-Length: 16000\r\nX: ", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
	text := head + strings.Repeat("x", readSize-16000-len(head)-4) + "\r\n\r\n" + strings.Repeat("o", 16000) // as much as one read takes
	upstream := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		if _, err := http.ReadRequest(r); err == nil {
			io.WriteString(conn, text+more)
			io.Copy(io.Discard, r)
		}
	})
	g := start(t, upstream, func(g *given) { g.Workers = 1 })
	for range 3 {
		if got := body(t, connectTo(t, g.address).get("/product/")); len(got) != 16000 {
			t.Errorf("%.40s", got)
		}
	}
}

// startForgetful answers, and closes a connection instead of answering when told to.
func startForgetful(t *testing.T, forget <-chan struct{}) string {
	t.Helper()
	return startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		for {
			if _, err := http.ReadRequest(r); err != nil {
				return
			}
			select {
			case <-forget: // read, and not answered
				return
			default:
			}
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
}

func TestARequestThatMetAClosedConnectionIsSentAgain(t *testing.T) { // RFC 9112, 9.5
	forget := make(chan struct{}, 1)
	g := start(t, startForgetful(t, forget), func(g *given) { g.Workers = 1 })
	c := connectTo(t, g.address)
	body(t, c.get("/product/"))
	forget <- struct{}{}
	if got := body(t, c.get("/product/")); got != "ok" {
		t.Errorf("body %q", got)
	}
	g.counted(t, "gateway_repeated_total", 1)
	forget <- struct{}{}
	c.say("POST /product/ HTTP/1.1\nHost: a\nContent-Length: 0\n\n")
	wantError(t, c.answer("POST"), http.StatusBadGateway)
}

func TestAnotherServerIsAskedWhereOneIsDown(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	down := listen(t)
	down.Close()
	for _, address := range []string{down.Addr().String(), "255.255.255.255:80"} { // the kernel says so at once of an address that is none of one host
		for _, balance := range []Balance{RoundRobin, LeastRequests, TwoChoices} {
			g := start(t, upstream, func(g *given) {
				g.upstreams = []UpstreamSettings{plainUpstream(address, upstream, upstream)}
				g.upstreams[0].Balance, g.upstreams[0].Failures, g.upstreams[0].Eject = balance, 2, patience
			})
			c := connectTo(t, g.address)
			for i := range 20 {
				c.say(fmt.Sprintf("POST /product/ HTTP/1.1\nHost: a\nContent-Length: 2\n\n%02d", i))
				if response := c.answer("POST"); response.StatusCode != 200 || body(t, response) != fmt.Sprintf("%02d", i) {
					t.Errorf("%s: status %d", address, response.StatusCode)
				}
			}
			g.counted(t, `gateway_upstream_failures_total{cause="unreachable"}`, 2) // and then it is left alone
		}
	}
}

func TestTheTableIsExchangedWithoutLosingARequest(t *testing.T) {
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

func TestStoppingWaitsForAnswers(t *testing.T) {
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
		t.Error("somebody was let in while it stops")
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
