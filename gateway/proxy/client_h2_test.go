// HTTP/2 from clients: flow control, limits, protocol errors, and fuzzing of the session.

package proxy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2/hpack"

	"faceoff/gateway/h2"
	"faceoff/gateway/wire"
)

// startEcho echoes the request's body and some of its fields.
func startEcho(t *testing.T) string {
	return startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.Header().Set("Trailer", "X-Sum")
		for _, name := range []string{"X-Forwarded-Proto", "Via", "Cookie"} {
			w.Header().Set("X-Saw-"+name, r.Header.Get(name))
		}
		w.Write(b)
		w.Header().Set("X-Sum", fmt.Sprintf("%d-%s", len(b), r.Trailer.Get("X-Given")))
	})
}

func TestHTTP2(t *testing.T) {
	g, listener := startSecure(t, startEcho(t), "h2")
	for scheme, address := range map[string]string{"http": g.address, "https": listener.address} {
		protocols := new(http.Protocols)
		protocols.SetHTTP2(true)
		protocols.SetUnencryptedHTTP2(true)
		client := &http.Client{Transport: &http.Transport{Protocols: protocols, TLSClientConfig: listener.client.Clone()}}
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() {
				for i := range 10 {
					content := strings.Repeat("x", n*i*i*300)
					request, err := http.NewRequest("POST", scheme+"://"+address+"/product/", struct{ io.Reader }{strings.NewReader(content)})
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
					if err != nil || string(b) != content || response.ProtoMajor != 2 || response.StatusCode != 200 {
						t.Errorf("%d bytes of %d, %v, %s", len(b), len(content), err, response.Status)
					}
					if h := response.Header; h.Get("X-Saw-X-Forwarded-Proto") != scheme || h.Get("X-Saw-Via") != "2 gateway" || h.Get("X-Saw-Cookie") != "a=1; b=2" {
						t.Errorf("%v", h)
					}
					if got, want := response.Trailer.Get("X-Sum"), fmt.Sprintf("%d-%s", len(content), request.Trailer.Get("X-Given")); got != want {
						t.Errorf("trailers %q, want %q", got, want)
					}
				}
			})
		}
		all.Wait()
		for _, method := range []string{"GET", "HEAD", "DELETE"} {
			request, _ := http.NewRequest(method, scheme+"://"+address+"/nowhere", nil)
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			if b := body(t, response); response.StatusCode != 404 || (b == "") != (method == "HEAD") {
				t.Errorf("%s: %s, %q", method, response.Status, b)
			}
		}
		for end := time.Now().Add(patience); g.clients.Load() > 0; time.Sleep(time.Millisecond) {
			client.CloseIdleConnections() // connections in use by the client are not idle
			if time.Now().After(end) {
				t.Fatalf("%d connections are still open", g.clients.Load())
			}
		}
	}
	g.counted(t, "gateway_upstream_requests", 0)
}

func TestManyUploadsShareTheConnectionsWindow(t *testing.T) {
	const length = h2.Window/2 - 1000 // too short for an update of its stream's window
	const uploads = 2 * sessionRoom / length
	var all sync.WaitGroup
	all.Add(uploads)
	address := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		all.Done()
		all.Wait() // no response is sent before the last request has arrived
	})
	g := start(t, address, nil)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}, Timeout: patience}
	defer client.CloseIdleConnections()
	var asked sync.WaitGroup
	for range uploads {
		asked.Go(func() {
			response, err := client.Post("http://"+g.address+"/product/", "text/plain", bytes.NewReader(make([]byte, length)))
			if err != nil {
				t.Error(err)
				return
			}
			if body(t, response); response.StatusCode != 200 {
				t.Error(response.Status)
			}
		})
	}
	asked.Wait()
}

func TestSlowReaderOverHTTP2(t *testing.T) {
	const size = 16 << 20
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		block := make([]byte, 1<<20)
		for range size / len(block) {
			w.Write(block)
		}
	})
	g := start(t, upstream, nil)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			response, err := client.Get("http://" + g.address + "/product/")
			if err != nil {
				t.Error(err)
				return
			}
			time.Sleep(50 * time.Millisecond)
			if n, err := io.Copy(io.Discard, response.Body); err != nil || n != size {
				t.Errorf("%d bytes, %v", n, err)
			}
		})
	}
	all.Wait()
}

