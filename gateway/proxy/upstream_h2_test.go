// HTTP/2 to upstreams: a server that sends single frames, refused requests, GOAWAY, and fuzzing.

package proxy

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2/hpack"

	"faceoff/gateway/h2"
	"faceoff/gateway/route"
)

// startFramedUpstream serves HTTP/2, over TLS if secure, and returns its address and TLS settings.
func startFramedUpstream(t *testing.T, secure bool, handler http.HandlerFunc) (address string, settings *UpstreamTLS) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if secure {
		server.EnableHTTP2 = true
		server.StartTLS()
		settings = &UpstreamTLS{Name: "example.com", Roots: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}
	} else {
		server.Config.Protocols = new(http.Protocols)
		server.Config.Protocols.SetHTTP1(true)
		server.Config.Protocols.SetUnencryptedHTTP2(true)
		server.Start()
	}
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.Listener.Addr().String(), settings
}

// inHTTP2 makes one worker use HTTP/2 to the upstream.
func inHTTP2(g *given) {
	g.Workers, g.upstreams[0].HTTP2 = 1, true
}

// served is the server's end of an HTTP/2 connection, frame by frame.
type served struct {
	net.Conn
	r       *bufio.Reader
	block   bytes.Buffer
	encoder *hpack.Encoder
	decoder *hpack.Decoder
}

// startServed runs talk for each connection after its preface, and then closes it; nth counts the
// connections from 1.
func startServed(t testing.TB, talk func(s *served, nth int32)) string {
	var count atomic.Int32
	return startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		preface := make([]byte, len(h2.Preface))
		if _, err := io.ReadFull(r, preface); err != nil || string(preface) != h2.Preface {
			return
		}
		s := &served{Conn: conn, r: r, decoder: hpack.NewDecoder(h2.TableSize, nil)}
		s.encoder = hpack.NewEncoder(&s.block)
		talk(s, count.Add(1))
	})
}

func readFrame(r io.Reader) (h2.Frame, error) {
	head := make([]byte, h2.FrameHead)
	if _, err := io.ReadFull(r, head); err != nil {
		return h2.Frame{}, err
	}
	text := append(head, make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))...)
	if _, err := io.ReadFull(r, text[h2.FrameHead:]); err != nil {
		return h2.Frame{}, err
	}
	got, _, err := h2.ParseFrame(text)
	return got, err
}

// next skips to a frame of a type. Its stream is 0 if the connection is closed.
func (s *served) next(kind h2.Type) h2.Frame {
	for {
		got, err := readFrame(s.r)
		if err != nil {
			return h2.Frame{}
		}
		if got.Type == kind {
			return got
		}
	}
}

// asked skips to the head of a request, and returns its stream and its path.
func (s *served) asked() (stream uint32, path string) {
	got := s.next(h2.Headers)
	fields, _ := s.decoder.DecodeFull(got.Payload) // nothing if the connection is closed
	for _, f := range fields {
		if f.Name == ":path" {
			path = f.Value
		}
	}
	return got.Stream, path
}

// fields encodes fields, given as names and values.
func (s *served) fields(fields ...string) []byte {
	s.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		// A buffer never fails.
		s.encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return bytes.Clone(s.block.Bytes())
}

// answer sends a response with status 200 and a body.
func (s *served) answer(stream uint32, body string) {
	s.Write(append(frame(h2.Headers, h2.EndHeaders, stream, s.fields(":status", "200")), frame(h2.Data, h2.EndStream, stream, []byte(body))...))
}

// echoInHTTP2 returns a body with some fields of the request, and counts health checks.
func echoInHTTP2(healthChecks *atomic.Int32) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		switch {
		case err != nil || r.ProtoMajor != 2:
			w.WriteHeader(500)
			return
		case r.URL.Path == "/well":
			healthChecks.Add(1)
			return
		}
		w.Header().Set("Link", "x")
		w.WriteHeader(103)
		w.Header().Set("Trailer", "X-Sum")
		// No value may end in a space.
		w.Header().Set("X-Saw", r.Host+"|"+r.Header.Get("X-Forwarded-Host")+"|"+r.Header.Get("Cookie"))
		w.WriteHeader(200)
		w.Write(b)
		w.Header().Set("X-Sum", fmt.Sprintf("%d-%s", len(b), r.Trailer.Get("X-Given")))
	}
}

