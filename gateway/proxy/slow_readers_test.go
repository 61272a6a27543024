// Slow readers: backlog, spill file, minimum rates, and cutting when slots are short.

package proxy

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"faceoff/gateway/compress"
	"faceoff/gateway/h2"
)

// noise returns n bytes that are always the same, and that do not compress.
func noise(n int) []byte {
	text, random := make([]byte, n), rand.NewChaCha8([32]byte{7})
	random.Read(text) // it never fails
	return text
}

// long is more than the kernel buffers for a client that reads nothing.
const long = 16 << 20

// startLong responds with the same long content to /v1/until, /v1/chunks and others, in three
// framings, and at once to /v1/short.
func startLong(t *testing.T, content []byte) string {
	return startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		for {
			request, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			head := "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
			switch request.URL.Path {
			case "/v1/short":
				io.WriteString(conn, head+"Content-Length: 2\r\n\r\nok")
			case "/v1/until":
				io.WriteString(conn, head+"\r\n")
				conn.Write(content)
				return
			case "/v1/chunks":
				io.WriteString(conn, head+"Trailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n")
				for rest := content; len(rest) > 0; {
					n := min(len(rest), 100_000)
					fmt.Fprintf(conn, "%x\r\n%s\r\n", n, rest[:n])
					rest = rest[n:]
				}
				io.WriteString(conn, "0\r\nX-Sum: 5\r\n\r\n")
			default:
				fmt.Fprintf(conn, head+"Content-Length: %d\r\n\r\n", len(content))
				conn.Write(content)
			}
		}
	})
}

func TestUpstreamFinishesAlthoughClientIsSlow(t *testing.T) {
	content := noise(long)
	sum := sha256.Sum256(content)
	folder := t.TempDir()
	for name, settings := range map[string]func(*given){
		"in memory":   func(g *given) { g.Buffer = answerPart * 2 * long },
		"in a file":   func(g *given) { g.SpillFolder, g.SpillSize = folder, answerPart*4*long },
		"in both":     func(g *given) { g.Buffer, g.SpillFolder, g.SpillSize = answerPart*1<<20, folder, answerPart*4*long },
		"over HTTP/2": func(g *given) { g.Buffer = answerPart * 2 * long },
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t, startLong(t, content), func(g *given) {
				settings(g)
				// These responses are not text.
				g.routes[1].Compress = &compress.Rules{Above: 1, Types: []string{"text/*"}}
			})
			for _, path := range []string{"/v1/sized", "/v1/chunks", "/v1/until"} {
				if name == "over HTTP/2" {
					heldOverHTTP2(t, g, path, sum)
					continue
				}
				c := connectTo(t, g.address)
				before := answered(g)
				c.say("GET " + path + " HTTP/1.1\nHost: a\n\n")
				g.counted(t, "gateway_answers_total", before+1)
				g.counted(t, "gateway_upstream_requests", 0) // nothing of it was read
				response := c.answer("GET")
				got, err := io.ReadAll(response.Body)
				if err != nil || sha256.Sum256(got) != sum {
					t.Errorf("%s: %d bytes of %d, %v", path, len(got), len(content), err)
				}
				if path == "/v1/chunks" && response.Trailer.Get("X-Sum") != "5" {
					t.Errorf("%v", response.Trailer)
				}
				if got := body(t, c.get("/v1/short")); got != "ok" { // the connection is kept
					t.Errorf("%q", got)
				}
				g.counted(t, "gateway_answers_total", before+2)
			}
			g.counted(t, "gateway_held_bytes", 0)
		})
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func answered(g started) (n int64) {
	for _, c := range g.Counts() {
		if c.Name == "gateway_answers_total" {
			n += c.Value
		}
	}
	return n
}