func TestClientThatReadsOnlyAfterSendingIsServed(t *testing.T) {
	const size = 32 << 20 // more than the kernel takes
	var sent atomic.Int64
	came := make(chan int, 1)
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" {
			b, _ := io.ReadAll(r.Body)
			came <- len(b)
			return
		}
		for block := make([]byte, 1<<16); sent.Load() < size; sent.Add(int64(len(block))) {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	g := start(t, upstream, nil)
	f := connectFramed(t, g.address)
	f.raw(append(h2.AppendSettings(nil, h2.Setting{ID: h2.InitialWindowSize, Value: h2.MaxWindow}), h2.AppendWindow(nil, 0, h2.MaxWindow-h2.Window)...))
	f.ask(1, true)
	for before := int64(-1); before < sent.Load() || before == 0; time.Sleep(100 * time.Millisecond) {
		before = sent.Load() // until nothing moves
	}
	f.ask(3, false, ":method", "POST", ":scheme", "http", ":authority", "a", ":path", "/product/")
	f.raw(frame(h2.Data, h2.EndStream, 3, make([]byte, 10_000)))
	if n := receive(t, came, "the body"); n != 10_000 {
		t.Errorf("%d bytes", n)
	}
}

func TestMalformedRequestEndsOnlyItsStream(t *testing.T) { // RFC 9113, 8.1.1
	g := start(t, startEcho(t), nil)
	f := connectFramed(t, g.address)
	stream := uint32(1)
	for _, fields := range [][]string{
		{":method", "GET", ":scheme", "http", ":path", "/product/"}, {":method", "GET", ":scheme", "http", ":authority", "a", ":path", "/product/", ":path", "/"},
		{"X", "y"}, {"x", "y\r\nz: a"}, {"connection", "close"}, {"transfer-encoding", "chunked"}, {"te", "gzip"}, {"host", "b"}, {"content-length", "5"},
	} {
		f.ask(stream, true, fields...)
		f.wantReset(stream, h2.ProtocolError)
		stream += 2
	}
	// Neither has the announced 5 bytes.
	for _, more := range [][]byte{[]byte("1234"), []byte("123456")} {
		f.ask(stream, false, ":method", "POST", ":scheme", "http", ":authority", "a", ":path", "/product/", "content-length", "5")
		f.raw(frame(h2.Data, h2.EndStream, stream, more))
		f.wantReset(stream, h2.ProtocolError)
		stream += 2
	}
	for target, status := range map[string]string{"/product/../x": "400", "/nowhere": "404", "/product/a b": "400"} {
		f.ask(stream, true, ":method", "GET", ":scheme", "http", ":authority", "a", ":path", target)
		if got := f.status(stream); got != status {
			t.Errorf("%s: %s, want %s", target, got, status)
		}
		f.content(stream)
		stream += 2
	}
	f.ask(stream, true, "x", strings.Repeat("a", 10<<10), "z", strings.Repeat("a", 10<<10))
	if got := f.status(stream); got != "431" {
		t.Errorf("a head that is too long: %s", got)
	}
	f.content(stream)
	stream += 2
	f.ask(stream, false, ":method", "POST", ":scheme", "http", ":authority", "a", ":path", "/product/")
	f.raw(frame(h2.Data, 0, stream, []byte("right")))
	f.raw(frame(h2.Headers, h2.EndStream|h2.EndHeaders, stream, f.fields(":no", "trailer")))
	f.wantReset(stream, h2.ProtocolError)
	stream += 2
	f.ask(stream, false, ":method", "POST", ":scheme", "http", ":authority", "a", ":path", "/product/")
	f.raw(frame(h2.Data, h2.EndStream, stream, []byte("right")))
	if status := f.status(stream); status != "200" {
		t.Errorf("status %s", status)
	}
	if got := f.next(); string(got.Payload) != "right" {
		t.Errorf("%+v", got)
	}
	g.counted(t, "gateway_upstream_requests", 0)
}

