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

	"faceoff/systems/gateway/h2"
)

// connecting are the fields of a request for WebSocket.
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
		t.Error("nobody is told that it may be asked for")
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
	f.over = false
	if got := f.content(1); got != "last bye" {
		t.Errorf("%q", got)
	}
	g.counted(t, "gateway_upstream_requests", 0)
}

func TestWebSocketThatIsNotAgreedTo(t *testing.T) { // RFC 8441, 4, 5
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

func TestAWebSocketThatIsTakenBackEnds(t *testing.T) {
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