// heldOverHTTP2 requests a path, keeps the window closed until the upstream is done, and then reads
// the response.
func heldOverHTTP2(t *testing.T, g started, path string, sum [32]byte) {
	t.Helper()
	f := connectFramed(t, g.address)
	before := answered(g)
	f.ask(1, true, ":method", "GET", ":scheme", "http", ":authority", "a", ":path", path)
	g.counted(t, "gateway_answers_total", before+1)
	g.counted(t, "gateway_upstream_requests", 0)
	f.raw(h2.AppendWindow(h2.AppendWindow(nil, 0, h2.MaxWindow-h2.Window), 1, h2.MaxWindow-h2.Window))
	if got := f.status(1); got != "200" {
		t.Fatalf("%s: status %s", path, got)
	}
	hash := sha256.New()
	for ended := false; !ended; {
		got := f.next()
		switch got.Type {
		case h2.Data:
			hash.Write(got.Payload)
		case h2.Headers:
			if fields, err := f.decoder.DecodeFull(got.Payload); err != nil || path != "/v1/chunks" || fields[0].Value != "5" {
				t.Errorf("%s: %v, %v", path, fields, err)
			}
		default:
			t.Fatalf("%+v", got)
		}
		ended = got.Flags&h2.EndStream != 0
	}
	if [32]byte(hash.Sum(nil)) != sum {
		t.Errorf("%s came otherwise", path)
	}
	f.Close()
}

func TestBacklogIsBounded(t *testing.T) {
	const readers, buffer = 40, answerPart * 128 << 10
	content := noise(long)
	g := start(t, startLong(t, content), func(g *given) { g.Buffer = buffer })
	var all []*testClient
	for range readers {
		c := connectTo(t, g.address)
		c.say("GET /v1/sized HTTP/1.1\nHost: a\n\n")
		all = append(all, c)
	}
	g.counted(t, "gateway_upstream_slow", readers)
	if n := g.bufferedBytes.Load(); n > buffer || n < buffer/2 {
		t.Errorf("%d bytes are held, at most %d", n, buffer)
	}
	for _, c := range all {
		c.Close()
	}
	g.counted(t, "gateway_upstream_slow", 0)
	g.counted(t, "gateway_held_bytes", 0)
	g.counted(t, "gateway_upstream_requests", 0)
}

func TestSpillFileThatCannotBeWrittenIsReplaced(t *testing.T) {
	content := noise(long)
	g := start(t, startLong(t, content), func(g *given) {
		g.Workers, g.SpillFolder, g.SpillSize = 1, t.TempDir(), answerPart*2*long
	})
	g.onWorker(t, func(w *worker) {
		w.spill.file.Close()
		w.spill.file, _ = os.Open(os.DevNull) // it cannot be written
	})
	c := connectTo(t, g.address)
	response := c.get("/v1/sized")
	g.counted(t, "gateway_upstream_slow", 1)
	if got, err := io.ReadAll(response.Body); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if !strings.Contains(g.log.String(), "writing to the spill file: ") {
		t.Errorf("%s", g.log)
	}
}

// crowd runs a gateway with few slots and long responses, with the default settings for slow
// readers.
func crowd(t *testing.T, places int) started {
	t.Helper()
	return start(t, startLong(t, noise(long)), func(g *given) {
		g.MaxClients, g.Busy, g.Buffer, g.Pace, g.Stall = 10_000, 16<<10, 4<<20, 256, 10*time.Second
		u := &g.upstreams[0]
		u.Most, u.Connections, u.Keep, u.Shares = places, 2*places, places/4, Shares{Client: 0.875, Connection: 0.25}
	})
}

// honest sends requests repeatedly, and fails for each that gets no response.
func (s started) honest(t *testing.T, clients, turns int) {
	t.Helper()
	var all sync.WaitGroup
	for range clients {
		c := connectTo(t, s.address)
		all.Go(func() {
			for range turns {
				c.SetDeadline(time.Now().Add(patience))
				if response := c.get("/v1/short"); response.StatusCode != 200 || body(t, response) != "ok" {
					t.Errorf("status %d", response.StatusCode)
				}
			}
		})
	}
	all.Wait()
}

