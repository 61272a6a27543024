// Encoding of requests for servers, decoding of responses, and WebSocket.

package h2

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"faceoff/gateway/wire"
)

func TestRequestHeadsForServers(t *testing.T) {
	var a Writer
	for _, c := range []struct {
		given, want string
		body        wire.Body
		bare        bool
	}{
		{lines("GET / HTTP/1.1", "Host: a", "Accept: b/c", "X-Long: "+strings.Repeat("v", 300)),
			":method: GET|:scheme: http|:path: /|:authority: a|accept: b/c|x-long: " + strings.Repeat("v", 300), wire.Body{}, false},
		{lines("POST /x?y HTTP/1.1", "Host: a:80", "Cookie: a=1; b=2", "Content-Length: 5") + "hello",
			":method: POST|:scheme: http|:path: /x?y|:authority: a:80|cookie: a=1; b=2|content-length: 5", wire.Body{Kind: wire.Sized, Length: 5}, false},
		{lines("PUT /x HTTP/1.1", "Host: a", "Content-Length: 0"), ":method: PUT|:scheme: http|:path: /x|:authority: a|content-length: 0", wire.Body{Kind: wire.Sized}, false},
		{lines("PATCH /x HTTP/1.1", "Host: a", "X: ", "Connection: TE", "TE: trailers", "Transfer-Encoding: chunked") + "0\r\n\r\n",
			":method: PATCH|:scheme: http|:path: /x|:authority: a|x: |te: trailers", wire.Body{Kind: wire.Chunked}, false},
		{lines("HEAD /x HTTP/1.1", "Host: a", "Connection: Upgrade", "Upgrade: websocket"), ":method: HEAD|:scheme: http|:path: /x|:authority: a", wire.Body{}, true},
		{lines("GET /x HTTP/1.1", "Host: "), ":method: GET|:scheme: http|:path: /x", wire.Body{}, false},
		{lines("OPTIONS * HTTP/1.1", "Host: a"), ":method: OPTIONS|:scheme: http|:path: *|:authority: a", wire.Body{}, false},
	} {
		for _, forget := range []bool{false, true} {
			text, sent := a.AppendRequest(nil, 7, []byte(c.given), false, forget, false)
			fields, flags := understood(t, text)
			if got := strings.Join(fields, "|"); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			end := c.body.Kind == wire.None || (c.body.Kind == wire.Sized && c.body.Length == 0)
			if (flags[0]&EndStream != 0) != end || flags[0]&EndHeaders == 0 {
				t.Errorf("%s: flags %v", c.want, flags)
			}
			if want := strings.Index(c.given, "\r\n\r\n") + 4; sent != (SentRequest{Taken: want, Body: c.body, Bare: c.bare}) {
				t.Errorf("%s: %+v", c.want, sent)
			}
		}
	}
	secure, _ := a.AppendRequest(nil, 7, []byte(lines("GET / HTTP/1.1", "Host: a")), true, false, false)
	if fields, _ := understood(t, secure); fields[1] != ":scheme: https" {
		t.Errorf("%q", fields)
	}
}

