// Validation of requests and responses end to end, and the memory that it may take.

package proxy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"faceoff/gateway/guard"
	"faceoff/gateway/h2"
	"faceoff/gateway/openapi"
)

const shopDocument = `openapi: 3.1.0
paths:
  /:
    get:
      parameters: [{name: n, in: query, schema: {type: integer}}]
      responses: {200: {content: {application/json: {schema: {type: object, required: [name]}}}}}
    post:
      requestBody:
        required: true
        content:
          application/json: {schema: {type: object, required: [name]}}
          text/plain: {}
      responses: {200: {}}
`

// described validates the first route's requests, with bodies of 1,000 bytes at most.
func described(t *testing.T, answers bool) func(*given) {
	t.Helper()
	document, err := openapi.Parse([]byte(shopDocument))
	if err != nil {
		t.Fatal(err)
	}
	return func(g *given) {
		g.Workers = 1
		g.routes[0].Guard = &guard.Guard{Body: 1000}
		g.routes[0].OpenAPI = &openapi.Rules{Document: document, Answers: answers, Most: 1000, Values: 100}
	}
}

// wantProblem fails unless the response is a problem document with a status.
func wantProblem(t *testing.T, response *http.Response, status int) openapi.Problem {
	t.Helper()
	var p openapi.Problem
	text := body(t, response)
	if err := json.Unmarshal([]byte(text), &p); err != nil || response.StatusCode != status || p.Status != status || response.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s, %v: %s", response.Status, response.Header, text)
	}
	return p
}

func startCounted(t *testing.T, asked *atomic.Int64) string {
	t.Helper()
	return startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		io.Copy(w, r.Body)
	})
}

func TestRequestsAreValidated(t *testing.T) {
	var asked atomic.Int64
	g := start(t, startCounted(t, &asked), described(t, false))
	const fits, long = `{"name":"Tom"}`, 1001
	for _, c := range []struct {
		name, text string
		status     int
	}{
		{"a query", "GET /product/?n=5 HTTP/1.1\nHost: a\n\n", 200},
		{"a query that is wrong", "GET /product/?n=five HTTP/1.1\nHost: a\n\n", 400},
		{"another path", "GET /product/other HTTP/1.1\nHost: a\n\n", 404},
		{"another method", "DELETE /product/ HTTP/1.1\nHost: a\n\n", 405},
		{"a body", "POST /product/ HTTP/1.1\nHost: a\nContent-Type: application/json\nContent-Length: 14\n\n" + fits, 200},
		{"one in chunks", "POST /product/ HTTP/1.1\nHost: a\nContent-Type: application/json\nTransfer-Encoding: chunked\n\n4\n" + fits[:4] + "\na;x=y\n" + fits[4:] + "\n0\n\n", 200},
		{"one that does not fit", "POST /product/ HTTP/1.1\nHost: a\nContent-Type: application/json\nContent-Length: 2\n\n{}", 400},
		{"one of too many values", "POST /product/ HTTP/1.1\nHost: a\nContent-Type: application/json\nContent-Length: 317\n\n{\"name\": [" + strings.Repeat("[],", 101) + "[]]}", 400},
		{"no body", "POST /product/ HTTP/1.1\nHost: a\n\n", 400},
		{"another kind", "POST /product/ HTTP/1.1\nHost: a\nContent-Type: image/png\nContent-Length: 2\n\n{}", 415},
		{"a kind that is not read", "POST /product/ HTTP/1.1\nHost: a\nContent-Type: text/plain\nContent-Length: 2\n\n{}", 200},
	} {
		client := connectTo(t, g.address)
		client.say(c.text)
		response := client.answer("POST")
		switch {
		case c.status != 200:
			p := wantProblem(t, response, c.status)
			if c.name == "one of too many values" && !strings.Contains(p.Errors[0].Detail, "more than 100 values") {
				t.Errorf("%s: %+v", c.name, p)
			}
			if c.name == "one that does not fit" && (len(p.Errors) != 1 || p.Errors[0].In != "body") {
				t.Errorf("%s: %+v", c.name, p)
			}
			if got := response.Header.Get("Allow"); (got == "GET, POST, HEAD") != (c.status == 405) {
				t.Errorf("%s: Allow is %q", c.name, got)
			}
		case strings.Contains(c.text, fits[:4]) && body(t, response) != fits:
			t.Errorf("%s: the body is another", c.name)
		case response.StatusCode != 200:
			t.Errorf("%s: %s", c.name, response.Status)
		}
	}
	for _, head := range []string{fmt.Sprintf("Content-Length: %d\n\n", long), fmt.Sprintf("Transfer-Encoding: chunked\n\n%x\n", long), "Transfer-Encoding: chunked\n\n" + strings.Repeat("1\n[\n", 4000)} {
		client := connectTo(t, g.address)
		client.say("POST /product/ HTTP/1.1\nHost: a\nContent-Type: application/json\n" + head + strings.Repeat(" ", long))
		wantError(t, client.answer("POST"), 413)
	}
	if n := asked.Load(); n != 4 {
		t.Errorf("the upstream received %d requests", n)
	}
	g.counted(t, `gateway_invalid_total{side="request"}`, 7)
}

