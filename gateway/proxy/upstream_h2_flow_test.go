// Flow control and stream limits of HTTP/2 to upstreams.

package proxy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"faceoff/gateway/h2"
	"faceoff/gateway/wire"
)

func TestBodyWaitsForServerWindow(t *testing.T) {
	came := make(chan string, 10)
	address := startServed(t, func(s *served, _ int32) {
		s.Write(h2.AppendSettings(nil, h2.Setting{ID: h2.InitialWindowSize, Value: 20}, h2.Setting{ID: h2.HeaderTableSize, Value: 0}))
		stream, _ := s.asked()
		s.answer(stream, "") // by then the settings have arrived
		stream, _ = s.asked()
		for _, more := range [][]byte{
			h2.AppendWindow(nil, stream, 10), h2.AppendSettings(nil, h2.Setting{ID: h2.InitialWindowSize, Value: 1000}),
			// a protocol error
			append(h2.AppendReset(nil, stream+2, h2.Cancel), h2.AppendWindow(nil, stream, 1)...),
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

func TestSlowReaderDoesNotBlockItsUpstreamConnection(t *testing.T) {
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
	for range 5 { // as many as have more in flight than the connection's window
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

func TestStreamsStayWithinServerLimit(t *testing.T) {
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
	body(t, first.get("/product/")) // by then the settings have arrived
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

func TestServerStreamLimitIsRemembered(t *testing.T) {
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
		c.say("POST /product/ HTTP/1.1\nHost: a\nContent-Length: 4\n\nbo") // it cannot be retried
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

func TestServerWithoutStreamsGetsNoRequests(t *testing.T) {
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

func TestStreamCountsUntilItsServerEndsIt(t *testing.T) {
	// The connection of the next request: after the end, and before it.
	for _, want := range []string{"1", "2"} {
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

func TestBodiesToServerShareTheWindow(t *testing.T) {
	const each, turns = 10_000, 40
	shares := make(chan map[uint32]int, 1)
	address := startServed(t, func(s *served, _ int32) {
		s.Write(h2.AppendSettings(nil, h2.Setting{ID: h2.InitialWindowSize, Value: h2.MaxWindow}))
		for range 2 {
			s.asked()
		}
		// Those that are skipped below are of the first window.
		s.Write(h2.AppendWindow(nil, 0, each))
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
		// it is cut
		go io.WriteString(c, "POST /product/ HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n"+strings.Repeat("x", 9_000_000))
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

func TestServerThatReadsOnlyAfterRespondingIsRead(t *testing.T) {
	asked, answer, answered := make(chan struct{}), make(chan struct{}), make(chan struct{})
	address := startServed(t, func(s *served, _ int32) {
		s.Write(append(h2.AppendSettings(nil, h2.Setting{ID: h2.InitialWindowSize, Value: h2.MaxWindow}), h2.AppendWindow(nil, 0, h2.MaxWindow-h2.Window)...))
		first, _ := s.asked()
		close(asked)
		second, _ := s.asked()
		<-answer
		s.answer(first, "ok") // nothing is read before it arrives
		<-answered
		s.Conn.(*net.TCPConn).SetReadBuffer(1 << 20) // fewer turns until everything has arrived
		for got := s.next(h2.Data); got.Stream != 0 && got.Flags&h2.EndStream == 0; {
			got = s.next(h2.Data)
		}
		s.answer(second, "done")
		s.asked()
	})
	g := start(t, address, inHTTP2)
	c, large := connectTo(t, g.address), connectTo(t, g.address)
	c.say("GET /product/ HTTP/1.1\nHost: a\n\n")
	<-asked // the next request can use this connection
	// The body has no length: it ends when the server stops reading. A fixed size would have to
	// pass through windows that a busy machine opens slowly.
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
			t.Fatal("the server's connection takes everything")
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

func TestPaddingIsReturnedToTheWindow(t *testing.T) {
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
				return // the connection is closed
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

func TestClosedStreamsWaitForNoWindow(t *testing.T) {
	c := &conn{w: &worker{}}
	f := &h2Conn{conn: c}
	for range 3 {
		st := &h2Stream{h2Conn: f, conn: c}
		if rest := st.sendData([]byte("x"), true); len(rest) != 1 {
			t.Error("it was sent without a window")
		}
		st.discard()
	}
	if len(f.blocked) > 0 {
		t.Errorf("%d are kept", len(f.blocked))
	}
}