func TestWebSocketRequestsForServers(t *testing.T) { // RFC 8441, 4, 5
	const upgrade = "Connection: Upgrade|Upgrade: websocket"
	for _, c := range []struct{ given, want, key string }{
		{"GET /x HTTP/1.1|Host: a|Sec-WebSocket-Version: 13|sec-websocket-key: k|X: y|" + upgrade,
			":method: CONNECT|:scheme: http|:path: /x|:authority: a|:protocol: websocket|sec-websocket-version: 13|x: y", "k"},
		{"GET /x HTTP/1.1|Host: a|" + upgrade, ":method: GET|:scheme: http|:path: /x|:authority: a", ""},
		{"GET /x HTTP/1.1|Host: a|Sec-WebSocket-Key: k", ":method: GET|:scheme: http|:path: /x|:authority: a|sec-websocket-key: k", ""},
		{"GET /x HTTP/1.1|Host: a|Sec-WebSocket-Key: k|Sec-WebSocket-Key: l|" + upgrade, ":method: GET|:scheme: http|:path: /x|:authority: a|sec-websocket-key: k|sec-websocket-key: l", ""},
		{"GET /x HTTP/1.1|Host: a|Sec-WebSocket-Key: k|Connection: Upgrade|Upgrade: other", ":method: GET|:scheme: http|:path: /x|:authority: a|sec-websocket-key: k", ""},
		{"GET /x HTTP/1.1|Host: a|Sec-WebSocket-Key: k|" + upgrade + "|Content-Length: 0", ":method: CONNECT|:scheme: http|:path: /x|:authority: a|:protocol: websocket", "k"},
		{"GET /x HTTP/1.1|Host: a|Sec-WebSocket-Key: k|" + upgrade + "|Content-Length: 1", ":method: GET|:scheme: http|:path: /x|:authority: a|sec-websocket-key: k|content-length: 1", ""},
		{"POST /x HTTP/1.1|Host: a|Sec-WebSocket-Key: k|" + upgrade, ":method: POST|:scheme: http|:path: /x|:authority: a|sec-websocket-key: k", ""},
	} {
		var a Writer
		given := lines(strings.Split(c.given, "|")...)
		text, sent := a.AppendRequest(nil, 7, []byte(given), false, false, true)
		fields, flags := understood(t, text)
		if got := strings.Join(fields, "|"); got != c.want {
			t.Errorf("got %s\nwant %s", got, c.want)
		}
		if sent.Key != c.key || sent.Taken != len(given) || (sent.Body.Kind == wire.UntilEnd) != (c.key != "") || (flags[0]&EndStream != 0) != (sent.Body.Kind == wire.None) {
			t.Errorf("%s: %+v, flags %v", c.given, sent, flags)
		}
	}
}

func TestWebSocketResponsesBecome101(t *testing.T) { // RFC 8441, 5
	agreed := []string{"HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Accept: ok"}
	for _, c := range []struct {
		fields []string
		tunnel bool
		want   string
	}{
		{[]string{":status", "200", "sec-websocket-protocol", "chat"}, true, lines(append(agreed, "sec-websocket-protocol: chat")...)},
		{[]string{":status", "204", "content-length", "5", "sec-websocket-accept", "its own", "x", "y"}, true, lines(append(agreed, "x: y")...)},
		{[]string{":status", "403"}, false, lines("HTTP/1.1 403 ", "Transfer-Encoding: chunked")},
		{[]string{":status", "103"}, false, lines("HTTP/1.1 103 ")},
	} {
		head, err := NewReader(16<<10).ReadResponse(block(c.fields...), false, false, "ok")
		if err != nil || head.Malformed != "" || head.Tunnel != c.tunnel || string(head.Text) != c.want || (c.tunnel && head.Length != -1) {
			t.Errorf("%q: %v, %+v\n%s\nwant\n%s", c.fields, err, head, head.Text, c.want)
		}
	}
	if head, err := NewReader(16<<10).ReadResponse(block(":status", "101"), false, false, "ok"); err != nil || head.Malformed == "" {
		t.Errorf("%v, %+v", err, head)
	}
}