// postBodies sends ten bodies, with and without a length, and checks the responses.
func postBodies(t *testing.T, client *http.Client, upstream, gateway string, n int) {
	for i := range 10 {
		content := strings.Repeat("x", n*i*i*300)
		request, err := http.NewRequest("POST", "http://"+gateway+"/product/", struct{ io.Reader }{strings.NewReader(content)})
		if err != nil {
			t.Error(err)
			return
		}
		if i%2 == 0 {
			request.ContentLength = int64(len(content))
		} else {
			request.ContentLength = -1
			request.Trailer = http.Header{"X-Given": {"given"}}
		}
		request.Header["Cookie"] = []string{"a=1; b=2"}
		response, err := client.Do(request)
		if err != nil {
			t.Error(err)
			return
		}
		b, err := io.ReadAll(response.Body)
		if err != nil || string(b) != content || response.StatusCode != 200 {
			t.Errorf("%d bytes of %d, %v, %s", len(b), len(content), err, response.Status)
		}
		if got, want := response.Header.Get("X-Saw"), upstream+"|"+gateway+"|a=1; b=2"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got, want := response.Trailer.Get("X-Sum"), fmt.Sprintf("%d-%s", len(content), request.Trailer.Get("X-Given")); got != want {
			t.Errorf("trailers %q, want %q", got, want)
		}
	}
}

func TestUpstreamsInHTTP2(t *testing.T) {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	for _, secure := range []bool{false, true} {
		var healthChecks atomic.Int32
		address, settings := startFramedUpstream(t, secure, echoInHTTP2(&healthChecks))
		g := start(t, address, func(g *given) {
			inHTTP2(g)
			g.upstreams[0].TLS = settings
			g.upstreams[0].Health = &Health{Path: "/well", Every: 5 * time.Millisecond, Within: patience, Up: 1, Down: 1}
		})
		for _, client := range []*http.Client{{Transport: &http.Transport{}}, {Transport: &http.Transport{Protocols: protocols}}} {
			var all sync.WaitGroup
			for n := range 8 {
				all.Go(func() { postBodies(t, client, address, g.address, n) })
			}
			all.Wait()
			response, err := client.Head("http://" + g.address + "/product/")
			if err != nil || response.StatusCode != 200 || body(t, response) != "" {
				t.Errorf("%v, %v", response, err)
			}
			client.CloseIdleConnections()
		}
		g.counted(t, "gateway_upstream_connections_total", 1)
		g.counted(t, "gateway_upstream_requests", 0)
		if healthChecks.Load() == 0 || g.Table().Upstreams[0].servers[0].down.Load() {
			t.Error("the server received no health check, or failed it")
		}
	}
}

func TestServersWithoutHTTP2(t *testing.T) {
	secure, roots := startSecureUpstream(t, tls.VersionTLS13, func(http.ResponseWriter, *http.Request) {})
	plain := startUpstream(t, func(http.ResponseWriter, *http.Request) {})
	for address, settings := range map[string]*UpstreamTLS{plain: nil, secure: {Name: "example.com", Roots: roots}} {
		g := start(t, address, func(g *given) {
			inHTTP2(g)
			g.upstreams[0].TLS = settings
		})
		c := connectTo(t, g.address)
		for range 2 {
			wantError(t, c.get("/product/"), http.StatusBadGateway)
		}
		g.counted(t, "gateway_upstream_requests", 0)
		if n := g.Table().Upstreams[0].limiter.connections.Load(); n != 0 {
			t.Errorf("%d connections are still open", n)
		}
	}
}

func TestRefusedHTTP2RequestsAreRetried(t *testing.T) { // RFC 9113, 8.7
	address := startServed(t, func(s *served, nth int32) {
		s.Write(h2.AppendSettings(nil))
		for n := 0; ; n++ {
			stream, path := s.asked()
			switch {
			case stream == 0:
				return
			case nth == 1 && n == 0, nth == 2 && n == 1:
				s.Write(h2.AppendReset(nil, stream, h2.RefusedStream))
			case nth == 1 && n == 2:
				s.Write(h2.AppendGoAway(nil, stream-2, h2.NoError))
			default:
				s.answer(stream, path)
			}
		}
	})
	g := start(t, address, inHTTP2)
	c := connectTo(t, g.address)
	// The first is refused on its stream, the second by GOAWAY.
	for _, path := range []string{"/a", "/b"} {
		c.say("POST /product" + path + " HTTP/1.1\nHost: a\nContent-Length: 2\n\nhi")
		if response := c.answer("POST"); response.StatusCode != 200 || body(t, response) != path {
			t.Errorf("%s: status %d", path, response.StatusCode)
		}
	}
	g.counted(t, "gateway_upstream_connections_total", 2)
	g.counted(t, "gateway_repeated_total", 2)
	// A body that was sent in part cannot be retried.
	c.say("POST /product/c HTTP/1.1\nHost: a\nContent-Length: 4\n\nhi")
	wantError(t, c.answer("POST"), http.StatusBadGateway)
	g.counted(t, "gateway_repeated_total", 2)
	g.counted(t, "gateway_upstream_requests", 0)
}

