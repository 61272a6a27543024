// The command as a whole: a gateway runs in this process, is reloaded by SIGHUP and stopped.

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const patience = 20 * time.Second

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// until waits for something that should happen at once.
func until(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no sign of %s in time", what)
		}
	}
}

// free returns an address on which nothing listens.
func free(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(b)
}

func TestStopDoesNotWaitForKeys(t *testing.T) {
	asked, answer := make(chan struct{}, 2), make(chan struct{})
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-answer
	}))
	defer issuer.Close()
	defer close(answer)
	listen := free(t)
	file := filepath.Join(t.TempDir(), "gateway.yaml")
	write := func(more string) {
		text := fmt.Sprintf("listen: %s\nupstreams: {one: {servers: [%q]}}\nroutes:\n  - {path: /a, upstream: one%s}\n", listen, listen, more)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stops := func(what string, before func(logged *syncBuffer)) {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		var logged syncBuffer
		go func() { ended <- run(ctx, settings{config: file}, &logged) }()
		before(&logged)
		<-asked
		stopped := time.Now()
		cancel()
		// A fetch may take 5 s.
		if err := <-ended; err != nil || time.Since(stopped) > 2*time.Second {
			t.Errorf("%s: %v after %v", what, err, time.Since(stopped))
		}
		if strings.Contains(logged.String(), "configuration stays") {
			t.Errorf("%s: %s", what, logged.String())
		}
	}
	keys := ", token: {keys: " + issuer.URL + "}"
	write("")
	stops("a reload", func(logged *syncBuffer) {
		until(t, "it to listen", func() bool { return strings.Contains(logged.String(), "listening on ") })
		write(keys)
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	})
	stops("a start", func(*syncBuffer) {})
}

// running is a gateway started like the command, with a collector of spans.
type running struct {
	listen, admin, file string
	collector, upstream *httptest.Server
	spans               atomic.Int64
	logged              syncBuffer
	cancel              context.CancelFunc
	ended               chan error
}

func startRunning(t *testing.T) *running {
	r := &running{listen: free(t), admin: free(t), file: filepath.Join(t.TempDir(), "gateway.yaml"), ended: make(chan error, 1)}
	r.upstream = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) }))
	t.Cleanup(r.upstream.Close)
	r.collector = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		text, _ := io.ReadAll(request.Body)
		if request.URL.Path != "/v1/traces" || !strings.Contains(string(text), `{"key":"service.name","value":{"stringValue":"shop"}}`) {
			t.Errorf("%s %s", request.URL, text)
		}
		r.spans.Add(int64(strings.Count(string(text), `"traceId":`)))
	}))
	t.Cleanup(r.collector.Close)
	r.write(t, "/a", "")
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() { r.ended <- run(ctx, settings{config: r.file}, &r.logged) }()
	until(t, "it to listen", func() bool { return strings.Contains(r.logged.String(), "listening on "+r.listen) })
	until(t, "the admin listener", func() bool {
		conn, err := net.Dial("tcp", r.admin)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return r
}

// write writes the configuration, with one route.
func (r *running) write(t *testing.T, prefix, more string) {
	t.Helper()
	text := fmt.Sprintf("listen: %s\nadmin: %s\nspans: {to: %q, service: shop}\nupstreams:\n  one:\n    servers: [%q]\nroutes:\n  - {path: %s, replace: /, upstream: one, trace: 100%%}\n%s",
		r.listen, r.admin, r.collector.URL, r.upstream.Listener.Addr(), prefix, more)
	if err := os.WriteFile(r.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// reload waits until the log reports the outcome of a reload.
func (r *running) reload(t *testing.T, outcome string) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	until(t, outcome, func() bool { return strings.Contains(r.logged.String(), outcome) })
}

// want checks the response to a client.
func (r *running) want(t *testing.T, path string, status int, text string) {
	t.Helper()
	if got, body := get(t, "http://"+r.listen+path); got != status || (text != "" && body != text) {
		t.Errorf("%s: %d %s", path, got, body)
	}
}

// wantMisdirected checks that the admin listener refuses a request for another host.
func (r *running) wantMisdirected(t *testing.T) {
	t.Helper()
	request, err := http.NewRequest("GET", "http://"+r.admin+"/config", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "rebound.example"
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("a request for another host: %d", response.StatusCode)
	}
}

func TestGatewayRunsReloadsAndStops(t *testing.T) {
	r := startRunning(t)
	r.want(t, "/a/x", 200, "/x")
	r.want(t, "/b/x", 404, "")
	if status, text := get(t, "http://"+r.admin+"/ready"); status != 200 || text != "ok\n" {
		t.Errorf("%d %s", status, text)
	}
	if _, text := get(t, "http://"+r.admin+"/metrics"); !strings.Contains(text, "\ngateway_requests_total 2\n") ||
		!strings.Contains(text, "\ngateway_answers_total{class=\"2xx\"} 1\n") || strings.Count(text, "# TYPE gateway_answers_total counter\n") != 1 {
		t.Errorf("%s", text)
	}

	r.write(t, "/b", "")
	r.reload(t, "is in force")
	r.want(t, "/b/x", 200, "/x")
	if status, text := get(t, "http://"+r.admin+"/config"); status != 200 || !strings.Contains(text, "path: /b") || strings.Contains(text, "path: /a") {
		t.Errorf("%d %s", status, text)
	}
	r.write(t, "wrong", "")
	r.reload(t, "stays as it was")
	if !strings.Contains(r.logged.String(), "gateway.yaml:8: `path` is \"wrong\"\n  hint: ") {
		t.Errorf("%s", r.logged.String())
	}
	r.want(t, "/b/x", 200, "")
	if _, text := get(t, "http://"+r.admin+"/config"); !strings.Contains(text, "path: /b") {
		t.Errorf("an invalid file is in force: %s", text)
	}
	r.wantMisdirected(t)

	r.write(t, "/c", "workers: 200\n")
	r.reload(t, "only with a restart")
	r.want(t, "/b/x", 200, "")

	r.cancel()
	select {
	case err := <-r.ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("it does not stop")
	}
	if got := r.spans.Load(); got != 4 {
		t.Errorf("the collector received %d spans, the last ones on stopping", got)
	}
}

func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "no configuration\n  hint: "},
		{[]string{"-config", "a", "b"}, "unexpected argument \"b\""},
		{[]string{"-x"}, "-x"},
	} {
		if _, err := parse(c.args, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.args, err)
		}
	}
	if s, err := parse([]string{"-config", "a", "-set", "via=", "-set", "workers=2"}, io.Discard); err != nil || strings.Join(s.set, " ") != "via= workers=2" {
		t.Errorf("%+v, %v", s, err)
	}
	s, err := parse([]string{"-check", "-config", filepath.Join(t.TempDir(), "none.yaml")}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(context.Background(), s, io.Discard); err == nil || !strings.Contains(err.Error(), "hint: name a file with -config") {
		t.Errorf("%v", err)
	}
}