func TestProtocolErrorEndsConnection(t *testing.T) {
	g := start(t, startEcho(t), nil)
	block := func(f *framer) []byte { return f.fields() }
	for name, c := range map[string]struct {
		say  func(f *framer) []byte
		code h2.Code
	}{
		"4.2 too long":                {func(*framer) []byte { return h2.AppendFrame(nil, h2.MaxFrame+1, h2.Data, 0, 1) }, h2.FrameSizeError},
		"4.3 compression":             {func(*framer) []byte { return frame(h2.Headers, h2.EndHeaders, 1, []byte{0x80}) }, h2.CompressionError},
		"5.1 DATA when idle":          {func(*framer) []byte { return frame(h2.Data, 0, 1, []byte("x")) }, h2.ProtocolError},
		"5.1 RST_STREAM when idle":    {func(*framer) []byte { return h2.AppendReset(nil, 1, h2.Cancel) }, h2.ProtocolError},
		"5.1 WINDOW_UPDATE when idle": {func(*framer) []byte { return h2.AppendWindow(nil, 1, 5) }, h2.ProtocolError},
		"5.1.1 an even stream":        {func(f *framer) []byte { return frame(h2.Headers, h2.EndHeaders, 2, block(f)) }, h2.ProtocolError},
		"6.1 padding":                 {func(*framer) []byte { return frame(h2.Headers, h2.EndHeaders|8, 1, []byte{5, 1}) }, h2.ProtocolError},
		"6.2 a frame between":         {func(f *framer) []byte { return h2.AppendWindow(frame(h2.Headers, 0, 1, block(f)), 0, 5) }, h2.ProtocolError},
		"6.3 PRIORITY of 4":           {func(*framer) []byte { return frame(h2.Priority, 0, 1, make([]byte, 4)) }, h2.FrameSizeError},
		"6.4 RST_STREAM of 0":         {func(*framer) []byte { return h2.AppendReset(nil, 0, h2.Cancel) }, h2.ProtocolError},
		"6.5 SETTINGS on a stream":    {func(*framer) []byte { return frame(h2.Settings, 0, 1, nil) }, h2.ProtocolError},
		"6.5 an ACK with settings":    {func(*framer) []byte { return frame(h2.Settings, h2.Ack, 0, make([]byte, 6)) }, h2.FrameSizeError},
		"6.5.2 ENABLE_PUSH":           {func(*framer) []byte { return h2.AppendSettings(nil, h2.Setting{ID: h2.EnablePush, Value: 2}) }, h2.ProtocolError},
		"6.5.2 INITIAL_WINDOW_SIZE": {func(*framer) []byte {
			return h2.AppendSettings(nil, h2.Setting{ID: h2.InitialWindowSize, Value: 1 << 31})
		}, h2.FlowControlError},
		"6.5.2 MAX_FRAME_SIZE":              {func(*framer) []byte { return h2.AppendSettings(nil, h2.Setting{ID: h2.MaxFrameSize, Value: 1}) }, h2.ProtocolError},
		"6.6 PUSH_PROMISE":                  {func(*framer) []byte { return frame(h2.PushPromise, h2.EndHeaders, 1, make([]byte, 4)) }, h2.ProtocolError},
		"6.7 PING of 7":                     {func(*framer) []byte { return frame(h2.Ping, 0, 0, make([]byte, 7)) }, h2.FrameSizeError},
		"6.7 PING on a stream":              {func(*framer) []byte { return frame(h2.Ping, 0, 1, make([]byte, 8)) }, h2.ProtocolError},
		"6.9 WINDOW_UPDATE by 0":            {func(*framer) []byte { return h2.AppendWindow(nil, 0, 0) }, h2.ProtocolError},
		"6.9.1 a window beyond all":         {func(*framer) []byte { return h2.AppendWindow(nil, 0, h2.MaxWindow) }, h2.FlowControlError},
		"6.10 CONTINUATION without HEADERS": {func(*framer) []byte { return frame(h2.Continuation, h2.EndHeaders, 1, nil) }, h2.ProtocolError},
		"10.5 pings without end":            {func(*framer) []byte { return bytes.Repeat(frame(h2.Ping, 0, 0, make([]byte, 8)), 500) }, h2.EnhanceYourCalm},
		"10.5 settings without end":         {func(*framer) []byte { return bytes.Repeat(h2.AppendSettings(nil), 500) }, h2.EnhanceYourCalm},
		"10.5.1 fields without end": {func(f *framer) []byte {
			return append(frame(h2.Headers, 0, 1, block(f)), bytes.Repeat(frame(h2.Continuation, 0, 1, nil), 50)...)
		}, h2.EnhanceYourCalm},
		"3.4 another request than HTTP/2": {nil, h2.ProtocolError},
	} {
		t.Run(name, func(t *testing.T) {
			var f *framer
			if c.say != nil {
				f = connectFramed(t, g.address)
				f.raw(c.say(f))
			} else {
				f = &framer{testClient: connectTo(t, g.address)}
				// settings come first
				f.raw(append([]byte(h2.Preface), frame(h2.Ping, 0, 0, make([]byte, 8))...))
			}
			f.wantGoAway(c.code)
			f.Conn.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, f.r)
		})
	}
	g.counted(t, "gateway_upstream_requests", 0)
	g.counted(t, "gateway_connections", 0)
}