func TestServerFinishesResponsesAfterGoAway(t *testing.T) {
	address := startServed(t, func(s *served, nth int32) {
		s.Write(h2.AppendSettings(nil))
		for {
			stream, _ := s.asked()
			if stream == 0 {
				return
			}
			s.Write(h2.AppendGoAway(nil, stream, h2.NoError))
			s.answer(stream, fmt.Sprint(nth))
		}
	})
	g := start(t, address, inHTTP2)
	c := connectTo(t, g.address)
	for _, want := range []string{"1", "2", "3"} {
		if got := body(t, c.get("/product/")); got != want {
			t.Errorf("connection %q, want %q", got, want)
		}
	}
	g.counted(t, "gateway_repeated_total", 0)
}

func TestInvalidHTTP2ResponsesGive502(t *testing.T) {
	head := func(s *served, flags uint8, stream uint32, fields ...string) []byte {
		return frame(h2.Headers, h2.EndHeaders|flags, stream, s.fields(fields...))
	}
	for name, say := range map[string]func(s *served, stream uint32) []byte{
		"a reset":       func(_ *served, stream uint32) []byte { return h2.AppendReset(nil, stream, h2.InternalError) },
		"no status":     func(s *served, stream uint32) []byte { return head(s, h2.EndStream, stream, "x", "y") },
		"an upgrade":    func(s *served, stream uint32) []byte { return head(s, 0, stream, ":status", "101") },
		"a body before": func(_ *served, stream uint32) []byte { return frame(h2.Data, 0, stream, []byte("x")) },
		"an end before": func(_ *served, stream uint32) []byte { return frame(h2.Data, h2.EndStream, stream, nil) },
		"too long a head": func(s *served, stream uint32) []byte {
			return head(s, 0, stream, ":status", "200", "x", strings.Repeat("y", 9<<10), "z", strings.Repeat("y", 9<<10))
		},
		"too long a field": func(s *served, stream uint32) []byte {
			return head(s, 0, stream, ":status", "200", "x", strings.Repeat("a", 20000))
		},
		"too many fields": func(s *served, stream uint32) []byte {
			return head(s, 0, stream, append([]string{":status", "200"}, slices.Repeat([]string{"x", "y"}, 200)...)...)
		},
		"6.6 PUSH_PROMISE": func(_ *served, stream uint32) []byte {
			return frame(h2.PushPromise, h2.EndHeaders, stream, make([]byte, 4))
		},
		"5.1 HEADERS when idle": func(s *served, stream uint32) []byte { return head(s, 0, stream+2, ":status", "200") },
		"4.3 compression":       func(_ *served, stream uint32) []byte { return frame(h2.Headers, h2.EndHeaders, stream, []byte{0x80}) },
		"4.2 too long":          func(*served, uint32) []byte { return h2.AppendFrame(nil, h2.MaxFrame+1, h2.Data, 0, 1) },
		"6.5.2 pushes": func(*served, uint32) []byte {
			return h2.AppendSettings(nil, h2.Setting{ID: h2.EnablePush, Value: 1})
		},
		"RFC 8441 3": func(*served, uint32) []byte {
			return h2.AppendSettings(nil, h2.Setting{ID: h2.EnableConnect, Value: 2})
		},
		"6.9.1 a window": func(*served, uint32) []byte { return h2.AppendWindow(nil, 0, h2.MaxWindow) },
	} {
		address := startServed(t, func(s *served, nth int32) {
			s.Write(h2.AppendSettings(nil))
			for n := 0; ; n++ {
				stream, path := s.asked()
				switch {
				case stream == 0:
					return
				case nth == 1 && n == 0:
					s.Write(say(s, stream))
				default:
					s.answer(stream, path)
				}
			}
		})
		g := start(t, address, inHTTP2)
		c := connectTo(t, g.address)
		if response := c.get("/product/"); response.StatusCode != http.StatusBadGateway {
			t.Errorf("%s: status %d", name, response.StatusCode)
		} else {
			wantError(t, response, http.StatusBadGateway)
		}
		if response := c.get("/product/a"); response.StatusCode != 200 || body(t, response) != "/a" {
			t.Errorf("%s: the one after has status %d", name, response.StatusCode)
		}
		g.counted(t, "gateway_upstream_requests", 0)
	}
}