func TestBufferedBodyTakesNoSlot(t *testing.T) {
	var asked atomic.Int64
	g := start(t, startCounted(t, &asked), described(t, false))
	c := connectTo(t, g.address)
	for _, last := range []string{"}", "]", "}"} { // on one connection
		c.say("POST /product/ HTTP/1.1\nHost: a\nContent-Type: application/json; charset=utf-8\nExpect: 100-continue\nContent-Length: 12\n\n")
		if response := c.answer("POST"); response.StatusCode != 100 {
			t.Fatalf("%s", response.Status)
		}
		before := asked.Load()
		c.say(`{"name":"a"`)
		g.counted(t, "gateway_upstream_requests", 0)
		if asked.Load() != before {
			t.Error("the upstream was asked before all was there")
		}
		c.say(last + "GET /v1/ HTTP/1.1\nHost: a\n\n") // with the next request after it
		response := c.answer("POST")
		if last == "}" {
			if got := body(t, response); response.StatusCode != 200 || got != `{"name":"a"}` {
				t.Errorf("%s: %q", response.Status, got)
			}
		} else {
			wantProblem(t, response, 400)
		}
		if response := c.answer("GET"); response.StatusCode != 200 || body(t, response) != "" {
			t.Errorf("the next request: %s", response.Status)
		}
	}
	half := connectTo(t, g.address)
	half.say("POST /product/ HTTP/1.1\nHost: a\nContent-Type: application/json\nContent-Length: 12\n\n{")
	g.counted(t, "gateway_requests_total", 7)
	half.Close()
	g.counted(t, "gateway_abandoned_total", 1)
}

func TestSlowBufferedBodyIsCut(t *testing.T) {
	var asked atomic.Int64
	change := described(t, false)
	g := start(t, startCounted(t, &asked), func(g *given) {
		change(g)
		g.Stall, g.Pace = 100*time.Millisecond, 1<<20
	})
	c := connectTo(t, g.address)
	c.say("POST /product/ HTTP/1.1\nHost: a\nContent-Type: application/json\nContent-Length: 12\n\n{")
	wantError(t, c.answer("POST"), 408)
	c.wantEnd()
}

func TestAnnouncedBodyReservesNoMemory(t *testing.T) {
	var asked atomic.Int64
	change := described(t, false)
	g := start(t, startCounted(t, &asked), func(g *given) {
		change(g)
		g.routes[0].Guard.Body, g.routes[0].OpenAPI.Most = maxBufferedBodies, maxBufferedBodies
	})
	for range 3 {
		slow := connectTo(t, g.address)
		slow.say(fmt.Sprintf("POST /product/ HTTP/1.1\nHost: a\nContent-Type: application/json\nExpect: 100-continue\nContent-Length: %d\n\n", maxBufferedBodies))
		if response := slow.answer("POST"); response.StatusCode != 100 {
			t.Fatalf("%s", response.Status)
		}
	}
	c := connectTo(t, g.address)
	c.say("POST /product/ HTTP/1.1\nHost: a\nContent-Type: application/json\nContent-Length: 14\n\n{\"name\":\"Tom\"}")
	if response := c.answer("POST"); response.StatusCode != 200 || body(t, response) != `{"name":"Tom"}` {
		t.Errorf("%s", response.Status)
	}
}

func TestBodiesAreBufferedOverHTTP2(t *testing.T) {
	var asked atomic.Int64
	g := start(t, startCounted(t, &asked), described(t, false))
	f := connectFramed(t, g.address)
	head := []string{":method", "POST", ":scheme", "http", ":authority", "a", ":path", "/product/", "content-type", "application/json"}
	f.ask(1, false, append(head, "expect", "100-continue")...)
	if got := f.status(1); got != "100" {
		t.Fatalf("%s", got)
	}
	f.raw(frame(h2.Data, 0, 1, []byte(`{"name":`)))
	f.raw(frame(h2.Data, h2.EndStream, 1, []byte(`"Tom"}`)))
	if status, content := f.status(1), f.content(1); status != "200" || content != `{"name":"Tom"}` {
		t.Errorf("%s: %q", status, content)
	}
	f.ask(3, false, head...)
	f.raw(frame(h2.Data, h2.EndStream, 3, []byte(`{}`)))
	status, content := f.status(3), f.content(3)
	var p openapi.Problem
	if err := json.Unmarshal([]byte(content), &p); err != nil || status != "400" || len(p.Errors) != 1 {
		t.Errorf("%s: %q", status, content)
	}
	f.ask(5, true, ":method", "DELETE", ":scheme", "http", ":authority", "a", ":path", "/product/")
	if status, content := f.status(5), f.content(5); status != "405" || !strings.Contains(content, "Method Not Allowed") {
		t.Errorf("%s: %q", status, content)
	}
}

