package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// The paths of the upstream, and its behaviour.
const (
	says          = "/1"
	fails         = "/2"
	hangsUp       = "/3"
	saysNothing   = "/4"
	waitsForCrowd = "/5"
	neverEnds     = "/6"
)

// crowd is the number of requests that must wait at the upstream at once before the first
// gets its response.
const crowd = 500

// startRelay starts a relay with such an upstream and returns its address.
func startRelay(t *testing.T) string {
	t.Helper()
	var present sync.WaitGroup
	present.Add(crowd)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case says:
			fmt.Fprint(w, "OK")
		case fails:
			w.WriteHeader(http.StatusInternalServerError)
		case hangsUp:
			panic(http.ErrAbortHandler)
		case saysNothing:
		case waitsForCrowd:
			present.Done()
			present.Wait()
			fmt.Fprint(w, "OK")
		case neverEnds:
			for written := 0; written <= 2*answerMost; written += 1 << 10 {
				fmt.Fprint(w, strings.Repeat(".", 1<<10))
			}
		}
	}))
	t.Cleanup(upstream.Close)
	address, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	relay := httptest.NewServer(newRelay(address, newClient(false)))
	t.Cleanup(relay.Close)
	return relay.URL
}

func send(t *testing.T, method, url string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Error(err)
		return &http.Response{Header: http.Header{}}, ""
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Error(err)
	}
	return answer, string(body)
}

func wantRight(t *testing.T, url string) {
	t.Helper()
	answer, body := send(t, "GET", url)
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != 200 ||
		kind != "text/plain;charset=UTF-8" || body != "Relay:OK" {
		t.Errorf("%s: %d, %s, %q", url, answer.StatusCode, kind, body)
	}
}

func wantError(t *testing.T, method, url string, status int) {
	t.Helper()
	answer, body := send(t, method, url)
	want := fmt.Sprintf(`{"error":"%s"}`, http.StatusText(status))
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != status ||
		kind != "application/json" || body != want {
		t.Errorf("%s %s: %d, %s, %q; want %d, %q", method, url, answer.StatusCode, kind, body,
			status, want)
	}
}

func TestTheUpstreamsResponseIsForwarded(t *testing.T) {
	wantRight(t, startRelay(t)+says)
}

func TestConcurrentRequestsHaveNoLimit(t *testing.T) {
	relay := startRelay(t)
	var all sync.WaitGroup
	for range crowd {
		all.Go(func() { wantRight(t, relay+waitsForCrowd) })
	}
	all.Wait()
}

func TestABadDelayIs400(t *testing.T) {
	relay := startRelay(t)
	for _, path := range []string{"/abc", "/-1", "/+1", "/1.5", "/0x1", "/%201", "/60001",
		"/99999999999"} {
		wantError(t, "GET", relay+path, http.StatusBadRequest)
	}
}

func TestOtherPathsAndMethodsAreRefused(t *testing.T) {
	relay := startRelay(t)
	wantError(t, "GET", relay+"/", http.StatusNotFound)
	wantError(t, "GET", relay+"/1/2", http.StatusNotFound)
	wantError(t, "POST", relay+"/1", http.StatusMethodNotAllowed)
}

func TestAFailingUpstreamIs502(t *testing.T) {
	relay := startRelay(t)
	for _, path := range []string{fails, hangsUp, saysNothing, neverEnds} {
		wantError(t, "GET", relay+path, http.StatusBadGateway)
	}
}

func TestAnUnreachableUpstreamIs502(t *testing.T) {
	// A port that was free once may be another's by now. Nothing listens at this one.
	unreachable := &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	relay := httptest.NewServer(newRelay(unreachable, newClient(false)))
	defer relay.Close()
	wantError(t, "GET", relay.URL+says, http.StatusBadGateway)
}

func TestInvalidSettingsAreErrors(t *testing.T) {
	for _, args := range [][]string{{}, {"-upstream", "nonsense"},
		{"-upstream", "http://127.0.0.1:1", "more"}} {
		if s, err := parse(args, io.Discard); err == nil {
			t.Errorf("%v: %+v", args, s)
		}
	}
}

func TestItStopsOnASignal(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	upstream := &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	go func() { ended <- run(ctx, settings{listen: "127.0.0.1:0", upstream: upstream}) }()
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("it goes on")
	}
}