// replace replaces a file atomically, as editors do.
func replace(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// serve runs a gateway until it is stopped, and waits until it listens.
func serve(t *testing.T, file, listen string) (logged *syncBuffer, stop func()) {
	t.Helper()
	logged = &syncBuffer{}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, settings{config: file}, logged) }()
	until(t, "it to listen", func() bool { return strings.Contains(logged.String(), "listening on "+listen) })
	return logged, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func TestChangedFileIsReloaded(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) }))
	defer upstream.Close()
	listen, file := free(t), filepath.Join(t.TempDir(), "gateway.yaml")
	write := func(prefix string) {
		text := fmt.Sprintf("listen: %s\nwatch: 100ms\nupstreams: {one: {servers: [%q]}}\nroutes:\n  - {path: %s, replace: /, upstream: one}\n", listen, upstream.Listener.Addr(), prefix)
		replace(t, file, text)
	}
	write("/a")
	logged, stop := serve(t, file, listen)
	defer stop()
	times := func(text string) int { return strings.Count(logged.String(), text) }
	for i, prefix := range []string{"/b", "/c"} {
		write(prefix)
		until(t, "the new file", func() bool { return times("is in force") == i+1 })
		if status, text := get(t, "http://"+listen+prefix+"/x"); status != 200 || text != "/x" {
			t.Errorf("%d %s", status, text)
		}
		write("wrong")
		until(t, "the refusal", func() bool { return times("stays as it was") == i+1 })
		time.Sleep(250 * time.Millisecond)
		if times("is in force") != i+1 || times("stays as it was") != i+1 {
			t.Errorf("it was reloaded without a change: %s", logged.String())
		}
		if status, _ := get(t, "http://"+listen+prefix+"/x"); status != 200 {
			t.Errorf("status %d", status)
		}
	}
}

func TestRefusedStreamKeepsHPACKState(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) }))
	defer upstream.Close()
	folder, listen := t.TempDir(), free(t)
	file, lines, keys := filepath.Join(folder, "gateway.yaml"), filepath.Join(folder, "access.log"), filepath.Join(folder, "keys.json")
	write := func(route string) {
		text := fmt.Sprintf("listen: %s\naccess: %s\nwatch: 100ms\nupstreams: {one: {servers: [%q]}}\nroutes:\n  - {path: /, upstream: one%s}\n", listen, lines, upstream.Listener.Addr(), route)
		replace(t, file, text)
	}
	write("")
	logged, stop := serve(t, file, listen)
	defer stop()

	if err := os.Rename(lines, lines+".1"); err != nil {
		t.Fatal(err)
	}
	write(", token: {keys: " + keys + "}")
	until(t, "the refusal", func() bool { return strings.Contains(logged.String(), "stays as it was") })
	if status, _ := get(t, "http://"+listen+"/"); status != 200 {
		t.Errorf("status %d", status)
	}
	until(t, "a line in a new file", func() bool { text, _ := os.ReadFile(lines); return len(text) > 0 })

	given, err := os.ReadFile("../catalog/systems/gateway/token-keys.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keys, given, 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, "the file that was missing", func() bool { return strings.Contains(logged.String(), "is in force") })
	if status, _ := get(t, "http://"+listen+"/"); status != 401 {
		t.Errorf("status %d", status)
	}
}