func TestTooLongHeadEndsOnlyItsStream(t *testing.T) {
	pieces := func(stream uint32, block []byte) (all []byte) {
		kind := h2.Headers
		for len(block) > h2.MaxFrame {
			all = append(all, frame(kind, 0, stream, block[:h2.MaxFrame])...)
			kind, block = h2.Continuation, block[h2.MaxFrame:]
		}
		return append(all, frame(kind, h2.EndHeaders, stream, block)...)
	}
	address := startServed(t, func(s *served, nth int32) {
		s.Write(h2.AppendSettings(nil))
		for n := 0; ; n++ {
			stream, _ := s.asked()
			switch {
			case stream == 0:
				return
			case n == 0:
				s.Write(pieces(stream, s.fields(":status", "200", "x", strings.Repeat("y", 100<<10), "x-kept", "kept")))
			default: // with a field that the previous head added to the table
				s.Write(frame(h2.Headers, h2.EndHeaders, stream, s.fields(":status", "200", "x-kept", "kept")))
				s.Write(frame(h2.Data, h2.EndStream, stream, []byte(fmt.Sprint(nth))))
			}
		}
	})
	c := connectTo(t, start(t, address, inHTTP2).address)
	wantError(t, c.get("/product/"), http.StatusBadGateway)
	response := c.get("/product/")
	if got := body(t, response); got != "1" || response.Header.Get("X-Kept") != "kept" {
		t.Errorf("connection %q, %v", got, response.Header)
	}
}

func TestTruncatedHTTP2ResponseLooksTruncated(t *testing.T) {
	for _, end := range []func(s *served, stream uint32){
		func(s *served, stream uint32) { s.Write(h2.AppendReset(nil, stream, h2.InternalError)) },
		func(s *served, stream uint32) { s.Write(frame(h2.Data, h2.EndStream, stream, nil)) },
		func(s *served, _ uint32) { s.Close() },
	} {
		address := startServed(t, func(s *served, _ int32) {
			s.Write(h2.AppendSettings(nil))
			stream, _ := s.asked()
			s.Write(frame(h2.Headers, h2.EndHeaders, stream, s.fields(":status", "200", "content-length", "5")))
			s.Write(frame(h2.Data, 0, stream, []byte("bod")))
			end(s, stream)
			s.asked()
		})
		g := start(t, address, inHTTP2)
		response := connectTo(t, g.address).get("/product/")
		if b, err := io.ReadAll(response.Body); err == nil {
			t.Errorf("%q is all", b)
		}
		g.counted(t, "gateway_upstream_requests", 0)
	}
}

func TestSilentUpstreamConnectionIsDrained(t *testing.T) {
	address := startServed(t, func(s *served, nth int32) {
		s.Write(h2.AppendSettings(nil))
		for {
			stream, path := s.asked()
			if stream == 0 {
				return
			}
			if nth > 1 {
				s.answer(stream, path)
			}
		}
	})
	g := start(t, address, func(g *given) {
		inHTTP2(g)
		g.upstreams[0].Answer = 300 * time.Millisecond
	})
	c := connectTo(t, g.address)
	wantError(t, c.get("/product/"), http.StatusGatewayTimeout)
	if got := body(t, c.get("/product/a")); got != "/a" {
		t.Errorf("%q", got)
	}
	g.counted(t, "gateway_upstream_connections_total", 2)
}

func TestAbandonedRequestsResetTheirStreams(t *testing.T) {
	ended := make(chan struct{})
	address, _ := startFramedUpstream(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hold" {
			<-r.Context().Done()
			close(ended)
		}
	})
	g := start(t, address, inHTTP2)
	c, leaving := connectTo(t, g.address), connectTo(t, g.address)
	leaving.say("GET /product/hold HTTP/1.1\nHost: a\n\n")
	g.counted(t, "gateway_upstream_requests", 1)
	body(t, c.get("/product/"))
	leaving.Close()
	receive(t, ended, "the end")
	if response := c.get("/product/"); response.StatusCode != 200 {
		t.Errorf("status %d", response.StatusCode)
	}
	g.counted(t, "gateway_upstream_requests", 0)
	g.counted(t, "gateway_upstream_connections_total", 1)
}