func TestResponsesAreValidated(t *testing.T) {
	long, many := strings.Repeat("x", 1000), strings.Repeat("0,", 100)+"0"
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Query().Get("n") {
		case "1":
			io.WriteString(w, `{"name":"Tom"}`)
		case "2":
			io.WriteString(w, `{"nam`)
			w.(http.Flusher).Flush()
			io.WriteString(w, `e":"Eve"}`)
		case "3":
			io.WriteString(w, `{"nam`)
			w.(http.Flusher).Flush()
			io.WriteString(w, `es":"Eve"}`)
		case "4":
			io.WriteString(w, `{"names":"`+long+`"}`)
		case "7":
			io.WriteString(w, `{"names":[`+many+`]}`)
		case "5":
			w.WriteHeader(404)
		case "6":
			w.WriteHeader(503)
		}
	})
	g := start(t, upstream, described(t, true))
	c := connectTo(t, g.address)
	// The last two are too large to be validated.
	for n, want := range map[int]string{1: `{"name":"Tom"}`, 2: `{"name":"Eve"}`, 4: `{"names":"` + long + `"}`, 7: `{"names":[` + many + `]}`} {
		if response := c.get(fmt.Sprintf("/product/?n=%d", n)); response.StatusCode != 200 || body(t, response) != want {
			t.Errorf("%d: %s", n, response.Status)
		}
	}
	for _, n := range []int{3, 5} {
		if p := wantProblem(t, c.get(fmt.Sprintf("/product/?n=%d", n)), 502); len(p.Errors) != 0 {
			t.Errorf("%d: %+v", n, p)
		}
	}
	if response := c.get("/product/?n=6"); response.StatusCode != 503 {
		t.Errorf("%s", response.Status)
	}
	c.say("HEAD /product/?n=1 HTTP/1.1\nHost: a\n\n")
	if response := c.answer("HEAD"); response.StatusCode != 200 {
		t.Errorf("%s", response.Status)
	}
	f := connectFramed(t, g.address)
	for i, want := range []string{"200", "502"} {
		stream := uint32(2*i + 1)
		f.ask(stream, true, ":method", "GET", ":scheme", "http", ":authority", "a", ":path", fmt.Sprintf("/product/?n=%d", stream))
		if got := f.status(stream); got != want {
			t.Errorf("%d: %s", stream, got)
		}
		f.content(stream)
	}
	g.counted(t, `gateway_invalid_total{side="answer"}`, 3)
	g.counted(t, "gateway_unchecked_answers_total", 2)
	if got := g.log.String(); !strings.Contains(got, "missing property") {
		t.Errorf("%s", got)
	}
}

func TestBufferedBodyTimesOut(t *testing.T) {
	t.Parallel() // it mostly waits
	var asked atomic.Int64
	change := described(t, false)
	g := start(t, startCounted(t, &asked), func(g *given) {
		change(g)
		// So that a client that sends a byte now and then is fast enough.
		g.BodyTimeout, g.Pace = 300*time.Millisecond, 1
	})
	c := connectTo(t, g.address)
	c.say("POST /product/ HTTP/1.1\nHost: a\nContent-Type: application/json\nContent-Length: 1000\n\n")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range 1000 {
			if _, err := io.WriteString(c, " "); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	wantError(t, c.answer("POST"), 408)
	c.wantEnd()
	c.Close()
	receive(t, ended, "the end of the sender")

	f := connectFramed(t, g.address)
	head := []string{":method", "POST", ":scheme", "http", ":authority", "a", ":path", "/product/", "content-type", "application/json"}
	f.ask(1, false, head...)
	f.raw(frame(h2.Data, 0, 1, []byte(`{`)))
	if got := f.status(1); got != "408" {
		t.Errorf("%s", got)
	}
	f.content(1)
	f.wantReset(1, h2.NoError)
	f.ask(3, false, head...)
	f.raw(frame(h2.Data, h2.EndStream, 3, []byte(`{"name":"Tom"}`)))
	if got := f.status(3); got != "200" {
		t.Errorf("after one that was too slow: %s", got)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the upstream received %d requests", n)
	}
}
