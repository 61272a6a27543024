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
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// free is an address on which nobody listens.
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

func TestAStopWaitsForNoKeys(t *testing.T) {
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
		if err := <-ended; err != nil || time.Since(stopped) > 2*time.Second { // a fetch may take 5 s
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

func TestItRunsReadsItsFileAgainAndStops(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) }))
	defer upstream.Close()
	var told atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/traces" || !strings.Contains(string(text), `{"key":"service.name","value":{"stringValue":"shop"}}`) {
			t.Errorf("%s %s", r.URL, text)
		}
		told.Add(int64(strings.Count(string(text), `"traceId":`)))
	}))
	defer collector.Close()
	listen, admin := free(t), free(t)
	file := filepath.Join(t.TempDir(), "gateway.yaml")
	write := func(prefix, more string) {
		text := fmt.Sprintf("listen: %s\nadmin: %s\nspans: {to: %q, service: shop}\nupstreams:\n  one:\n    servers: [%q]\nroutes:\n  - {path: %s, replace: /, upstream: one, trace: 100%%}\n%s",
			listen, admin, collector.URL, upstream.Listener.Addr(), prefix, more)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("/a", "")
	var logged syncBuffer
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, settings{config: file}, &logged) }()
	until(t, "it to listen", func() bool { return strings.Contains(logged.String(), "listening on "+listen) })
	until(t, "its administrator", func() bool {
		conn, err := net.Dial("tcp", admin)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	if status, text := get(t, "http://"+listen+"/a/x"); status != 200 || text != "/x" {
		t.Errorf("%d %s", status, text)
	}
	if status, _ := get(t, "http://"+listen+"/b/x"); status != 404 {
		t.Errorf("status %d", status)
	}
	if status, text := get(t, "http://"+admin+"/ready"); status != 200 || text != "ok\n" {
		t.Errorf("%d %s", status, text)
	}
	if _, text := get(t, "http://"+admin+"/metrics"); !strings.Contains(text, "\ngateway_requests_total 2\n") ||
		!strings.Contains(text, "\ngateway_answers_total{class=\"2xx\"} 1\n") || strings.Count(text, "# TYPE gateway_answers_total counter\n") != 1 {
		t.Errorf("%s", text)
	}

	hup := func() {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	write("/b", "")
	hup()
	until(t, "the new file", func() bool { return strings.Contains(logged.String(), "is in force") })
	if status, text := get(t, "http://"+listen+"/b/x"); status != 200 || text != "/x" {
		t.Errorf("%d %s", status, text)
	}
	if status, text := get(t, "http://"+admin+"/config"); status != 200 || !strings.Contains(text, "path: /b") || strings.Contains(text, "path: /a") {
		t.Errorf("%d %s", status, text)
	}
	write("wrong", "")
	hup()
	until(t, "the refusal", func() bool { return strings.Contains(logged.String(), "stays as it was") })
	if !strings.Contains(logged.String(), "gateway.yaml:8: `path` is \"wrong\"\n  hint: ") {
		t.Errorf("%s", logged.String())
	}
	if status, _ := get(t, "http://"+listen+"/b/x"); status != 200 {
		t.Errorf("status %d", status)
	}

	if _, text := get(t, "http://"+admin+"/config"); !strings.Contains(text, "path: /b") {
		t.Errorf("what was refused is not in force: %s", text)
	}
	elsewhere, err := http.NewRequest("GET", "http://"+admin+"/config", nil)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere.Host = "rebound.example"
	answer, err := http.DefaultClient.Do(elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("a page of another name is answered: %d", answer.StatusCode)
	}

	write("/c", "workers: 200\n")
	hup()
	until(t, "the other refusal", func() bool { return strings.Contains(logged.String(), "only when the gateway is started again") })
	if status, _ := get(t, "http://"+listen+"/b/x"); status != 200 {
		t.Errorf("status %d", status)
	}

	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("it does not stop")
	}
	if got := told.Load(); got != 4 {
		t.Errorf("the collector was told of %d requests, the last ones on stopping", got)
	}
}

func TestTheCommandLine(t *testing.T) {
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

// replace has a file be another at once, as editors do.
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

func TestAFileThatChangesIsReadAgain(t *testing.T) {
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
			t.Errorf("it was read again for no change: %s", logged.String())
		}
		if status, _ := get(t, "http://"+listen+prefix+"/x"); status != 200 {
			t.Errorf("status %d", status)
		}
	}
}

func TestARefusalForgetsNothing(t *testing.T) {
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

	given, err := os.ReadFile("token-keys.json")
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
