// Passing on of requests and responses, limits, and stopping.

package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// startProxy runs the proxy before the upstream, over real sockets, and returns its address.
func startProxy(t *testing.T, upstream http.HandlerFunc, bounds shares, streamed bool) string {
	t.Helper()
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	return startProxyTo(t, server.Listener.Addr().String(), bounds, streamed)
}

func startProxyTo(t *testing.T, upstream string, bounds shares, streamed bool) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(settings{upstream: upstream, streamed: streamed}, bounds,
		log.New(io.Discard, "", 0))
	go server.Serve(listener)
	t.Cleanup(func() { server.Shutdown() })
	return listener.Addr().String()
}

var roomy = shares{inbound: 1000, outbound: 100}

func ask(t *testing.T, request *http.Request) (*http.Response, string) {
	t.Helper()
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

// raw sends a request as it is and reads one response.
func raw(t *testing.T, address, request string) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func bothWays(t *testing.T, test func(t *testing.T, streamed bool)) {
	for _, streamed := range []bool{false, true} {
		t.Run(fmt.Sprintf("streamed=%v", streamed), func(t *testing.T) { test(t, streamed) })
	}
}

func TestPathsArePassedOnUnchanged(t *testing.T) {
	proxy := startProxy(t,
		func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RequestURI) }, roomy, false)
	for asked, want := range map[string]string{
		"/product/products":        "/products",
		"/product":                 "/",
		"/product?a=b":             "/?a=b",
		"/product/a%2Fb/..//c?x=%": "/a%2Fb/..//c?x=%",
		"/v1/x?y":                  "/v1/x?y",
	} {
		answer := raw(t, proxy, "GET "+asked+" HTTP/1.1\r\nHost: shop\r\n\r\n")
		body, _ := io.ReadAll(answer.Body)
		if answer.StatusCode != 200 || string(body) != want {
			t.Errorf("%s: %d %s, not %s", asked, answer.StatusCode, body, want)
		}
	}
	for _, asked := range []string{"/products", "/", "/v1", "/products?/product/",
		"http://shop/product/x"} {
		if answer := raw(t, proxy,
			"GET "+asked+" HTTP/1.1\r\nHost: shop\r\n\r\n"); answer.StatusCode != 404 {
			t.Errorf("%s: %d", asked, answer.StatusCode)
		}
	}
}

func TestBodiesPassBothWays(t *testing.T) {
	bothWays(t, func(t *testing.T, streamed bool) {
		proxy := startProxy(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
			w.WriteHeader(http.StatusCreated)
			w.Write(body)
		}, roomy, streamed)
		for _, size := range []int{0, 1, 74, 10 << 10, 1 << 20} {
			// With a length and, as io.MultiReader has none, in chunks.
			for _, body := range []io.Reader{strings.NewReader(strings.Repeat("x", size)),
				io.MultiReader(strings.NewReader(strings.Repeat("x", size)))} {
				request, _ := http.NewRequest("POST", "http://"+proxy+"/product/echo", body)
				request.Header.Set("Content-Type", "text/x")
				answer, got := ask(t, request)
				if answer.StatusCode != 201 || len(got) != size ||
					answer.Header.Get("Content-Type") != "text/x" {
					t.Errorf("%d bytes: %s, %d bytes, %v", size, answer.Status, len(got),
						answer.Header)
				}
			}
		}
	})
}

func TestConnectionFieldsAreNotPassedOn(t *testing.T) {
	seen := make(chan http.Header, 1)
	proxy := startProxy(t, func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Host", r.Host)
		seen <- r.Header
		w.Header().Set("Connection", "X-Theirs")
		w.Header().Set("X-Theirs", "1")
		w.Header().Set("X-Kept", "1")
	}, roomy, false)
	answer := raw(t, proxy,
		"GET /product/x HTTP/1.1\r\nHost: shop\r\nConnection: X-Mine, TE\r\nX-Mine: 1\r\nTE: trailers\r\nUpgrade: h2c\r\nX-Kept: 1\r\nX-Forwarded-For: 10.0.0.1\r\n\r\n")
	head := <-seen
	for _, name := range []string{"X-Mine", "Te", "Upgrade", "Connection"} {
		if head.Get(name) != "" {
			t.Errorf("%s reached the upstream: %v", name, head)
		}
	}
	if head.Get("X-Kept") != "1" || head.Get("X-Forwarded-For") != "10.0.0.1, 127.0.0.1" ||
		head.Get("X-Forwarded-Host") != "shop" || head.Get("X-Forwarded-Proto") != "http" ||
		!strings.HasPrefix(head.Get("Host"), "127.0.0.1:") {
		t.Errorf("the upstream received %v", head)
	}
	if answer.Header.Get("X-Theirs") != "" || answer.Header.Get("X-Kept") != "1" ||
		len(answer.Header.Values("Date")) != 1 {
		t.Errorf("the client received %v", answer.Header)
	}
}

