package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// These tests cover what the workloads strings-contract and strings-refused cannot: the workloads
// check everything that one request and its response show.

func start(t *testing.T, log *requestLog) *httptest.Server {
	t.Helper()
	registry := prometheus.NewRegistry()
	server := httptest.NewServer(newHandler(newService(registry, log), registry))
	t.Cleanup(server.Close)
	return server
}

func postCount(t *testing.T, server *httptest.Server, body io.Reader) (int, string) {
	t.Helper()
	answer, err := http.Post(server.URL+"/count", "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, readAll(t, answer)
}

func readAll(t *testing.T, answer *http.Response) string {
	t.Helper()
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func counted(t *testing.T, server *httptest.Server) int {
	t.Helper()
	answer, err := http.Get(server.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(
		`(?m)^string_service_request_count\{error="false",method="count"\} (\d+)$`).
		FindStringSubmatch(readAll(t, answer))
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[1])
	return n
}

func TestTheMetricsCountRequests(t *testing.T) {
	server := start(t, nil)
	for range 5 {
		if status, body := postCount(t, server,
			strings.NewReader(`{"s":"hello"}`)); status != 200 || body != `{"v":5}` {
			t.Fatal(status, body)
		}
	}
	if n := counted(t, server); n != 5 {
		t.Errorf("%d requests counted", n)
	}
}

func TestAChunkedBodyHasTheSameSizeLimit(t *testing.T) {
	server := start(t, nil)
	fits := `{"s":"` + strings.Repeat("a", maxBody-8) + `"}`
	// A reader of an unknown type is sent in chunks.
	if status, body := postCount(t, server,
		io.MultiReader(strings.NewReader(fits))); status != 200 || body != `{"v":65528}` {
		t.Error(status, body)
	}
	if status, body := postCount(t, server,
		io.MultiReader(strings.NewReader(fits+" "))); status != 413 ||
		body != `{"error":"too large"}` {
		t.Error(status, body)
	}
}

func TestABodyThatIsNotUTF8IsRefused(t *testing.T) {
	if status, body := postCount(t, start(t, nil),
		strings.NewReader("{\"s\":\"\xe9\"}")); status != 400 {
		t.Error(status, body)
	}
}

func TestALineForEachCall(t *testing.T) {
	for _, kind := range []string{"sync", "async"} {
		var lines bytes.Buffer
		log, err := newRequestLog(kind, &lines)
		if err != nil {
			t.Fatal(err)
		}
		server := start(t, log)
		postCount(t, server, strings.NewReader(`{"s":"a"}`))
		postCount(t, server, strings.NewReader("{\"s\":\"\xe9\"}"))
		server.Close()
		log.flush()
		wanted := regexp.MustCompile(
			`^ts=\S+ method=count bytes=1 n=1 err=null took=\S+\nts=\S+ method=count bytes=3 n=0 err="bad request" took=\S+\n$`)
		if !wanted.Match(lines.Bytes()) {
			t.Errorf("%s: %q", kind, lines.String())
		}
	}
	if log, err := newRequestLog("none", io.Discard); log != nil || err != nil {
		t.Error(log, err)
	}
	if _, err := newRequestLog("loud", io.Discard); err == nil {
		t.Error("no such log")
	}
}

func TestTheAsyncWriterLosesNoLine(t *testing.T) {
	const writers, each = 8, 5000 // more than can wait at once
	var lines bytes.Buffer
	later := newLaterWriter(&lines)
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for range each {
				later.Write([]byte("line\n"))
			}
		})
	}
	group.Wait()
	later.close()
	if n := strings.Count(lines.String(), "line\n"); n != writers*each {
		t.Errorf("%d lines of %d", n, writers*each)
	}
	later.Write([]byte("too late\n")) // does not block
}