func TestResponseHeadsBecomeHTTP11(t *testing.T) {
	for _, c := range []struct {
		fields    []string
		bare, end bool
		want      string
		length    int64
	}{
		{[]string{":status", "200", "x", "y"}, false, false, lines("HTTP/1.1 200 ", "x: y", "Transfer-Encoding: chunked"), -1},
		{[]string{":status", "200", "content-length", "5"}, false, false, lines("HTTP/1.1 200 ", "Content-Length: 5"), 5},
		{[]string{":status", "200", "content-length", "5", "trailer", "x"}, false, false, lines("HTTP/1.1 200 ", "trailer: x", "Transfer-Encoding: chunked"), -1},
		{[]string{":status", "200"}, false, true, lines("HTTP/1.1 200 ", "Content-Length: 0"), 0},
		{[]string{":status", "200", "content-length", "5"}, true, true, lines("HTTP/1.1 200 ", "Content-Length: 5"), 0},
		{[]string{":status", "200"}, true, true, lines("HTTP/1.1 200 "), 0},
		{[]string{":status", "304", "etag", "x"}, false, true, lines("HTTP/1.1 304 ", "etag: x"), 0},
		{[]string{":status", "204"}, false, false, lines("HTTP/1.1 204 "), 0},
		{[]string{":status", "103", "link", "x"}, false, false, lines("HTTP/1.1 103 ", "link: x"), 0},
		{[]string{":status", "999", "set-cookie", "a", "set-cookie", "b"}, false, true, lines("HTTP/1.1 999 ", "set-cookie: a", "set-cookie: b", "Content-Length: 0"), 0},
	} {
		r := NewReader(16 << 10)
		for range 2 { // the second time from the table
			head, err := r.ReadResponse(block(c.fields...), c.bare, c.end, "")
			if err != nil || head.Malformed != "" || head.Large || string(head.Text) != c.want || head.Length != c.length {
				t.Errorf("%q: %v, %+v\n%s\nwant\n%s", c.fields, err, head, head.Text, c.want)
			}
		}
	}
	for _, fields := range [][]string{
		{}, {"x", "y"}, {":status", ""}, {":status", "20"}, {":status", "2000"}, {":status", "099"}, {":status", "2x0"}, {":status", "+20"},
		{":status", "101"}, {":status", "103"}, {":status", "200", ":status", "200"}, {"x", "y", ":status", "200"}, {":status", "200", ":path", "/"},
		{":status", "200", "content-length", "5"}, {":status", "200", "content-length", "x"}, {":status", "200", "connection", "close"},
		{":status", "200", "transfer-encoding", "chunked"}, {":status", "200", "X", "y"}, {":status", "200", "x", "y\r\nz: a"},
	} {
		head, err := NewReader(16<<10).ReadResponse(block(fields...), false, true, "")
		if err != nil || head.Malformed == "" || len(head.Text) > 0 {
			t.Errorf("%q: %v, %q", fields, err, head.Text)
		}
	}
	if head, err := NewReader(1<<10).ReadResponse(block(":status", "200", "x", strings.Repeat("y", 1000)), false, true, ""); err != nil || !head.Large || len(head.Text) > 0 {
		t.Errorf("%v, %+v", err, head)
	}
}

// FuzzResponseHead checks that every block becomes one complete response for package wire, or none.
func FuzzResponseHead(f *testing.F) {
	f.Add(block(":status", "200", "content-length", "5", "x", "y"), false, false, false)
	f.Add(block(":status", "103", "link", "x"), false, false, false)
	f.Add(block(":status", "200", "x", "y\r\n\r\nHTTP/1.1 200 OK"), true, true, false)
	f.Add(block(":status", "200", "sec-websocket-protocol", "x", "content-length", "5"), false, false, true)
	f.Fuzz(func(t *testing.T, text []byte, bare, end, connects bool) {
		accept := ""
		if connects {
			accept, bare = "accepted", false
		}
		head, err := NewReader(1<<10).ReadResponse(text, bare, end, accept)
		if err != nil {
			if _, ok := errors.AsType[*Fault](err); !ok {
				t.Fatal(err)
			}
			return
		}
		if head.Malformed != "" || head.Large {
			return
		}
		kind := wire.Safe
		if bare {
			kind = wire.Head
		}
		var r wire.Response
		n, err := r.Parse(head.Text, kind)
		if err != nil {
			return
		}
		if head.Tunnel != (r.Status == 101) || (head.Tunnel && (!connects || head.Status/100 != 2 || head.Length != -1 || string(r.Upgrade) != "websocket")) {
			t.Fatalf("%q: %+v", head.Text, head)
		}
		if head.Tunnel {
			head.Status, head.Length = 101, 0
		}
		if n != len(head.Text) || bytes.Count(head.Text, []byte("\r\n\r\n")) != 1 || r.Status != head.Status || r.Close {
			t.Fatalf("%d bytes of %d: %q: %+v", n, len(head.Text), head.Text, r)
		}
		want := wire.Body{Kind: wire.Chunked}
		switch {
		case bare || r.Status < 200 || r.Status == 204 || r.Status == 304:
			want.Kind = wire.None
		case head.Length >= 0:
			want = wire.Body{Kind: wire.Sized, Length: head.Length}
		}
		if r.Body != want || (r.Body.Kind == wire.None && head.Length != 0) {
			t.Fatalf("%q: %+v, want %+v, %d", head.Text, r.Body, want, head.Length)
		}
	})
}
