// WebSocket over HTTP/1.1 and HTTP/2 on both sides.

package proxy

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"faceoff/gateway/h2"
)

// connecting returns the fields of a WebSocket request.
func connecting(path string, more ...string) []string {
	return append([]string{":method", "CONNECT", ":protocol", "websocket", ":scheme", "http", ":authority", "a", ":path", path, "sec-websocket-version", "13"}, more...)
}

func TestWebSocketOverHTTP2(t *testing.T) { // RFC 8441
	upstream := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		h := request.Header
		if request.Method != "GET" || request.URL.Path != "/" || h.Get("Upgrade") != "websocket" || h.Get("Connection") != "Upgrade" || h.Get("Sec-Websocket-Version") != "13" ||
			len(h["Sec-Websocket-Key"]) != 1 || len(h.Get("Sec-Websocket-Key")) != 24 || h.Get("Sec-Websocket-Protocol") != "chat" {
			t.Errorf("%+v", request)
		}
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\nSec-WebSocket-Protocol: chat\r\n\r\nhello ", acceptOf(h.Get("Sec-Websocket-Key")))
		io.Copy(conn, r)
		io.WriteString(conn, " bye")
	})
	g := start(t, upstream, nil)
	f := connectFramed(t, g.address)
	allowed := false
	for settings := f.any().Payload; len(settings) >= 6; settings = settings[6:] {
		allowed = allowed || (binary.BigEndian.Uint16(settings) == h2.EnableConnect && binary.BigEndian.Uint32(settings[2:]) == 1)
	}
	if !allowed {
		t.Error("RFC 8441 is not announced")
	}
	f.ask(1, false, connecting("/product/", "sec-websocket-protocol", "chat", "sec-websocket-key", "its own")...)
	f.raw(frame(h2.Data, 0, 1, []byte("early ")))
	got := f.next()
	fields, err := f.decoder.DecodeFull(got.Payload)
	if err != nil || got.Type != h2.Headers || got.Flags&h2.EndStream != 0 || fields[0].Value != "200" {
		t.Fatalf("%+v: %v, %v", got, fields, err)
	}
	for _, field := range fields {
		switch field.Name {
		case "sec-websocket-protocol", ":status", "date":
		default:
			t.Errorf("%v", field)
		}
	}
	read := func(want string) {
		t.Helper()
		var all []byte
		for len(all) < len(want) {
			got := f.next()
			if got.Type != h2.Data || got.Stream != 1 || got.Flags&h2.EndStream != 0 {
				t.Fatalf("%+v", got)
			}
			all = append(all, got.Payload...)
		}
		if string(all) != want {
			t.Fatalf("%q", all)
		}
	}
	read("hello early ")
	large := strings.Repeat("x", 10_000)
	for range 10 { // more than a window
		f.raw(frame(h2.Data, 0, 1, []byte(large)))
		read(large)
		f.raw(append(h2.AppendWindow(nil, 0, 10_000), h2.AppendWindow(nil, 1, 10_000)...))
	}
	f.raw(frame(h2.Data, h2.EndStream, 1, []byte("last")))
	f.closed = false
	if got := f.content(1); got != "last bye" {
		t.Errorf("%q", got)
	}
	g.counted(t, "gateway_upstream_requests", 0)
}

func TestRefusedWebSocketOverHTTP2(t *testing.T) { // RFC 8441, 4, 5
	upstream := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		const switches = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "
		accept := acceptOf(request.Header.Get("Sec-Websocket-Key"))
		io.WriteString(conn, map[string]string{
			"/v1/forbidden": "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno",
			"/v1/ignored":   "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
			"/v1/unread":    switches + "websocket\r\nSec-WebSocket-Accept: x\r\n\r\n",
			"/v1/none":      switches + "websocket\r\n\r\n",
			"/v1/other":     switches + "other\r\nSec-WebSocket-Accept: " + accept + "\r\n\r\n",
		}[request.URL.Path])
	})
	f := connectFramed(t, start(t, upstream, nil).address)
	stream := uint32(1)
	for _, c := range [][2]string{{"/v1/forbidden", "403"}, {"/v1/ignored", "502"}, {"/v1/unread", "502"}, {"/v1/none", "502"}, {"/v1/other", "502"}, {"/nowhere", "404"}} {
		f.ask(stream, true, connecting(c[0])...)
		if got := f.status(stream); got != c[1] {
			t.Errorf("%s: %s", c[0], got)
		}
		f.content(stream)
		stream += 2
	}
	f.ask(stream, true, ":method", "CONNECT", ":protocol", "other", ":scheme", "http", ":authority", "a", ":path", "/v1/")
	if got := f.status(stream); got != "501" {
		t.Errorf("another protocol: %s", got)
	}
	f.content(stream)
	f.ask(stream+2, true, ":method", "CONNECT", ":protocol", "websocket", ":authority", "a")
	f.wantReset(stream+2, h2.ProtocolError)
}