func TestStreamsWithoutWindowLeaveSlotsFree(t *testing.T) {
	t.Parallel() // it mostly waits
	g := crowd(t, 40)
	for range 3 {
		f := connectFramed(t, g.address)
		f.raw(h2.AppendSettings(nil, h2.Setting{ID: h2.InitialWindowSize, Value: 0}))
		for i := range 100 {
			f.ask(uint32(2*i+1), true, ":method", "GET", ":scheme", "http", ":authority", "a", ":path", "/v1/sized")
		}
		go io.Copy(io.Discard, f.Conn)
	}
	g.honest(t, 5, 20)
}

func TestSlowReadersLeaveSlotsFree(t *testing.T) {
	t.Parallel() // it mostly waits
	g := crowd(t, 40)
	for range 60 {
		c := connectTo(t, g.address)
		if err := c.Conn.(*net.TCPConn).SetReadBuffer(16 << 10); err != nil {
			t.Fatal(err)
		}
		c.say("GET /v1/sized HTTP/1.1\nHost: a\n\n")
		c.SetDeadline(time.Now().Add(time.Minute))
		go func() {
			for _, err := io.CopyN(io.Discard, c, 2<<10); err == nil; _, err = io.CopyN(io.Discard, c, 2<<10) {
				time.Sleep(time.Second)
			}
		}()
	}
	g.honest(t, 5, 20)
	g.counted(t, "gateway_slow_clients_total", 0) // they were fast enough, but for others
}

func TestSlowReadersStayWhileSlotsAreFree(t *testing.T) {
	t.Parallel()       // it mostly waits
	const readers = 30 // of 40 slots
	g := crowd(t, 40)
	for range readers {
		connectTo(t, g.address).say("GET /v1/sized HTTP/1.1\nHost: a\n\n")
	}
	g.counted(t, "gateway_upstream_slow", readers)
	g.honest(t, 2, 10)
	time.Sleep(2 * minIdle)
	g.counted(t, "gateway_upstream_slow", readers)
	g.counted(t, "gateway_cut_total", 0)
}

func TestSlowestReaderIsCutFirst(t *testing.T) {
	w := &worker{server: &Server{settings: Settings{Busy: 1000, Stall: time.Minute}}, wheel: newWheel()}
	u := &Upstream{limiter: newLimiter(UpstreamSettings{Most: 4})}
	u.limiter.queued = 1
	var all []*client
	for range 4 {
		c := &client{}
		c.w, c.fd, c.upstream, c.hasSlot = w, -1, u, true
		c.markLagging(false)
		c.markLagging(true)
		c.markLagging(true) // marking twice counts once
		all = append(all, c)
	}
	if u.limiter.stalled != 4 || u.limiter.lagging != 4 {
		t.Fatalf("%d are slow", u.limiter.stalled)
	}
	w.wheel.now = minIdle / 2
	if got := w.slowest(); len(got) > 0 {
		t.Errorf("%v so early", got)
	}
	w.wheel.now = 2 * minIdle
	for i, bytes := range []int64{1500, 2000, 0, 700} { // the second is as fast as required
		all[i].bytesMoved = bytes
	}
	got := w.slowest()
	if len(got) != 3 || got[0].client != all[2] || got[1].client != all[3] || got[2].client != all[0] {
		t.Errorf("%v", got)
	}
	u.limiter.queued = 0
	if got := w.slowest(); len(got) > 0 {
		t.Errorf("%v although places are free", got)
	}
	for _, c := range all {
		c.clearLagging()
	}
	if !w.slow.empty() || u.limiter.stalled+u.limiter.lagging != 0 {
		t.Errorf("%d are slow", u.limiter.stalled)
	}
}

