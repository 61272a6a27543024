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

	"faceoff/systems/gateway/h2"
	"faceoff/systems/gateway/route"
	"faceoff/systems/gateway/wire"
)

// startFramedUpstream serves HTTP/2, over TLS where secure, and tells who issued its certificate there.
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

// inHTTP2 has the upstream spoken to in HTTP/2, by one worker.
func inHTTP2(g *given) {
	g.Workers, g.upstreams[0].Framed = 1, true
}

// served is a server's end of a connection in HTTP/2, frame by frame.
type served struct {
	net.Conn
	r       *bufio.Reader
	block   bytes.Buffer
	encoder *hpack.Encoder
	decoder *hpack.Decoder
}

// startServed gives each connection to talk, once it has said the preface; nth counts them from 1. It is closed afterwards.
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
	got, _, err := h2.Cut(text)
	return got, err
}

// next reads a frame of a kind, and those before it; one of stream 0 where the connection is over.
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

// asked reads up to the head of a request, and gives its stream and its path.
func (s *served) asked() (stream uint32, path string) {
	got := s.next(h2.Headers)
	fields, _ := s.decoder.DecodeFull(got.Payload) // nothing where the connection is over
	for _, f := range fields {
		if f.Name == ":path" {
			path = f.Value
		}
	}
	return got.Stream, path
}

// fields are a block of them, given as names and values.
func (s *served) fields(fields ...string) []byte {
	s.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		s.encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}) // a buffer takes all
	}
	return bytes.Clone(s.block.Bytes())
}

// answer says 200 and a body.
func (s *served) answer(stream uint32, body string) {
	s.Write(append(frame(h2.Headers, h2.EndHeaders, stream, s.fields(":status", "200")), frame(h2.Data, h2.EndStream, stream, []byte(body))...))
}

