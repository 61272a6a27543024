// Failing upstreams: which requests are retried, and what clients get.

package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestInvalidResponsesGive502(t *testing.T) {
	wantError(t, connectTo(t, start(t, nowhere, nil).address).get("/product/"), http.StatusBadGateway)
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

func TestTruncatedResponseLooksTruncated(t *testing.T) {
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbo", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\nx\r\n",
	} {
		upstream := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
			http.ReadRequest(r)
			io.WriteString(conn, answer[:len(answer)-3])
			time.Sleep(20 * time.Millisecond) // so that the head is passed on first
			io.WriteString(conn, answer[len(answer)-3:])
		})
		response := connectTo(t, start(t, upstream, nil).address).get("/product/")
		if b, err := io.ReadAll(response.Body); err == nil {
			t.Errorf("%q looked whole: %q", answer, b)
		}
	}
}

func TestUnsolicitedBytesAreNoResponse(t *testing.T) {
	const head, more = "HTTP/1.1 200 OK\r\nContent-Length: 16000\r\nX: ", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
	// As much as one read takes.
	text := head + strings.Repeat("x", readSize-16000-len(head)-4) + "\r\n\r\n" + strings.Repeat("o", 16000)
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

// startForgetful responds, or closes the connection instead on request.
func startForgetful(t *testing.T, forget <-chan struct{}) string {
	t.Helper()
	return startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		for {
			if _, err := http.ReadRequest(r); err != nil {
				return
			}
			select {
			case <-forget: // read, but not answered
				return
			default:
			}
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
}

func TestRequestOnClosedConnectionIsRetried(t *testing.T) { // RFC 9112, 9.5
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

func TestUnreachableServerIsRetriedOnAnother(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	// The kernel rejects a broadcast address at once.
	for _, address := range []string{nowhere, "255.255.255.255:80"} {
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
			// Then the server is ejected.
			g.counted(t, `gateway_upstream_failures_total{cause="unreachable"}`, 2)
		}
	}
}