func TestResetWebSocketEnds(t *testing.T) {
	ended := make(chan error, 1)
	upstream := startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		fmt.Fprintf(conn, "HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n", acceptOf(request.Header.Get("Sec-Websocket-Key")))
		_, err = io.Copy(io.Discard, r)
		ended <- err
	})
	g := start(t, upstream, nil)
	f := connectFramed(t, g.address)
	f.ask(1, false, connecting("/product/")...)
	if got := f.status(1); got != "200" {
		t.Fatalf("%s", got)
	}
	f.raw(h2.AppendReset(nil, 1, h2.Cancel))
	receive(t, ended, "the end of the tunnel")
	g.counted(t, "gateway_upstream_requests", 0)
}

// startConnecting serves HTTP/2, and gives talk the fields of each request by name.
func startConnecting(t *testing.T, settings []h2.Setting, talk func(s *served, stream uint32, fields map[string]string)) string {
	return startServed(t, func(s *served, _ int32) {
		s.Write(h2.AppendSettings(nil, settings...))
		for {
			got := s.next(h2.Headers)
			if got.Stream == 0 {
				return
			}
			all, err := s.decoder.DecodeFull(got.Payload)
			if err != nil {
				t.Error(err)
			}
			fields := map[string]string{}
			for _, f := range all {
				fields[f.Name] = f.Value
			}
			if got.Flags&h2.EndStream != 0 {
				fields["ended"] = "yes"
			}
			talk(s, got.Stream, fields)
		}
	})
}

var mayConnect = []h2.Setting{{ID: h2.EnableConnect, Value: 1}}

// upgrading is a WebSocket request in HTTP/1.1.
const upgrading = " HTTP/1.1\nHost: a\nConnection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: k\nSec-WebSocket-Protocol: chat\n\n"

func TestWebSocketToServersInHTTP2(t *testing.T) { // RFC 8441, 5
	address := startConnecting(t, mayConnect, func(s *served, stream uint32, fields map[string]string) {
		want := map[string]string{
			":method": "CONNECT", ":protocol": "websocket", ":scheme": "http", ":path": "/", "sec-websocket-version": "13", "sec-websocket-protocol": "chat",
			"sec-websocket-key": "", "connection": "", "upgrade": "", "transfer-encoding": "", "ended": "",
		}
		for name, value := range want {
			if fields[name] != value {
				t.Errorf("%s is %q, want %q", name, fields[name], value)
			}
		}
		s.Write(frame(h2.Headers, h2.EndHeaders, stream, s.fields(":status", "200", "sec-websocket-protocol", "chat")))
		s.Write(frame(h2.Data, 0, stream, []byte("hello ")))
		var back []byte
		for room, ended := h2.Window-len("hello "), false; !ended || len(back) > 0; {
			got, err := readFrame(s.r)
			switch {
			case err != nil:
				return
			case got.Type == h2.Data:
				back, ended = append(back, got.Payload...), got.Flags&h2.EndStream != 0
				if n := uint32(len(got.Payload)); n > 0 {
					s.Write(append(h2.AppendWindow(nil, 0, n), h2.AppendWindow(nil, stream, n)...))
				}
			case got.Type == h2.WindowUpdate && got.Stream == stream:
				room += int(binary.BigEndian.Uint32(got.Payload))
			}
			for n := min(len(back), room, h2.MaxFrame); n > 0; n = min(len(back), room, h2.MaxFrame) {
				s.Write(frame(h2.Data, 0, stream, back[:n]))
				back, room = back[n:], room-n
			}
		}
		s.Write(frame(h2.Data, h2.EndStream, stream, []byte(" bye")))
	})
	g := start(t, address, inHTTP2)
	large := strings.Repeat("x", 1<<20)

	c := connectTo(t, g.address)
	c.say("GET /product/" + upgrading + "early ")
	response := c.answer("GET")
	if response.StatusCode != 101 || response.Header.Get("Sec-WebSocket-Accept") != acceptOf("k") || response.Header.Get("Sec-WebSocket-Protocol") != "chat" ||
		response.Header.Get("Upgrade") != "websocket" || response.Header.Get("Connection") != "Upgrade" {
		t.Fatalf("%+v", response)
	}
	go func() {
		c.say("late " + large)
		c.Conn.(*net.TCPConn).CloseWrite()
	}()
	if got, err := io.ReadAll(c.r); err != nil || string(got) != "hello early late "+large+" bye" {
		t.Errorf("%d bytes, %v", len(got), err)
	}

	f := connectFramed(t, g.address)
	f.ask(1, false, connecting("/product/", "sec-websocket-protocol", "chat")...)
	f.raw(frame(h2.Data, 0, 1, []byte("early ")))
	if got := f.status(1); got != "200" {
		t.Fatalf("status %s", got)
	}
	f.raw(frame(h2.Data, h2.EndStream, 1, []byte("last")))
	if got := f.content(1); got != "hello early last bye" {
		t.Errorf("%q", got)
	}
	g.counted(t, "gateway_upstream_requests", 0)
	g.counted(t, "gateway_upstream_connections_total", 1)
}