func TestRapidResetsEndTheConnection(t *testing.T) { // CVE-2023-44487
	g := start(t, startUpstream(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), nil)
	f := connectFramed(t, g.address)
	var all []byte
	for i := range 500 {
		stream := uint32(2*i + 1)
		all = append(all, frame(h2.Headers, h2.EndHeaders|h2.EndStream, stream, f.fields())...)
		all = h2.AppendReset(all, stream, h2.Cancel)
	}
	go f.Write(all) // do not wait for the end
	if last := f.wantGoAway(h2.EnhanceYourCalm); last > 2*maxClientNoOps+1 {
		t.Errorf("%d requests were served", last/2)
	}
	g.counted(t, "gateway_upstream_requests", 0)
}

func TestStreamsAndWindowsAreBounded(t *testing.T) {
	release := make(chan struct{})
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		receive(t, release, "the release")
		b, _ := io.ReadAll(r.Body)
		w.Write(b)
	})
	g := start(t, upstream, func(g *given) { g.Streams, g.upstreams[0].Most = 3, 1 })
	f := connectFramed(t, g.address)
	f.ask(1, true)
	g.counted(t, "gateway_upstream_requests", 1)
	f.ask(3, true)
	f.ask(5, false, ":method", "POST", ":scheme", "http", ":authority", "a", ":path", "/product/")
	f.ask(7, true)
	f.wantReset(7, h2.RefusedStream)
	for range 3 {
		f.raw(frame(h2.Data, 0, 5, make([]byte, h2.MaxFrame)))
	}
	f.raw(frame(h2.Data, 0, 5, make([]byte, h2.MaxFrame-1))) // 65,535 in all; the window is used up
	f.raw(frame(h2.Ping, 0, 0, []byte("all read")))
	if got := f.next(); got.Type != h2.Ping || got.Flags != h2.Ack || string(got.Payload) != "all read" {
		t.Errorf("%+v", got)
	}
	close(release)
	for _, stream := range []uint32{1, 3} {
		if got := f.status(stream); got != "200" {
			t.Errorf("status %s", got)
		}
		f.content(stream)
	}
	for got := f.any(); got.Type != h2.WindowUpdate || got.Stream != 5; got = f.any() {
	}
	f.raw(h2.AppendWindow(h2.AppendWindow(nil, 0, 100), 5, 100))
	f.raw(frame(h2.Data, h2.EndStream, 5, []byte("!")))
	if got := f.status(5); got != "200" {
		t.Errorf("status %s", got)
	}
	if got := len(f.content(5)); got != h2.Window+1 {
		t.Errorf("%d bytes", got)
	}
	g.counted(t, "gateway_upstream_requests", 0)

	stuck := make(chan struct{})
	defer close(stuck)
	g = start(t, startUpstream(t, func(w http.ResponseWriter, r *http.Request) { <-stuck }), func(g *given) { g.upstreams[0].Most = 1 })
	f = connectFramed(t, g.address)
	f.ask(1, true)
	g.counted(t, "gateway_upstream_requests", 1)
	f.ask(3, false)
	for range 4 {
		f.raw(frame(h2.Data, 0, 3, make([]byte, h2.MaxFrame))) // one more than the window
	}
	f.wantGoAway(h2.FlowControlError)
	f.Close()
	g.counted(t, "gateway_upstream_requests", 0)
	g.counted(t, "gateway_upstream_waiting", 0)
}