func TestClientIsLimitedToItsShareOfSlots(t *testing.T) {
	var flying gauge
	release := make(chan struct{})
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/slow" {
			defer flying.enter()()
			<-release
		}
	})
	g := start(t, upstream, func(g *given) {
		g.upstreams[0].Most, g.upstreams[0].Shares = 16, Shares{Client: 0.5, Connection: 0.25}
	})
	ask := func(c *testClient) { c.say("GET /v1/slow HTTP/1.1\nHost: a\n\n") }
	var held []*testClient
	for range 12 {
		c := connectTo(t, g.address)
		ask(c)
		held = append(held, c)
	}
	g.counted(t, "gateway_upstream_requests", 8)
	g.counted(t, "gateway_upstream_waiting", 4)
	honest := connectFrom(t, 2, g.address)
	for range 10 { // waiting ones are skipped
		body(t, honest.get("/v1/"))
	}
	f := speakFramed(t, connectFrom(t, 3, g.address))
	for i := range 8 { // half of the slots are taken, so a connection may have a quarter
		f.ask(uint32(2*i+1), true, ":method", "GET", ":scheme", "http", ":authority", "a", ":path", "/v1/slow")
	}
	g.counted(t, "gateway_upstream_requests", 12)
	g.counted(t, "gateway_upstream_waiting", 8)
	body(t, honest.get("/v1/"))
	close(release)
	for _, c := range held {
		body(t, c.answer("GET"))
	}
	for range 8 {
		if got := f.next(); got.Type != h2.Headers {
			t.Errorf("%+v", got)
		}
	}
	g.counted(t, "gateway_upstream_requests", 0)
	g.counted(t, "gateway_upstream_waiting", 0)
	if got := flying.most.Load(); got > 12 {
		t.Errorf("%d at once", got)
	}
	g.onWorker(t, func(*worker) {
		for _, h := range []holders{g.Table().Upstreams[0].limiter.holders, g.Table().Upstreams[0].limiter.waiting} {
			if len(h.clients)+len(h.sessions) > 0 {
				t.Errorf("%v", h)
			}
		}
	})
}

// connectFrom connects from a loopback address with the given last part.
func connectFrom(t *testing.T, last byte, address string) *testClient {
	t.Helper()
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, last)}}).Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return &testClient{t, conn, bufio.NewReader(conn)}
}

func TestEachStreamHasAMinimumRate(t *testing.T) {
	t.Parallel() // it mostly waits
	const streams = 20
	g := start(t, startLong(t, noise(long)), func(g *given) { g.Stall, g.Pace = 500*time.Millisecond, 100<<10 })
	f := connectFramed(t, g.address)
	f.raw(h2.AppendWindow(h2.AppendSettings(nil, h2.Setting{ID: h2.InitialWindowSize, Value: h2.MaxWindow}), 0, h2.MaxWindow-h2.Window))
	if err := f.Conn.(*net.TCPConn).SetReadBuffer(16 << 10); err != nil {
		t.Fatal(err)
	}
	for i := range streams {
		f.ask(uint32(2*i+1), true, ":method", "GET", ":scheme", "http", ":authority", "a", ":path", "/v1/sized")
	}
	g.counted(t, "gateway_upstream_requests", streams)
	go func() { // twice the pace of one request, and a tenth of that of all
		for _, err := io.CopyN(io.Discard, f.Conn, 20<<10); err == nil; _, err = io.CopyN(io.Discard, f.Conn, 20<<10) {
			time.Sleep(100 * time.Millisecond)
		}
	}()
	g.counted(t, "gateway_upstream_requests", 0)
	// The connection, because all of its streams wait for it.
	g.counted(t, "gateway_slow_clients_total", 1)
}

