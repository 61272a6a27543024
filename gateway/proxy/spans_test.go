// Spans end to end with a collector, and their loss.

package proxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"faceoff/gateway/headers"
	"faceoff/gateway/spans"
)

// receivedSpan is a span as a collector reads it.
type receivedSpan struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
	StartTimeUnixNano, EndTimeUnixNano  string
	Attributes                          []struct {
		Key   string
		Value struct{ StringValue, IntValue string }
	}
	Status struct {
		Code    int
		Message string
	}
}

// collected are the spans that a collector has received.
type collected struct {
	mu  sync.Mutex
	got []receivedSpan
}

// startCollector returns the address that spans are sent to.
func (s *collected) startCollector(t *testing.T) string {
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var batch struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []receivedSpan }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&batch); err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, resource := range batch.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				s.got = append(s.got, scope.Spans...)
			}
		}
	}))
	t.Cleanup(collector.Close)
	to, err := spans.Address(collector.URL)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// wait returns the spans as soon as there are n of them.
func (s *collected) wait(n int) []receivedSpan {
	count := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.got)
	}
	for end := time.Now().Add(patience); count() < n && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

func TestSampledTracesHaveASpan(t *testing.T) {
	t.Parallel() // it mostly waits
	var received collected
	to := received.startCollector(t)
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "broken") {
			w.WriteHeader(http.StatusInternalServerError)
		}
		fmt.Fprint(w, r.Header.Get("Traceparent"))
	})
	sent := NewSpans(spans.New(to, "shop", func(line string) { t.Error(line) }).Send)
	g := start(t, upstream, func(g *given) {
		g.Spans = sent
		g.Trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		g.routes[0].Edits = &headers.Rules{Trace: true}
	})
	const parent = "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"
	c := connectTo(t, g.address)
	var parents []string // as the upstream received them
	ask := func(request string) {
		c.say(request)
		method, _, _ := strings.Cut(request, " ")
		parents = append(parents, body(t, c.answer(method)))
	}
	ask("GET /product/a\"b?secret=1 HTTP/1.1\nHost: a\n" + parent + "01\n\n")
	ask("POST /product/broken HTTP/1.1\nHost: [::1]:8080\nContent-Length: 0\n" + parent + "03\n\n")
	ask("BREW /product/ HTTP/1.1\nHost: a\n" + parent + "01\n\n")
	ask("GET /product/ HTTP/1.1\nHost: a\n" + parent + "00\n\n") // not sampled
	ask("GET /product/ HTTP/1.1\nHost: a\n\n")                   // nor is this new trace
	ask("GET /v1/ HTTP/1.1\nHost: a\n" + parent + "01\n\n")      // a route without tracing
	f := connectFramed(t, g.address)
	f.ask(1, true, "traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	f.status(1)
	var lines []string
	for _, s := range received.wait(4) {
		var began, ended int64
		began, _ = strconv.ParseInt(s.StartTimeUnixNano, 10, 64)
		ended, _ = strconv.ParseInt(s.EndTimeUnixNano, 10, 64)
		if s.Kind != 2 || s.TraceID != "0af7651916cd43dd8448eb211c80319c" || s.ParentSpanID != "b7ad6b7169203331" || time.Since(time.Unix(0, began)) > patience || ended < began ||
			time.Unix(0, ended).After(time.Now()) || !regexp.MustCompile("^[0-9a-f]{16}$").MatchString(s.SpanID) {
			t.Errorf("%+v", s)
		}
		if i := slices.IndexFunc(parents, func(p string) bool { return strings.Contains(p, s.SpanID) }); i < 0 && !strings.Contains(fmt.Sprint(s.Attributes), "{2 }") {
			t.Errorf("the upstream never heard of %s", s.SpanID)
		}
		line := s.Name
		for _, a := range s.Attributes {
			if a.Key != "client.address" && a.Key != "url.scheme" {
				line += " " + a.Key + "=" + a.Value.StringValue + a.Value.IntValue
			}
		}
		lines = append(lines, fmt.Sprintf("%s %d", line, s.Status.Code))
	}
	slices.Sort(lines)
	want := []string{
		"GET /product http.request.method=GET http.route=/product url.path=/product/ server.address=a network.protocol.version=2 http.response.status_code=200 gateway.upstream=products 0",
		`GET /product http.request.method=GET http.route=/product url.path=/product/a"b server.address=a network.protocol.version=1.1 http.response.status_code=200 gateway.upstream=products 0`,
		"HTTP /product http.request.method=_OTHER http.request.method_original=BREW http.route=/product url.path=/product/ server.address=a network.protocol.version=1.1 http.response.status_code=200 gateway.upstream=products 0",
		"POST /product http.request.method=POST http.route=/product url.path=/product/broken server.address=::1 server.port=8080 network.protocol.version=1.1 http.response.status_code=500 gateway.upstream=products error.type=500 2",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	g.counted(t, "gateway_spans_dropped_total", 0)
}

func TestSpansAreBatchedAndLossIsCounted(t *testing.T) {
	t.Parallel() // it mostly waits
	begun, release := make(chan int), make(chan struct{})
	sent := NewSpans(func(text []byte, n int) int {
		begun <- n
		<-release
		return n - 1
	})
	w := &worker{server: &Server{settings: Settings{Spans: sent}}, wheel: newWheel(), started: time.Now()}
	for range 3 {
		c := &client{}
		c.w, c.record = w, requestRecord{status: 200, span: []byte(`{"attributes":[{},`)}
		c.finishRecord()
		w.flushLogs()
	}
	if n := <-begun; n != 3 {
		t.Errorf("%d at once", n)
	}
	c := &client{}
	c.w = w
	const all = maxBlocks*blockSize/100 + 10000
	for range all {
		c.record.span, c.record.status = append(c.record.span[:0], `{"attributes":[{},`...), 200
		c.finishRecord()
	}
	w.flushLogs()
	dropped := sent.dropped.Load()
	if dropped == 0 || dropped > all {
		t.Errorf("%d of %d dropped while nothing is taken", dropped, all)
	}
	sent.Close() // nor does the end block
	go func() {
		for range begun {
		}
	}()
	close(release)
	<-sent.ended
	if lost := sent.dropped.Load() - dropped; lost < 3 {
		t.Errorf("%d counted of those that were lost on the way", lost)
	}
}