func TestUpstreamsInHTTP2(t *testing.T) {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	for _, secure := range []bool{false, true} {
		var well atomic.Int32
		address, settings := startFramedUpstream(t, secure, func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			switch {
			case err != nil || r.ProtoMajor != 2:
				w.WriteHeader(500)
				return
			case r.URL.Path == "/well":
				well.Add(1)
				return
			}
			w.Header().Set("Link", "x")
			w.WriteHeader(103)
			w.Header().Set("Trailer", "X-Sum")
			w.Header().Set("X-Saw", r.Host+"|"+r.Header.Get("X-Forwarded-Host")+"|"+r.Header.Get("Cookie")) // no value may end in a space
			w.WriteHeader(200)
			w.Write(b)
			w.Header().Set("X-Sum", fmt.Sprintf("%d-%s", len(b), r.Trailer.Get("X-Given")))
		})
		g := start(t, address, func(g *given) {
			inHTTP2(g)
			g.upstreams[0].TLS = settings
			g.upstreams[0].Health = &Health{Path: "/well", Every: 5 * time.Millisecond, Within: patience, Up: 1, Down: 1}
		})
		for _, client := range []*http.Client{{Transport: &http.Transport{}}, {Transport: &http.Transport{Protocols: protocols}}} {
			var all sync.WaitGroup
			for n := range 8 {
				all.Go(func() {
					for i := range 10 {
						content := strings.Repeat("x", n*i*i*300)
						request, err := http.NewRequest("POST", "http://"+g.address+"/product/", struct{ io.Reader }{strings.NewReader(content)})
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
						if got, want := response.Header.Get("X-Saw"), address+"|"+g.address+"|a=1; b=2"; got != want {
							t.Errorf("%q, want %q", got, want)
						}
						if got, want := response.Trailer.Get("X-Sum"), fmt.Sprintf("%d-%s", len(content), request.Trailer.Get("X-Given")); got != want {
							t.Errorf("trailers %q, want %q", got, want)
						}
					}
				})
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
		if well.Load() == 0 || g.Table().Upstreams[0].servers[0].down.Load() {
			t.Error("it was not asked how it is, or not understood")
		}
	}
}

func TestServersThatSpeakNoHTTP2(t *testing.T) {
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
		if n := g.Table().Upstreams[0].places.connections.Load(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
	}
}

func TestRefusedRequestsAreSentAgain(t *testing.T) { // RFC 9113, 8.7
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
	for _, path := range []string{"/a", "/b"} { // the first is refused on its stream, the second by farewell
		c.say("POST /product" + path + " HTTP/1.1\nHost: a\nContent-Length: 2\n\nhi")
		if response := c.answer("POST"); response.StatusCode != 200 || body(t, response) != path {
			t.Errorf("%s: status %d", path, response.StatusCode)
		}
	}
	g.counted(t, "gateway_upstream_connections_total", 2)
	g.counted(t, "gateway_repeated_total", 2)
	c.say("POST /product/c HTTP/1.1\nHost: a\nContent-Length: 4\n\nhi") // what is gone of its body cannot be sent again
	wantError(t, c.answer("POST"), http.StatusBadGateway)
	g.counted(t, "gateway_repeated_total", 2)
	g.counted(t, "gateway_upstream_requests", 0)
}

func TestAServerThatLeavesFinishesItsAnswers(t *testing.T) {
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

func TestAnswersInHTTP2ThatCannotBePassedOn(t *testing.T) {
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

func TestATooLongHeadEndsNoOtherAnswerOfItsConnection(t *testing.T) {
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
			default: // with a field that the head before has put into the table
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

func TestAnAnswerInHTTP2ThatIsCutLooksCut(t *testing.T) {
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

func TestABodyWaitsForItsServersWindow(t *testing.T) {
	came := make(chan string, 10)
	address := startServed(t, func(s *served, _ int32) {
		s.Write(h2.AppendSettings(nil, h2.Setting{ID: h2.InitialWindowSize, Value: 20}, h2.Setting{ID: h2.HeaderTableSize, Value: 0}))
		stream, _ := s.asked()
		s.answer(stream, "") // by then the settings are known
		stream, _ = s.asked()
		for _, more := range [][]byte{
			h2.AppendWindow(nil, stream, 10), h2.AppendSettings(nil, h2.Setting{ID: h2.InitialWindowSize, Value: 1000}),
			append(h2.AppendReset(nil, stream+2, h2.Cancel), h2.AppendWindow(nil, stream, 1)...), // which breaks the rules
		} {
			got := s.next(h2.Data)
			came <- fmt.Sprint(len(got.Payload), got.Flags)
			if got.Flags&h2.EndStream != 0 {
				s.answer(stream, "ok")
			}
			s.Write(more)
		}
		s.asked()
	})
	g := start(t, address, inHTTP2)
	c := connectTo(t, g.address)
	body(t, c.get("/product/"))
	c.say("POST /product/ HTTP/1.1\nHost: a\nContent-Length: 50\n\n" + strings.Repeat("x", 50))
	for _, want := range []string{"20 0", "10 0", "20 1"} {
		if got := receive(t, came, "the body"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := body(t, c.answer("POST")); got != "ok" {
		t.Errorf("%q", got)
	}
	g.counted(t, "gateway_upstream_requests", 0)
	g.counted(t, `gateway_upstream_failures_total{cause="malformed"}`, 1)
}

func TestASlowReaderDoesNotHoldUpOthersOfItsConnection(t *testing.T) {
	const size = 16 << 20
	var sent atomic.Int64
	address, _ := startFramedUpstream(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/large" {
			return
		}
		block := make([]byte, 1<<16)
		for range size / len(block) {
			if _, err := w.Write(block); err != nil {
				return
			}
			sent.Add(int64(len(block)))
		}
	})
	g := start(t, address, inHTTP2)
	var slow []*testClient
	for range 5 { // as many as have more in flight than the connection allows to be on its way
		c := connectTo(t, g.address)
		c.say("GET /product/large HTTP/1.1\nHost: a\n\n")
		slow = append(slow, c)
	}
	for before := int64(-1); before < sent.Load(); time.Sleep(100 * time.Millisecond) {
		before = sent.Load() // until nothing moves
	}
	other := connectTo(t, g.address)
	for range 10 {
		if response := other.get("/product/small"); response.StatusCode != 200 || body(t, response) != "" {
			t.Errorf("status %d", response.StatusCode)
		}
	}
	for _, c := range slow {
		if n, err := io.Copy(io.Discard, c.answer("GET").Body); err != nil || n != size {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
	g.counted(t, "gateway_upstream_connections_total", 1)
}

func TestAsManyStreamsAsAServerLets(t *testing.T) {
	held, release := make(chan int32, 2), make(chan struct{})
	address := startServed(t, func(s *served, nth int32) {
		s.Write(h2.AppendSettings(nil, h2.Setting{ID: h2.MaxConcurrentStreams, Value: 1}))
		for {
			stream, path := s.asked()
			switch {
			case stream == 0:
				return
			case path == "/hold":
				held <- nth
				<-release
			}
			s.answer(stream, path)
		}
	})
	g := start(t, address, inHTTP2)
	first, second := connectTo(t, g.address), connectTo(t, g.address)
	body(t, first.get("/product/")) // by then the settings are known
	for want, c := range []*testClient{first, second} {
		c.say("GET /product/hold HTTP/1.1\nHost: a\n\n")
		if nth := receive(t, held, "the request"); int(nth) != want+1 {
			t.Errorf("it came over connection %d", nth)
		}
	}
	close(release)
	for _, c := range []*testClient{first, second} {
		if got := body(t, c.answer("GET")); got != "/hold" {
			t.Errorf("%q", got)
		}
	}
	g.counted(t, "gateway_upstream_connections_total", 2)
}

func TestNoMoreIsAskedThanAServerLets(t *testing.T) {
	const streams = 2
	said, held, release := make(chan struct{}), make(chan string, 6), make(chan struct{})
	address := startServed(t, func(s *served, nth int32) {
		<-said
		s.Write(h2.AppendSettings(nil, h2.Setting{ID: h2.MaxConcurrentStreams, Value: streams}))
		var asked []uint32
		for range streams {
			stream, path := s.asked()
			held <- path
			asked = append(asked, stream)
		}
		<-release
		for _, stream := range asked {
			s.answer(stream, "ok")
		}
		s.asked()
	})
	g := start(t, address, inHTTP2)
	var all []*testClient
	for range cap(held) {
		c := connectTo(t, g.address)
		c.say("POST /product/ HTTP/1.1\nHost: a\nContent-Length: 4\n\nbo") // which could not be sent again
		all = append(all, c)
	}
	g.counted(t, "gateway_upstream_requests", int64(len(all)))
	close(said)
	for range all {
		receive(t, held, "the request")
	}
	for _, c := range all {
		c.say("dy")
	}
	close(release)
	for _, c := range all {
		if response := c.answer("POST"); response.StatusCode != 200 || body(t, response) != "ok" {
			t.Errorf("status %d", response.StatusCode)
		}
	}
	g.counted(t, "gateway_upstream_connections_total", int64(len(all)/streams))
	g.counted(t, "gateway_repeated_total", 0)
	g.counted(t, "gateway_upstream_requests", 0)
}

func TestAServerThatLetsNoMoreStreamsIsLeft(t *testing.T) {
	answered, agreed := make(chan struct{}), make(chan struct{})
	address := startServed(t, func(s *served, nth int32) {
		s.Write(h2.AppendSettings(nil))
		for {
			stream, _ := s.asked()
			if stream == 0 {
				return
			}
			s.answer(stream, fmt.Sprint(nth))
			if nth == 1 && stream == 1 {
				<-answered
				s.Write(append(h2.AppendSettings(nil, h2.Setting{ID: h2.MaxConcurrentStreams, Value: 0}), frame(h2.Ping, 0, 0, make([]byte, 8))...))
				s.next(h2.Ping)
				close(agreed)
			}
		}
	})
	g := start(t, address, inHTTP2)
	c := connectTo(t, g.address)
	if got := body(t, c.get("/product/")); got != "1" {
		t.Errorf("connection %q", got)
	}
	close(answered)
	receive(t, agreed, "the settings")
	if got := body(t, c.get("/product/")); got != "2" {
		t.Errorf("connection %q", got)
	}
}

func TestAStreamCountsUntilItsServerHasEndedIt(t *testing.T) {
	for _, want := range []string{"1", "2"} { // over which connection the next request goes: after the end, and before it
		end, ended := make(chan struct{}), make(chan struct{})
		address := startServed(t, func(s *served, nth int32) {
			s.Write(h2.AppendSettings(nil, h2.Setting{ID: h2.MaxConcurrentStreams, Value: 1}))
			for {
				stream, _ := s.asked()
				switch {
				case stream == 0:
					return
				case nth > 1 || stream > 1:
					s.answer(stream, fmt.Sprint(nth))
				default:
					s.Write(append(frame(h2.Headers, h2.EndHeaders, stream, s.fields(":status", "200", "content-length", "3")), frame(h2.Data, 0, stream, []byte("all"))...))
					<-end
					s.Write(append(frame(h2.Data, h2.EndStream, stream, nil), frame(h2.Ping, 0, 0, make([]byte, 8))...))
					s.next(h2.Ping)
					close(ended)
				}
			}
		})
		g := start(t, address, inHTTP2)
		c := connectTo(t, g.address)
		if got := body(t, c.get("/product/")); got != "all" {
			t.Errorf("%q", got)
		}
		if want == "1" {
			close(end)
			receive(t, ended, "the end")
		}
		if got := body(t, c.get("/product/")); got != want {
			t.Errorf("connection %q, want %q", got, want)
		}
		if want == "2" {
			close(end)
		}
	}
}

func TestBodiesToAServerTakeTurns(t *testing.T) {
	const each, turns = 10_000, 40
	shares := make(chan map[uint32]int, 1)
	address := startServed(t, func(s *served, _ int32) {
		s.Write(h2.AppendSettings(nil, h2.Setting{ID: h2.InitialWindowSize, Value: h2.MaxWindow}))
		for range 2 {
			s.asked()
		}
		s.Write(h2.AppendWindow(nil, 0, each)) // those that are read over below are of the first window
		share := map[uint32]int{}
		for n := 0; n < turns*each; {
			got := s.next(h2.Data)
			if got.Stream == 0 {
				break
			}
			share[got.Stream] += len(got.Payload)
			n += len(got.Payload)
			s.Write(h2.AppendWindow(nil, 0, uint32(len(got.Payload))))
		}
		shares <- share
	})
	g := start(t, address, inHTTP2)
	for range 2 {
		c := connectTo(t, g.address)
		go io.WriteString(c, "POST /product/ HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n"+strings.Repeat("x", 9_000_000)) // it is cut
		g.counted(t, "gateway_upstream_connections_total", 1)
	}
	share := receive(t, shares, "the bodies")
	for stream, n := range share {
		if n < turns*each/10 {
			t.Errorf("%d of %d bytes are of stream %d", n, turns*each, stream)
		}
	}
	if len(share) != 2 {
		t.Errorf("%v", share)
	}
}

func TestAServerThatTakesNothingUntilItHasAnsweredIsRead(t *testing.T) {
	asked, answer, answered := make(chan struct{}), make(chan struct{}), make(chan struct{})
	address := startServed(t, func(s *served, _ int32) {
		s.Write(append(h2.AppendSettings(nil, h2.Setting{ID: h2.InitialWindowSize, Value: h2.MaxWindow}), h2.AppendWindow(nil, 0, h2.MaxWindow-h2.Window)...))
		first, _ := s.asked()
		close(asked)
		second, _ := s.asked()
		<-answer
		s.answer(first, "ok") // and nothing is read until it is there
		<-answered
		s.Conn.(*net.TCPConn).SetReadBuffer(1 << 20) // fewer turns until all has come
		for got := s.next(h2.Data); got.Stream != 0 && got.Flags&h2.EndStream == 0; {
			got = s.next(h2.Data)
		}
		s.answer(second, "done")
		s.asked()
	})
	g := start(t, address, inHTTP2)
	c, large := connectTo(t, g.address), connectTo(t, g.address)
	c.say("GET /product/ HTTP/1.1\nHost: a\n\n")
	<-asked // it carries requests now: the next one needs no connection of its own
	// The body has no length of its own: it ends once the server takes nothing, or all that follows
	// would have to pass through windows that a busy machine opens slowly.
	var sent atomic.Int64
	var enough atomic.Bool
	go func() {
		io.WriteString(large, "POST /product/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
		chunk := wire.AppendChunk(nil, make([]byte, 1<<16))
		for !enough.Load() {
			if _, err := large.Write(chunk); err != nil {
				return
			}
			sent.Add(1)
		}
		io.WriteString(large, "0\r\n\r\n")
	}()
	end := time.Now().Add(patience)
	for before := int64(-1); before < sent.Load() || g.unwritten(t) == 0; time.Sleep(100 * time.Millisecond) {
		if before = sent.Load(); time.Now().After(end) {
			t.Fatal("the server's connection takes all that it is given")
		}
	}
	enough.Store(true)
	close(answer)
	if got := body(t, c.answer("GET")); got != "ok" {
		t.Errorf("%q", got)
	}
	if g.unwritten(t) == 0 {
		t.Error("the answer was read when the server's connection took something again")
	}
	close(answered)
	if got := body(t, large.answer("POST")); got != "done" {
		t.Errorf("%q", got)
	}
}

func TestPaddingIsAllowedAnewThatNobodyReads(t *testing.T) {
	address := startServed(t, func(s *served, _ int32) {
		s.Write(h2.AppendSettings(nil))
		stream, _ := s.asked()
		s.Write(frame(h2.Headers, h2.EndHeaders, stream, s.fields(":status", "200")))
		padding := frame(h2.Data, 8, stream, append([]byte{255}, make([]byte, 255)...))
		for range h2.Window / 256 {
			s.Write(padding)
		}
		for got := s.next(h2.WindowUpdate); got.Stream != stream; got = s.next(h2.WindowUpdate) {
			if got.Type != h2.WindowUpdate {
				return // the connection is over
			}
		}
		s.Write(frame(h2.Data, h2.EndStream, stream, []byte("ok")))
		s.asked()
	})
	g := start(t, address, inHTTP2)
	if got := body(t, connectTo(t, g.address).get("/product/")); got != "ok" {
		t.Errorf("%q", got)
	}
}

func TestStreamsThatAreOverWaitForNoWindow(t *testing.T) {
	c := &conn{w: &worker{}}
	f := &framing{conn: c}
	for range 3 {
		st := &flow{framing: f, conn: c}
		if rest := st.give([]byte("x"), true); len(rest) != 1 {
			t.Error("it was sent without a window")
		}
		st.drop()
	}
	if len(f.blocked) > 0 {
		t.Errorf("%d are kept", len(f.blocked))
	}
}

func TestAConnectionOverWhichNothingComesIsLeft(t *testing.T) {
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

func TestRequestsThatAreGivenUpEndTheirStreams(t *testing.T) {
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
		copies.Name, copies.Framed, g.Workers = "copies", true, 1
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

// FuzzTrunk holds, whatever a server says in HTTP/2: the gateway lives, and nothing is left over of its requests once their
// clients are gone.
func FuzzTrunk(f *testing.F) {
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
		g.upstreams[0].Keep = 0                       // each time it is another connection
		g.upstreams[0].Tunnel = 50 * time.Millisecond // its client is gone, but may have more to read
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
		for end := time.Now().Add(patience); g.Table().Upstreams[0].places.connections.Load() > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("a connection to the server is left")
			}
		}
	})
}
