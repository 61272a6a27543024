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

	"faceoff/systems/gateway/h2"
	"faceoff/systems/gateway/wire"
)

// framer speaks HTTP/2 frame by frame.
type framer struct {
	*testClient
	block   bytes.Buffer
	encoder *hpack.Encoder
	decoder *hpack.Decoder
	over    bool // the last head was all of its answer
}

func connectFramed(t *testing.T, address string) *framer {
	t.Helper()
	f := &framer{testClient: connectTo(t, address)}
	f.encoder, f.decoder = hpack.NewEncoder(&f.block), hpack.NewDecoder(h2.TableSize, nil)
	f.raw(h2.AppendSettings([]byte(h2.Preface)))
	return f
}

func (f *framer) raw(text []byte) {
	f.t.Helper()
	if _, err := f.Write(text); err != nil {
		f.t.Fatal(err)
	}
}

// fields are a block of them, given as names and values, behind those that every request has.
func (f *framer) fields(more ...string) []byte {
	f.block.Reset()
	all := append([]string{":method", "GET", ":scheme", "http", ":authority", "a", ":path", "/product/"}, more...)
	if len(more) > 0 && strings.HasPrefix(more[0], ":") {
		all = more
	}
	for i := 0; i < len(all); i += 2 {
		f.encoder.WriteField(hpack.HeaderField{Name: all[i], Value: all[i+1]}) // a buffer takes all
	}
	return f.block.Bytes()
}

func frame(kind h2.Type, flags uint8, stream uint32, payload []byte) []byte {
	return append(h2.AppendFrame(nil, len(payload), kind, flags, stream), payload...)
}

// ask sends the head of a request.
func (f *framer) ask(stream uint32, end bool, more ...string) {
	f.t.Helper()
	flags := uint8(h2.EndHeaders)
	if end {
		flags |= h2.EndStream
	}
	f.raw(frame(h2.Headers, flags, stream, f.fields(more...)))
}

// any reads a frame.
func (f *framer) any() h2.Frame {
	f.t.Helper()
	got, err := readFrame(f.r)
	if err != nil {
		f.t.Fatalf("reading a frame: %v", err)
	}
	return got
}

// next reads a frame, but none of settings, or of windows.
func (f *framer) next() h2.Frame {
	f.t.Helper()
	for {
		if got := f.any(); got.Type != h2.Settings && got.Type != h2.WindowUpdate {
			return got
		}
	}
}

// status reads the head of an answer.
func (f *framer) status(stream uint32) (status string) {
	f.t.Helper()
	got := f.next()
	if got.Type != h2.Headers || got.Stream != stream || got.Flags&h2.EndHeaders == 0 {
		f.t.Fatalf("%+v in place of an answer on %d", got, stream)
	}
	fields, err := f.decoder.DecodeFull(got.Payload)
	if err != nil || fields[0].Name != ":status" {
		f.t.Fatalf("%v: %v", fields, err)
	}
	f.over = got.Flags&h2.EndStream != 0
	return fields[0].Value
}

// content reads a body to its end.
func (f *framer) content(stream uint32) string {
	f.t.Helper()
	var all []byte
	for {
		if f.over {
			return string(all)
		}
		got := f.next()
		if got.Type != h2.Data || got.Stream != stream {
			f.t.Fatalf("%+v after %d bytes of %d", got, len(all), stream)
		}
		all = append(all, got.Payload...)
		f.over = got.Flags&h2.EndStream != 0
	}
}

func (f *framer) wantReset(stream uint32, code h2.Code) {
	f.t.Helper()
	got := f.next()
	if got.Type != h2.Reset || got.Stream != stream || h2.Code(binary.BigEndian.Uint32(got.Payload)) != code {
		f.t.Fatalf("%+v in place of a reset of %d for %d", got, stream, code)
	}
}

func (f *framer) wantGoAway(code h2.Code) (last uint32) {
	f.t.Helper()
	got := f.next()
	for got.Type != h2.GoAway {
		got = f.next()
	}
	if found := h2.Code(binary.BigEndian.Uint32(got.Payload[4:])); found != code {
		f.t.Fatalf("it says farewell for %d, want %d", found, code)
	}
	return binary.BigEndian.Uint32(got.Payload)
}