func TestSingleBytesTakeNoMoreMemory(t *testing.T) {
	c := &client{}
	c.w = &worker{}
	st := &clientStream{client: c, session: &clientH2{client: c}}
	st.h2Stream = h2Stream{conn: &c.conn, owner: st, remaining: -1}
	for range h2.Window {
		st.add([]byte{'x'})
	}
	if room := cap(st.inbox); room > 2*h2.Window {
		t.Errorf("%d bytes are held for %d", room, h2.Window)
	}
	st.finishBody([]byte("\r\n"))
	var in intake
	if state := st.fill(&in); state != fine || st.fill(&in) != later {
		t.Errorf("state %d", state)
	}
	var reader wire.Reader
	reader.Start(wire.Body{Kind: wire.Chunked})
	all := 0
	for !reader.Done() {
		content, taken, _, err := reader.Next(in.data)
		if err != nil || taken == 0 {
			t.Fatalf("%d bytes taken of %d, %v", taken, len(in.data), err)
		}
		in.consume(taken)
		all += len(content)
	}
	if all != h2.Window || len(in.data) > 0 {
		t.Errorf("%d bytes, and %d behind them", all, len(in.data))
	}
}

func TestResponseWaitsForClientWindow(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 50)) })
	g := start(t, upstream, nil)
	f := connectFramed(t, g.address)
	f.raw(h2.AppendSettings(nil, h2.Setting{ID: h2.InitialWindowSize, Value: 20}, h2.Setting{ID: h2.HeaderTableSize, Value: 0}))
	f.decoder.SetMaxDynamicTableSize(0)
	f.ask(1, true)
	f.status(1)
	if got := f.next(); len(got.Payload) != 20 || got.Flags != 0 {
		t.Errorf("%+v", got)
	}
	f.raw(h2.AppendWindow(nil, 1, 10))
	if got := f.next(); len(got.Payload) != 10 || got.Flags != 0 {
		t.Errorf("%+v", got)
	}
	f.raw(h2.AppendSettings(nil, h2.Setting{ID: h2.InitialWindowSize, Value: 1000}))
	if got := f.next(); len(got.Payload) != 20 || got.Flags != h2.EndStream {
		t.Errorf("%+v", got)
	}
}

func TestTruncatedResponseResetsItsStream(t *testing.T) {
	upstream := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		http.ReadRequest(r)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbo")
	})
	f := connectFramed(t, start(t, upstream, nil).address)
	f.ask(1, true)
	f.status(1)
	got := f.next()
	if got.Type == h2.Data {
		got = f.next()
	}
	if got.Type != h2.Reset || binary.BigEndian.Uint32(got.Payload) != uint32(h2.InternalError) {
		t.Errorf("%+v", got)
	}
}

func TestStoppingWaitsForStreams(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		receive(t, release, "the release")
		fmt.Fprint(w, "ok")
	})
	g := start(t, upstream, nil)
	f, quiet := connectFramed(t, g.address), connectFramed(t, g.address)
	quiet.any() // it uses HTTP/2 by now
	f.ask(1, true)
	receive(t, entered, "the request")
	stopped := make(chan error, 1)
	go func() { stopped <- g.Stop(context.Background()) }()
	if last := f.wantGoAway(h2.NoError); last != 1 {
		t.Errorf("the last is %d", last)
	}
	quiet.wantGoAway(h2.NoError)
	quiet.Close()
	f.ask(3, true) // nothing responds to it
	close(release)
	if got := f.status(1); got != "200" {
		t.Errorf("status %s", got)
	}
	if got := f.content(1); got != "ok" {
		t.Errorf("%q", got)
	}
	f.Close()
	if err := receive(t, stopped, "the end"); err != nil {
		t.Error(err)
	}
}