func TestSlowStreamIsCutAlthoughOthersAreRead(t *testing.T) {
	t.Parallel()           // it mostly waits
	const small = 16 << 10 // the window of the stream that is to be cut
	endless := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		block := make([]byte, 1<<20)
		for {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	g := start(t, endless, func(g *given) { g.Stall, g.Pace = 300*time.Millisecond, 1000 })
	f := connectFramed(t, g.address)
	f.raw(h2.AppendWindow(h2.AppendSettings(nil, h2.Setting{ID: h2.InitialWindowSize, Value: small}), 0, h2.MaxWindow-h2.Window))
	if err := f.Conn.(*net.TCPConn).SetReadBuffer(16 << 10); err != nil {
		t.Fatal(err)
	}
	f.ask(3, true)
	f.ask(5, true)
	f.raw(h2.AppendWindow(nil, 5, h2.MaxWindow-small))
	reset := make(chan uint32, 1)
	go func() {
		for {
			got, err := readFrame(f.r)
			if err != nil {
				close(reset)
				return
			}
			if got.Type == h2.Reset {
				reset <- got.Stream
				return
			}
			time.Sleep(2 * time.Millisecond) // so that there is always something to read
		}
	}()
	if got := receive(t, reset, "the end of the stream that is not read"); got != 3 {
		t.Errorf("%d ends", got)
	}
	g.counted(t, "gateway_upstream_requests", 1)
}

func TestStreamsThatWaitForTheirConnection(t *testing.T) {
	of := &client{}
	of.bytesMoved, of.fd, of.out = 1000, -1, make([]byte, 300) // 700 bytes are taken
	s := &clientH2{client: of}
	s.conn = &of.conn
	for _, c := range []struct {
		name         string
		window, sent int64
		blocked      bool
		behind       bool
	}{
		{"one that may send", 5, 600, true, true},
		{"one whose bytes are on their way", 0, 701, true, true},
		{"one whose bytes are taken", 0, 700, true, false},
		{"one that owes more than its window", -5, 600, true, false},
		{"one that has nothing to send", 5, 600, false, false},
	} {
		st := &clientStream{session: s, sent: c.sent}
		st.h2Conn, st.sendWindow, st.blocked = &s.h2Conn, c.window, c.blocked
		if got := (&client{stream: st}).waitsForConn(); got != c.behind {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	of.out = nil
	st := &clientStream{session: s}
	st.h2Conn, st.blocked, st.sendWindow = &s.h2Conn, true, 5
	if (&client{stream: st}).waitsForConn() {
		t.Error("a stream waits for a connection that takes all")
	}
}

// FuzzBacklog checks that a backlog returns what was put into it, for all sizes of parts, in memory
// and on disk.
func FuzzBacklog(f *testing.F) {
	f.Add([]byte{1, 200, 3}, uint16(40), uint16(3))
	f.Add([]byte{255, 255, 255, 255, 7}, uint16(0), uint16(64))
	f.Fuzz(func(t *testing.T, pieces []byte, memory, blocks uint16) {
		s := &Server{settings: Settings{Buffer: int64(memory) << 12}}
		w := &worker{server: s}
		if blocks > 0 {
			var err error
			if w.spill, err = openSpill(t.TempDir(), int64(blocks)*segmentSize); err != nil {
				t.Fatal(err)
			}
			defer w.spill.close()
		}
		c := &client{}
		c.w = w
		var took sink
		c.overH2 = &took
		c.out = []byte{0} // the kernel has not taken it
		var want []byte
		for i, piece := range pieces {
			text := bytes.Repeat([]byte{byte(i)}, int(piece)*257)
			c.appendBacklog(text)
			want = append(want, text...)
		}
		if c.backlog.size != int64(len(want)) {
			t.Fatalf("%d bytes of %d", c.backlog.size, len(want))
		}
		if len(pieces)%2 == 1 {
			c.dropBacklog()
			want = nil
		}
		if c.drain() != fine || !bytes.Equal(took.text, want) {
			t.Fatalf("%d bytes of %d came out", len(took.text), len(want))
		}
		if s.bufferedBytes.Load() != 0 || w.spill.used != 0 || c.backlog.memory != 0 || c.backlog.spilled != 0 || !c.backlog.empty() {
			t.Fatalf("not released: %+v, %+v", c.backlog, w.spill)
		}
	})
}

// sink accepts everything.
type sink struct{ text []byte }

func (s *sink) fill(*intake) state { return later }
func (s *sink) flush() state       { return fine }
func (s *sink) push(bytes []byte) []byte {
	s.text = append(s.text, bytes...)
	return nil
}

func TestSlotIsTakenWithoutAllocation(t *testing.T) {
	w := &worker{}
	p := newLimiter(UpstreamSettings{Most: 4, Queue: 4, Shares: Shares{Client: 0.875, Connection: 0.25}})
	c := &client{from: netip.MustParseAddr("192.0.2.1")}
	c.stream = &clientStream{session: &clientH2{}}
	if n := testing.AllocsPerRun(100, func() {
		if p.acquire(c) != granted {
			t.Fatal("there is no slot")
		}
		p.release(w, c)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