func TestCopiesGoOverHTTP2(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") })
	seen := make(chan string, 100)
	other, _ := startFramedUpstream(t, false, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		seen <- fmt.Sprintf("%d %s %s %s", r.ProtoMajor, r.Method, r.URL.Path, b)
		w.WriteHeader(500)
		w.Write(make([]byte, 10*readSize))
	})
	g := start(t, upstream, func(g *given) {
		copies := plainUpstream(other)
		copies.Name, copies.HTTP2, g.Workers = "copies", true, 1
		g.upstreams = append(g.upstreams, copies)
		g.routes[0].Mirror = &route.Part{Upstream: 1, Upto: route.Whole}
	})
	c := connectTo(t, g.address)
	for range 5 {
		c.say("POST /product/y HTTP/1.1\nHost: a\nContent-Length: 4\n\nbody")
		body(t, c.answer("POST"))
		if got := receive(t, seen, "the copy"); got != "2 POST /y body" {
			t.Errorf("a copy of %q", got)
		}
	}
	g.counted(t, "gateway_mirrored_total", 5)
	g.counted(t, "gateway_upstream_requests", 0)
	g.counted(t, "gateway_upstream_connections_total", 2)
}

// FuzzUpstreamH2 checks that the gateway survives anything that a server sends over HTTP/2, and
// that nothing remains of requests whose clients are gone.
func FuzzUpstreamH2(f *testing.F) {
	s := &served{}
	s.encoder = hpack.NewEncoder(&s.block)
	s.encoder.SetMaxDynamicTableSize(0) // each seed is for a connection of its own
	head := func(flags uint8, fields ...string) []byte { return frame(h2.Headers, flags, 1, s.fields(fields...)) }
	f.Add(head(5, ":status", "204"), false)
	f.Add(append(head(4, ":status", "103", "link", "x"), append(head(4, ":status", "200"), frame(h2.Data, 1, 1, []byte("body"))...)...), false)
	f.Add(append(append(head(4, ":status", "200", "content-length", "4"), frame(h2.Data, 8, 1, []byte("\x01body"))...), head(5, "x", "y")...), false)
	f.Add(append(head(0, ":status", "200"), frame(h2.Continuation, 4, 1, nil)...), false)
	f.Add(h2.AppendReset(head(4, ":status", "200"), 1, h2.Cancel), false)
	f.Add(h2.AppendGoAway(nil, 0, h2.NoError), false)
	f.Add(h2.AppendWindow(h2.AppendSettings(nil, h2.Setting{ID: h2.InitialWindowSize, Value: 1}, h2.Setting{ID: h2.MaxConcurrentStreams, Value: 1}), 0, 1), false)
	f.Add(append(head(4, ":status", "200", "sec-websocket-protocol", "x"), frame(h2.Data, 1, 1, []byte("body"))...), true)
	f.Add(append(head(4, ":status", "200"), h2.AppendReset(nil, 1, h2.Cancel)...), true)
	var says atomic.Pointer[[]byte]
	server := startRaw(f, func(conn net.Conn, r *bufio.Reader) {
		if _, err := r.ReadByte(); err == nil {
			conn.Write(append(h2.AppendSettings(nil, mayConnect...), *says.Load()...))
			io.Copy(io.Discard, r)
		}
	})
	g := start(f, server, func(g *given) {
		inHTTP2(g)
		g.upstreams[0].Keep = 0 // each time it is another connection
		// Its client is gone, but may have more to read.
		g.upstreams[0].Tunnel = 50 * time.Millisecond
	})
	nth := int64(0)
	f.Fuzz(func(t *testing.T, text []byte, webSocket bool) {
		says.Store(&text)
		conn, err := net.Dial("tcp", g.address)
		if err != nil {
			t.Fatal(err)
		}
		nth++
		if webSocket {
			io.WriteString(conn, "GET /v1/a"+strings.ReplaceAll(upgrading, "\n", "\r\n")+"body")
		} else {
			io.WriteString(conn, "POST /v1/a HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbodyGET /v1/a HTTP/1.1\r\nHost: a\r\n\r\n")
		}
		conn.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		io.Copy(io.Discard, conn)
		g.left(t, conn, nth)
		for end := time.Now().Add(patience); g.Table().Upstreams[0].limiter.connections.Load() > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("a connection to the server is still open")
			}
		}
	})
}
