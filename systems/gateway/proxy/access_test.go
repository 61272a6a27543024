package proxy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"faceoff/systems/gateway/route"
)

func TestEachRequestHasItsLine(t *testing.T) {
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
	var lines []line
	for end := time.Now().Add(patience); len(lines) < 4 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		lines = nil
		for decoder := json.NewDecoder(strings.NewReader(written.String())); ; {
			var l line
			if err := decoder.Decode(&l); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%v in %s", err, written.String())
			}
			if l.Client != "127.0.0.1" || time.Since(l.Time) > patience || l.Us < 0 || l.Bytes < 50 {
				t.Errorf("%+v", l)
			}
			l.Time, l.Us, l.Bytes = time.Time{}, 0, 0
			lines = append(lines, l)
		}
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

// stuck is a writer that takes nothing until it is told to.
type stuck chan struct{}

func (s stuck) Write(text []byte) (int, error) {
	<-s
	return len(text), nil
}

func TestAWriterThatIsStuckHoldsNobodyUp(t *testing.T) {
	t.Parallel() // it mostly waits
	release := make(stuck)
	access := NewAccess(release)
	w := &worker{server: &Server{settings: Settings{Access: access}}, wheel: newWheel(), started: time.Now()}
	c := &client{}
	c.w = w
	const all = blocksLet*blockSize/80 + 10000
	for range all {
		c.account = account{on: true, status: 200}
		c.closeAccount()
	}
	w.handOn()
	dropped := access.dropped.Load()
	if dropped == 0 || dropped > all {
		t.Errorf("%d lines of %d dropped", dropped, all)
	}
	access.Close() // nor its end
	close(release)
	<-access.ended
}