func TestReaderThatReadsNothingIsCut(t *testing.T) {
	began := make(chan struct{}, 2)
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		block := make([]byte, 1<<20)
		for range 64 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	g := start(t, upstream, func(g *given) { g.Stall, g.Pace = 200*time.Millisecond, 1000 })
	wide := h2.AppendWindow(h2.AppendSettings(nil, h2.Setting{ID: h2.InitialWindowSize, Value: h2.MaxWindow}), 0, h2.MaxWindow-h2.Window)
	// Closed windows, and open ones that the client does not read.
	for cut, windows := range [][]byte{nil, wide} {
		f := connectFramed(t, g.address)
		f.raw(windows)
		f.ask(1, true)
		receive(t, began, "the request")
		// If it closed before it is cut, it would count as a client that left.
		g.counted(t, "gateway_slow_clients_total", int64(cut+1))
		g.counted(t, "gateway_upstream_requests", 0)
		f.Close()
	}
	g.counted(t, "gateway_connections", 0)
	g.counted(t, `gateway_upstream_failures_total{cause="too_slow"}`, 0)
}

func TestFastEnoughReaderKeepsItsStreams(t *testing.T) {
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		block := make([]byte, 1<<20)
		for range 64 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	g := start(t, upstream, func(g *given) { g.Stall, g.Pace = 200*time.Millisecond, 1000 })
	f := connectFramed(t, g.address)
	f.raw(h2.AppendWindow(h2.AppendSettings(nil, h2.Setting{ID: h2.InitialWindowSize, Value: h2.MaxWindow}), 0, h2.MaxWindow-h2.Window))
	f.ask(1, true)
	f.ask(3, true)
	for began := time.Now(); time.Since(began) < 5*200*time.Millisecond; time.Sleep(10 * time.Millisecond) {
		if _, err := io.CopyN(io.Discard, f.Conn, 64<<10); err != nil {
			t.Fatal(err)
		}
	}
	g.counted(t, "gateway_upstream_requests", 2)
	g.counted(t, "gateway_slow_clients_total", 0)
	g.counted(t, `gateway_upstream_failures_total{cause="too_slow"}`, 0)
}

// FuzzClientH2 checks that the gateway survives any bytes after the preface, and that nothing of
// the client remains.
func FuzzClientH2(f *testing.F) {
	seed := &framer{}
	seed.encoder = hpack.NewEncoder(&seed.block)
	head := func(stream uint32, flags uint8, more ...string) []byte {
		return frame(h2.Headers, flags, stream, seed.fields(more...))
	}
	post := []string{":method", "POST", ":scheme", "http", ":authority", "a", ":path", "/v1/"}
	f.Add(head(1, 5))
	f.Add(append(head(1, 4, post...), frame(h2.Data, 1, 1, []byte("body"))...))
	f.Add(append(append(head(1, 4, post...), frame(h2.Data, 8, 1, []byte("\x01body"))...), head(1, 5, "x", "y")...))
	f.Add(append(head(1, 0), frame(h2.Continuation, 4, 1, nil)...))
	f.Add(h2.AppendReset(head(1, 5, post...), 1, h2.Cancel))
	f.Add(h2.AppendWindow(h2.AppendSettings(nil, h2.Setting{ID: h2.InitialWindowSize, Value: 1}), 0, 1))
	server := startRaw(f, func(conn net.Conn, r *bufio.Reader) {
		for {
			request, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			io.Copy(io.Discard, request.Body)
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
	g := start(f, server, func(g *given) { g.Stall = 200 * time.Millisecond })
	nth := int64(0)
	f.Fuzz(func(t *testing.T, text []byte) {
		conn, err := net.Dial("tcp", g.address)
		if err != nil {
			t.Fatal(err)
		}
		nth++
		conn.Write(append(h2.AppendSettings([]byte(h2.Preface)), text...))
		conn.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		io.Copy(io.Discard, conn)
		g.left(t, conn, nth)
	})
}