func TestHTTP2ServersThatRefuseWebSocket(t *testing.T) {
	for _, connects := range []bool{true, false} {
		settings, status, text := mayConnect, 403, "no"
		if !connects { // the server supports HTTP/2 only
			settings, status, text = nil, 502, `{"error":"the upstream could not be reached or broke off"}`
		}
		address := startConnecting(t, settings, func(s *served, stream uint32, fields map[string]string) {
			if fields[":method"] != "CONNECT" && fields[":path"] != "/other" {
				t.Errorf("%v", fields)
			}
			s.Write(frame(h2.Headers, h2.EndHeaders, stream, s.fields(":status", "403")))
			s.Write(frame(h2.Data, h2.EndStream, stream, []byte("no")))
		})
		g := start(t, address, func(g *given) {
			inHTTP2(g)
			g.upstreams[0].Failures, g.upstreams[0].Eject, g.upstreams[0].Shed = 1, patience, true
		})
		c := connectTo(t, g.address)
		c.say("GET /product/" + upgrading)
		if response := c.answer("GET"); response.StatusCode != status || body(t, response) != text {
			t.Errorf("%+v", response)
		}
		f := connectFramed(t, g.address)
		f.ask(1, true, connecting("/product/")...)
		if got := f.status(1); got != fmt.Sprint(status) {
			t.Errorf("status %s", got)
		}
		if got := f.content(1); got != text {
			t.Errorf("%q", got)
		}
		// The server has done nothing wrong.
		if got := connectTo(t, g.address).get("/product/other"); got.StatusCode != 403 {
			t.Errorf("%+v", got)
		}
		g.counted(t, "gateway_upstream_requests", 0)
	}
}

func TestHTTP2WebSocketEndsWithEitherSide(t *testing.T) {
	t.Parallel() // it mostly waits
	reset := make(chan h2.Code, 1)
	address := startConnecting(t, mayConnect, func(s *served, stream uint32, fields map[string]string) {
		s.Write(frame(h2.Headers, h2.EndHeaders, stream, s.fields(":status", "200")))
		if fields[":path"] == "/cut" {
			s.Write(h2.AppendReset(nil, stream, h2.Cancel))
			return
		}
		got := s.next(h2.Reset)
		if got.Stream == stream {
			reset <- h2.Code(binary.BigEndian.Uint32(got.Payload))
		}
	})
	g := start(t, address, func(g *given) {
		inHTTP2(g)
		g.upstreams[0].Answer = 4 * time.Second
	})
	cut := func() {
		t.Helper()
		c := connectTo(t, g.address)
		c.say("GET /product/cut" + upgrading)
		if got := c.answer("GET").StatusCode; got != 101 {
			t.Fatalf("status %d", got)
		}
		c.wantEnd()
	}
	cut()
	f := connectFramed(t, g.address)
	f.ask(1, false, connecting("/product/")...)
	if got := f.status(1); got != "200" {
		t.Fatalf("status %s", got)
	}
	// Longer than a connection that owes a response may be silent.
	time.Sleep(2100 * time.Millisecond)
	f.raw(h2.AppendReset(nil, 1, h2.Cancel))
	if code := receive(t, reset, "the end of the tunnel"); code != h2.Cancel {
		t.Errorf("it ends for %d", code)
	}
	cut()
	g.counted(t, "gateway_upstream_requests", 0)
	g.counted(t, "gateway_upstream_connections_total", 1)
}
