// Sends ambiguous requests through the gateway to net/http, nginx and HAProxy, and compares what
// they understand.

package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Other proxies, configured to pass everything on to one address.
var others = map[string]struct {
	run    func(file string) []string
	config string
}{
	"nginx": {func(file string) []string {
		return []string{"nginx", "-e", "stderr", "-p", filepath.Dir(file), "-c", file}
	}, `
daemon off;
pid FOLDER/pid;
error_log stderr crit;
events {}
http {
  access_log off;
  client_body_temp_path FOLDER/a; proxy_temp_path FOLDER/b; fastcgi_temp_path FOLDER/c; uwsgi_temp_path FOLDER/d; scgi_temp_path FOLDER/e;
  server {
    listen LISTEN;
    location / { proxy_pass http://TO; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}`},
	"haproxy": {func(file string) []string { return []string{"haproxy", "-db", "-q", "-f", file} }, `
defaults
  mode http
  timeout connect 10s
  timeout client 10s
  timeout server 10s
frontend front
  bind LISTEN
  default_backend back
backend back
  server one TO
`},
}

// startOther starts another proxy before an address until the test ends, and returns its own
// address.
func startOther(t *testing.T, name, to string) string {
	t.Helper()
	other := others[name]
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not on PATH", name)
	}
	listener := listen(t)
	address := listener.Addr().String()
	listener.Close()
	folder := t.TempDir()
	file := filepath.Join(folder, "config")
	text := strings.NewReplacer("FOLDER", folder, "LISTEN", address, "TO", to).Replace(other.config)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := other.run(file)
	command := exec.Command(args[0], args[1:]...)
	var said syncBuffer
	command.Stdout, command.Stderr = &said, &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Signal(os.Interrupt)
		command.Wait()
	})
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return address
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not listen: %s", name, said.String())
		}
	}
}

// ambiguous returns requests whose end implementations have disagreed about, each followed by
// another request.
func ambiguous() (all []string) {
	fields := []string{
		"", "Content-Length: 5", "Content-Length: 0", "Content-Length: +5", "Content-Length: 5, 5", "Content-Length:5 ", "Content-Length: 005", "Content-Length: 0x5",
		"Content-Length: 5\r\nContent-Length: 5", "Content-Length: 0\r\nContent-Length: 5", "Content-Length: 5\nX: y", "Content-Length : 5", "\x0bContent-Length: 5",
		"Transfer-Encoding: chunked", "transfer-ENCODING:\tCHUNKED ", "Transfer-Encoding : chunked", "Transfer-Encoding: xchunked", "Transfer-Encoding: chunked, identity",
		"Transfer-Encoding: \x0bchunked", "Transfer-Encoding: identity, chunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: x", "Transfer-Encoding:\r\n chunked",
		"Transfer-Encoding: chunked\r\nContent-Length: 5", "Content-Length: 5\r\nTransfer-Encoding: chunked", "X: y\r\n Transfer-Encoding: chunked", "X: y\rTransfer-Encoding: chunked",
		"Connection: Content-Length\r\nContent-Length: 5", "Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked", "Connection: Host, X-Forwarded-For",
		"Transfer_Encoding: chunked\r\nContent-Length: 5", "Content-Length: 5\r\nExpect: 100-continue", "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAAA",
	}
	// Letters, because nginx accepts only those in a method, where a body might be read as one.
	bodies := []string{
		"", "HELLO", "0\r\n\r\n", "5\r\nHELLO\r\n0\r\n\r\n", "5;a=\"\n\"\r\nHELLO\r\n0\r\n\r\n", "5 \r\nHELLO\r\n0\r\n\r\n", "5\nHELLO\n0\n\n", "05\r\nHELLO\r\n00\r\nX: y\r\n\r\n",
		"5\r\nHELLO\r\n0\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "-1\r\nHELLO", "100000005\r\nHELLO\r\n0\r\n\r\n", "5\r\nHELLOS\r\n0\r\n\r\n",
	}
	for _, method := range []string{"GET", "POST"} {
		for _, version := range []string{"1.1", "1.0"} {
			for _, field := range fields {
				for _, body := range bodies {
					if field != "" {
						field = strings.TrimSuffix(field, "\r\n") + "\r\n"
					}
					all = append(all, method+" /v1/first HTTP/"+version+"\r\nHost: a\r\n"+field+"\r\n"+body+"GET /v1/last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
				}
			}
		}
	}
	return all
}

// said returns the status of each response to a text, and what the upstream received.
func said(t *testing.T, address, text string) (all []string) {
	t.Helper()
	c := connectTo(t, address)
	defer c.Close()
	io.WriteString(c, text)
	c.Conn.(*net.TCPConn).SetReadDeadline(time.Now().Add(patience))
	for {
		response, err := http.ReadResponse(c.r, &http.Request{Method: "GET"})
		if err != nil {
			return all
		}
		if response.StatusCode < 200 {
			continue
		}
		io.Copy(io.Discard, response.Body)
		all = append(all, fmt.Sprint(response.StatusCode, " ", response.Header.Get("X-Asked")))
		if response.Close {
			return all
		}
	}
}

// TestOtherProxiesReadPassedOnRequestsAlike checks that net/http, nginx and HAProxy see the same
// requests and bodies in what the gateway passes on.
func TestOtherProxiesReadPassedOnRequestsAlike(t *testing.T) {
	far := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		for {
			request, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			b, err := io.ReadAll(request.Body)
			if err != nil {
				return
			}
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nX-Asked: %s %s %q\r\nContent-Length: 0\r\n\r\n", request.Method, request.URL.Path, b)
		}
	})
	patient := func(g *given) { g.HeadTimeout, g.Stall, g.Pace = 100*time.Millisecond, 100*time.Millisecond, 1 }
	texts := ambiguous()
	all := func(t *testing.T, before string) (string, [][]string) {
		g := start(t, before, patient)
		answers := make([][]string, len(texts))
		var next atomic.Int64
		var clients sync.WaitGroup
		for range 20 {
			clients.Go(func() {
				for i := next.Add(1) - 1; i < int64(len(texts)); i = next.Add(1) - 1 {
					answers[i] = said(t, g.address, texts[i])
				}
			})
		}
		clients.Wait()
		return g.address, answers
	}
	without, want := all(t, far)
	through := 0
	for _, answers := range want {
		if slices.ContainsFunc(answers, func(s string) bool { return strings.HasPrefix(s, "200 ") }) {
			through++
		}
	}
	if through == 0 || through == len(texts) {
		t.Errorf("%d of %d went through", through, len(texts))
	}
	for name := range others {
		t.Run(name, func(t *testing.T) {
			with, answers := all(t, startOther(t, name, far))
			for i, got := range answers {
				// A busy machine may time out one of these clients. Real differences show up every
				// time.
				for tries := 0; !slices.Equal(got, want[i]) && tries < 5; tries++ {
					want[i], got = said(t, without, texts[i]), said(t, with, texts[i])
				}
				if !slices.Equal(got, want[i]) {
					t.Errorf("%q:\nwithout %s %q\nwith it %q", texts[i], name, want[i], got)
				}
			}
		})
	}
}