func TestUpstreamConnectionsOutliveClients(t *testing.T) {
	peers := make(map[string]bool)
	proxy := startProxy(t,
		func(w http.ResponseWriter, r *http.Request) { peers[r.RemoteAddr] = true }, roomy, false)
	for range 5 {
		answer := raw(t, proxy,
			"GET /product/x HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n")
		if answer.StatusCode != 200 || !answer.Close {
			t.Errorf("%s, ends the connection: %v", answer.Status, answer.Close)
		}
	}
	if len(peers) != 1 {
		t.Errorf("%d connections to the upstream", len(peers))
	}
}

func TestRequestsBeyondSlotsWaitAndAreShed(t *testing.T) {
	release := make(chan struct{})
	var arrived sync.WaitGroup
	arrived.Add(2)
	proxy := startProxy(t,
		func(w http.ResponseWriter, r *http.Request) {
			arrived.Done()
			<-release
		}, shares{inbound: 100, outbound: 2}, false)
	var held sync.WaitGroup
	for range 2 {
		held.Go(func() {
			request, _ := http.NewRequest("GET", "http://"+proxy+"/product/x", nil)
			if answer, _ := ask(t, request); answer.StatusCode != 200 {
				t.Errorf("one that had a slot: %s", answer.Status)
			}
		})
	}
	arrived.Wait()
	request, _ := http.NewRequest("GET", "http://"+proxy+"/product/x", nil)
	answer, body := ask(t, request)
	if answer.StatusCode != 503 || answer.Header.Get("Retry-After") != "1" ||
		!strings.Contains(body, "in flight") {
		t.Errorf("%s %v %s", answer.Status, answer.Header, body)
	}
	close(release)
	held.Wait()
}

func TestTrailersOfBufferedResponsePass(t *testing.T) {
	proxy := startProxy(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		fmt.Fprint(w, "body")
		w.Header().Set("X-Sum", "4")
	}, roomy, false)
	answer := raw(t, proxy, "GET /product/x HTTP/1.1\r\nHost: shop\r\n\r\n")
	if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "body" ||
		answer.Trailer.Get("X-Sum") != "4" {
		t.Errorf("%s, %v, trailers %v", body, err, answer.Trailer)
	}
}

func TestUnreachableUpstream(t *testing.T) {
	// A port that was free once may be another's by now. Nothing listens at this one.
	proxy := startProxyTo(t, "127.0.0.1:1", roomy, false)
	request, _ := http.NewRequest("GET", "http://"+proxy+"/product/x", nil)
	if answer, _ := ask(t, request); answer.StatusCode != 502 {
		t.Errorf("%s", answer.Status)
	}
}

// A response that arrives in parts is passed on part by part only if bodies are streamed.
func TestResponseInPartsIsStreamed(t *testing.T) {
	release := make(chan struct{})
	proxy := startProxy(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, strings.Repeat("x", 64<<10))
		w.(http.Flusher).Flush()
		<-release
		fmt.Fprint(w, "end")
	}, roomy, true)
	answer := raw(t, proxy, "GET /product/x HTTP/1.1\r\nHost: shop\r\n\r\n")
	first := make([]byte, 1)
	if _, err := io.ReadFull(answer.Body, first); err != nil {
		t.Errorf("before the answer's end: %v", err)
	}
	close(release)
	rest, err := io.ReadAll(answer.Body)
	if err != nil || len(rest) != 64<<10+2 {
		t.Errorf("%d more bytes, %v", len(rest), err)
	}
}

func TestSettings(t *testing.T) {
	for _, args := range [][]string{{}, {"-upstream", "x"}, {"-upstream", "https://x:1"},
		{"-upstream", "http://x"}, {"-upstream", "http://x:1/y"}, {"-upstream", "http://x:1",
			"more"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
	if s, err := parse([]string{"-upstream", "http://127.0.0.1:1/", "-streamed"},
		io.Discard); err != nil || s.upstream != "127.0.0.1:1" || !s.streamed {
		t.Errorf("%v %v", s, err)
	}
}

func TestProxyStopsOnSignal(t *testing.T) {
	stop := make(chan os.Signal, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- run(settings{listen: "127.0.0.1:0", upstream: "127.0.0.1:1"}, stop,
			log.New(io.Discard, "", 0))
	}()
	stop <- os.Interrupt
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("still there")
	}
}

func TestDescriptorsAreShared(t *testing.T) {
	if _, err := divide(63); err == nil {
		t.Error("63 were enough")
	}
	if s, err := divide(256); err != nil || s != (shares{150, 74}) {
		t.Errorf("%v %v", s, err)
	}
	if s, _ := divide(^uint64(0)); s.outbound != mostOutbound {
		t.Errorf("%v", s)
	}
}
