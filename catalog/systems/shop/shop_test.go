package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// patience is the longest that a test waits for something that should happen at once.
const patience = 20 * time.Second

func start(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// get returns the status and the body; status 0 if the connection ended without a response.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(said)
}

func want(t *testing.T, url string, status int, said string) {
	t.Helper()
	if got, text := get(t, url); got != status || text != said {
		t.Errorf("%s: %d %s, want %d %s", url, got, text, status, said)
	}
}

func TestOrdersCallStock(t *testing.T) {
	orders := start(t, newOrders(start(t, newStock())))
	want(t, orders+"/orders/17", 200, `{"order":17,"stock":{"article":17}}`)
	want(t, orders+"/orders/-1", 400, `{"error":"Bad Request"}`)
	want(t, orders+"/orders", 404, `{"error":"Not Found"}`)
	response, err := http.Post(orders+"/orders/17", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	if response.Body.Close(); response.StatusCode != 405 ||
		response.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("%d %v", response.StatusCode, response.Header)
	}
}

func TestOrdersFailWithoutStock(t *testing.T) {
	for name, stock := range map[string]http.HandlerFunc{
		"it fails": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"it ends":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"it rambles": func(w http.ResponseWriter,
			_ *http.Request) {
			w.Write(make([]byte, stockMost+1))
		},
		"it is lost":  http.NotFound,
		"it is tired": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			want(t, start(t, newOrders(start(t, stock)))+"/orders/1", 502,
				`{"error":"Bad Gateway"}`)
		})
	}
}

func TestOneServerOfReviewsFails(t *testing.T) {
	ending, end := context.WithCancel(context.Background())
	defer end()
	good, failing := start(t, newReviews(false, ending)), start(t, newReviews(true, ending))
	for _, how := range []string{"well", "breaks-off", "hangs"} {
		want(t, good+"/reviews/"+how+"/100", 200, `{"review":100}`)
		want(t, failing+"/reviews/"+how+"/99", 200, `{"review":99}`)
	}
	want(t, failing+"/reviews/well/100", 200, `{"review":100}`)
	want(t, failing+"/reviews/otherwise/100", 404, `{"error":"Not Found"}`)
	if status, said := get(t, failing+"/reviews/breaks-off/100"); status != 0 {
		t.Errorf("%d %s", status, said)
	}
	hung := make(chan int, 1)
	go func() {
		response, err := http.Get(failing + "/reviews/hangs/100")
		if err == nil {
			response.Body.Close()
			hung <- response.StatusCode
		} else {
			hung <- 0
		}
	}()
	select {
	case status := <-hung:
		t.Errorf("%d at once", status)
	case <-time.After(100 * time.Millisecond):
	}
	end()
	select {
	case status := <-hung:
		if status != 0 {
			t.Errorf("status %d", status)
		}
	case <-time.After(patience):
		t.Error("it hangs for good")
	}
}

func TestEachServiceHasAnAddress(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	first := netip.MustParseAddrPort(free.Addr().String())
	free.Close()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, first) }()
	at := func(host, path string) string {
		return "http://" + netip.AddrPortFrom(netip.MustParseAddr(host), first.Port()).String() +
			path
	}
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if status, _ := get(t, at("127.0.0.4", "/reviews/well/1")); status == 200 {
			break // the last of them
		}
		if time.Now().After(end) {
			t.Fatal("it does not listen")
		}
	}
	want(t, at("127.0.0.1", "/orders/5"), 200, `{"order":5,"stock":{"article":5}}`)
	framed := new(http.Protocols)
	framed.SetUnencryptedHTTP2(true)
	response, err := (&http.Client{Timeout: patience,
		Transport: &http.Transport{Protocols: framed,
			DisableKeepAlives: true}}).Get(at("127.0.0.1", "/orders/5"))
	if err != nil {
		t.Fatal(err)
	}
	if response.Body.Close(); response.StatusCode != 200 || response.ProtoMajor != 2 {
		t.Errorf("%s over %s", response.Status, response.Proto)
	}
	want(t, at("127.0.0.2", "/stock/5"), 200, `{"article":5}`)
	want(t, at("127.0.0.3", "/reviews/breaks-off/100"), 200, `{"review":100}`)
	if status, _ := get(t, at("127.0.0.4", "/reviews/breaks-off/100")); status != 0 {
		t.Errorf("status %d", status)
	}
	hung := make(chan struct{})
	go func() {
		defer close(hung)
		get(t, at("127.0.0.4", "/reviews/hangs/100"))
	}()
	time.Sleep(50 * time.Millisecond)
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(stopTimeout - time.Second):
		t.Fatal("what hangs keeps it from stopping")
	}
	<-hung
}

func TestTheCommandLine(t *testing.T) {
	if first, err := parse(nil, io.Discard); err != nil || first.String() != "127.0.0.1:8080" {
		t.Errorf("%v, %v", first, err)
	}
	for args, want := range map[string]string{"x": `unexpected argument "x"`,
		"-listen=0.0.0.0:80": "hint: ", "-listen=127.0.0.1:0": "hint: ", "-listen=[::1]:80": "hint: ", "-x": "-x"} {
		if _, err := parse([]string{args}, io.Discard); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}