// startEcho says what it was sent, and what came with it.
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
	g, door := startSecure(t, startEcho(t), "h2")
	for scheme, address := range map[string]string{"http": g.address, "https": door.address} {
		protocols := new(http.Protocols)
		protocols.SetHTTP2(true)
		protocols.SetUnencryptedHTTP2(true)
		client := &http.Client{Transport: &http.Transport{Protocols: protocols, TLSClientConfig: door.client.Clone()}}
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
			client.CloseIdleConnections() // those that the client has not cleared up yet are not idle
			if time.Now().After(end) {
				t.Fatalf("%d connections are left", g.clients.Load())
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
		all.Wait() // none is answered before the last one has come
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

func TestASlowReaderOverHTTP2(t *testing.T) {
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

func TestAClientThatTakesNothingUntilItHasSentIsRead(t *testing.T) {
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

func TestAMalformedRequestEndsItsStreamAlone(t *testing.T) { // RFC 9113, 8.1.1
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
	for _, more := range [][]byte{[]byte("1234"), []byte("123456")} { // neither is the 5 that were told
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

func TestAConnectionThatBreaksTheRulesEnds(t *testing.T) {
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
		"6.5.2 MAX_FRAME_SIZE":         {func(*framer) []byte { return h2.AppendSettings(nil, h2.Setting{ID: h2.MaxFrameSize, Value: 1}) }, h2.ProtocolError},
		"6.6 PUSH_PROMISE":             {func(*framer) []byte { return frame(h2.PushPromise, h2.EndHeaders, 1, make([]byte, 4)) }, h2.ProtocolError},
		"6.7 PING of 7":                {func(*framer) []byte { return frame(h2.Ping, 0, 0, make([]byte, 7)) }, h2.FrameSizeError},
		"6.7 PING on a stream":         {func(*framer) []byte { return frame(h2.Ping, 0, 1, make([]byte, 8)) }, h2.ProtocolError},
		"6.9 WINDOW_UPDATE by 0":       {func(*framer) []byte { return h2.AppendWindow(nil, 0, 0) }, h2.ProtocolError},
		"6.9.1 a window beyond all":    {func(*framer) []byte { return h2.AppendWindow(nil, 0, h2.MaxWindow) }, h2.FlowControlError},
		"6.10 CONTINUATION of nothing": {func(*framer) []byte { return frame(h2.Continuation, h2.EndHeaders, 1, nil) }, h2.ProtocolError},
		"10.5 pings without end":       {func(*framer) []byte { return bytes.Repeat(frame(h2.Ping, 0, 0, make([]byte, 8)), 500) }, h2.EnhanceYourCalm},
		"10.5 settings without end":    {func(*framer) []byte { return bytes.Repeat(h2.AppendSettings(nil), 500) }, h2.EnhanceYourCalm},
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
				f.raw(append([]byte(h2.Preface), frame(h2.Ping, 0, 0, make([]byte, 8))...)) // settings come first
			}
			f.wantGoAway(c.code)
			f.Conn.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, f.r)
		})
	}
	g.counted(t, "gateway_upstream_requests", 0)
	g.counted(t, "gateway_connections", 0)
}

func TestRequestsThatAreTakenBackWithoutEnd(t *testing.T) { // CVE-2023-44487
	g := start(t, startUpstream(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), nil)
	f := connectFramed(t, g.address)
	var all []byte
	for i := range 500 {
		stream := uint32(2*i + 1)
		all = append(all, frame(h2.Headers, h2.EndHeaders|h2.EndStream, stream, f.fields())...)
		all = h2.AppendReset(all, stream, h2.Cancel)
	}
	go f.Write(all) // the end is not waited for
	if last := f.wantGoAway(h2.EnhanceYourCalm); last > 2*mostTrouble+1 {
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
	f.raw(frame(h2.Data, 0, 5, make([]byte, h2.MaxFrame-1))) // 65,535 in all, for which there is no place yet
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
		f.raw(frame(h2.Data, 0, 3, make([]byte, h2.MaxFrame))) // one more than is allowed
	}
	f.wantGoAway(h2.FlowControlError)
	f.Close()
	g.counted(t, "gateway_upstream_requests", 0)
	g.counted(t, "gateway_upstream_waiting", 0)
}

func TestBytesThatComeOneByOneTakeNoMoreRoom(t *testing.T) {
	c := &client{}
	c.w = &worker{}
	st := &stream{client: c, session: &session{client: c}}
	st.flow = flow{conn: &c.conn, end: st, left: -1}
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
		in.took(taken)
		all += len(content)
	}
	if all != h2.Window || len(in.data) > 0 {
		t.Errorf("%d bytes, and %d behind them", all, len(in.data))
	}
}

func TestAnAnswerWaitsForItsWindow(t *testing.T) {
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

func TestAnAnswerThatBreaksOffResetsItsStream(t *testing.T) {
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
	quiet.any() // it is known by now as what it is
	f.ask(1, true)
	receive(t, entered, "the request")
	stopped := make(chan error, 1)
	go func() { stopped <- g.Stop(context.Background()) }()
	if last := f.wantGoAway(h2.NoError); last != 1 {
		t.Errorf("the last is %d", last)
	}
	quiet.wantGoAway(h2.NoError)
	quiet.Close()
	f.ask(3, true) // nobody answers it
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

func TestAReaderThatTakesNothingIsCut(t *testing.T) {
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
	for _, windows := range [][]byte{nil, wide} { // it allows no more, or takes none of what it allows
		f := connectFramed(t, g.address)
		f.raw(windows)
		f.ask(1, true)
		receive(t, began, "the request")
		g.counted(t, "gateway_upstream_requests", 0)
		f.Close()
	}
	g.counted(t, "gateway_connections", 0)
	g.counted(t, "gateway_slow_clients_total", 2)
	g.counted(t, `gateway_upstream_failures_total{cause="too_slow"}`, 0)
}

func TestAReaderThatKeepsPaceKeepsItsStreams(t *testing.T) {
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

// FuzzSession holds, whatever a client says after its preface: the gateway lives, and nothing is left over of it.
func FuzzSession(f *testing.F) {
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
