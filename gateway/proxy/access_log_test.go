// Access log lines, and a log that cannot be written in time.

package proxy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"faceoff/gateway/route"
)

func TestEachRequestHasALogLine(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") })
	var written syncBuffer
	access := NewAccess(&written)
	g := start(t, upstream, func(g *given) {
		g.Access = access
		g.routes = append(g.routes, &route.Route{Path: "/quiet", Quiet: true})
	})
	c := connectTo(t, g.address)
	body(t, c.get(`/product/x?a="b\"`))
	body(t, c.get("/quiet"))
	body(t, c.get("/nowhere"))
	c.say("POST /product/ HTTP/1.1\nHost: a\nContent-Length: 3\n\nabc")
	body(t, c.answer("POST"))
	c.say("GET / HTTP/1.1\nHost : a\n\n")
	body(t, c.answer("GET"))
	type line struct {
		Time                                        time.Time
		Client, Method, Host, Path, Upstream, Error string
		Status                                      int
		Bytes, Us                                   int64
	}
	lines := logged[line](t, &written, 4)
	for i := range lines {
		l := &lines[i]
		if l.Client != "127.0.0.1" || time.Since(l.Time) > patience || l.Us < 0 || l.Bytes < 50 {
			t.Errorf("%+v", *l)
		}
		l.Time, l.Us, l.Bytes = time.Time{}, 0, 0
	}
	want := []line{
		{Client: "127.0.0.1", Method: "GET", Host: "shop.example", Path: `/product/x?a="b\"`, Upstream: "products", Status: 200},
		{Client: "127.0.0.1", Method: "GET", Host: "shop.example", Path: "/nowhere", Status: 404, Error: "not found"},
		{Client: "127.0.0.1", Method: "POST", Host: "a", Path: "/product/", Upstream: "products", Status: 200},
		{Client: "127.0.0.1", Status: 400, Error: "white space before the colon of a field"},
	}
	if fmt.Sprint(lines) != fmt.Sprint(want) {
		t.Errorf("got\n%+v\nwant\n%+v", lines, want)
	}
}

// logged reads the lines of an access log, once there are at least n.
func logged[T any](t *testing.T, written *syncBuffer, n int) []T {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		text := written.String()
		var lines []T
		for decoder := json.NewDecoder(strings.NewReader(text)); ; {
			var line T
			if err := decoder.Decode(&line); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%v in %s", err, text)
			}
			lines = append(lines, line)
		}
		if len(lines) >= n {
			return lines
		}
		if time.Now().After(end) {
			t.Fatalf("%d lines of %d in %s", len(lines), n, text)
		}
	}
}

// stuck is a writer that blocks until it is released.
type stuck chan struct{}

func (s stuck) Write(text []byte) (int, error) {
	<-s
	return len(text), nil
}

func TestBlockedWriterDelaysNoRequest(t *testing.T) {
	t.Parallel() // it mostly waits
	release := make(stuck)
	access := NewAccess(release)
	w := &worker{server: &Server{settings: Settings{Access: access}}, wheel: newWheel(), started: time.Now()}
	c := &client{}
	c.w = w
	const all = maxBlocks*blockSize/80 + 10000
	for range all {
		c.record = requestRecord{on: true, status: 200}
		c.finishRecord()
	}
	w.flushLogs()
	dropped := access.dropped.Load()
	if dropped == 0 || dropped > all {
		t.Errorf("%d lines of %d dropped", dropped, all)
	}
	access.Close() // nor does the end block
	close(release)
	<-access.ended
}
