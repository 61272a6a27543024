// Decoding of frames and header blocks, and fuzzing of requests.

package h2

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"

	"faceoff/gateway/wire"
)

// block encodes fields, given as names and values.
func block(fields ...string) []byte {
	var to bytes.Buffer
	encoder := hpack.NewEncoder(&to)
	for i := 0; i < len(fields); i += 2 {
		if err := encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
			panic(err) // a buffer never fails
		}
	}
	return to.Bytes()
}

// with adds fields to those of every request.
func with(fields ...string) []string {
	return append([]string{":method", "GET", ":scheme", "http", ":authority", "shop.example", ":path", "/a?b"}, fields...)
}

// connect is an extended CONNECT without its protocol.
func connect(fields ...string) []string {
	return append([]string{":method", "CONNECT", ":scheme", "https", ":authority", "a", ":path", "/a"}, fields...)
}

func lines(text ...string) string { return strings.Join(text, "\r\n") + "\r\n\r\n" }

func TestRequestHeadsBecomeHTTP11(t *testing.T) {
	for _, c := range []struct {
		fields []string
		end    bool
		want   string
	}{
		{with(), true, lines("GET /a?b HTTP/1.1", "Host: shop.example")},
		{with(), false, lines("GET /a?b HTTP/1.1", "Host: shop.example", "Transfer-Encoding: chunked")},
		{with("content-length", "5", "x", "y"), false, lines("GET /a?b HTTP/1.1", "Host: shop.example", "x: y", "Content-Length: 5")},
		{with("content-length", "0"), true, lines("GET /a?b HTTP/1.1", "Host: shop.example", "Content-Length: 0")},
		{with("cookie", "a=1", "x", "", "cookie", "b=2"), true, lines("GET /a?b HTTP/1.1", "Host: shop.example", "x: ", "cookie: a=1; b=2")},
		{with("te", "trailers"), true, lines("GET /a?b HTTP/1.1", "Host: shop.example", "Connection: TE", "TE: trailers")},
		{with("host", "Shop.Example"), true, lines("GET /a?b HTTP/1.1", "Host: shop.example")},
		{[]string{":method", "PUT", ":scheme", "https", ":path", "/", "host", "a:80"}, true, lines("PUT / HTTP/1.1", "Host: a:80", "Content-Length: 0")},
		{[]string{":method", "OPTIONS", ":scheme", "https", ":path", "*", ":authority", "a"}, true, lines("OPTIONS * HTTP/1.1", "Host: a")},
		{[]string{":method", "CONNECT", ":authority", "a:1"}, false, lines("CONNECT a:1 HTTP/1.1", "Host: a:1", "Transfer-Encoding: chunked")},
		{append([]string{":protocol", "websocket"}, connect("sec-websocket-key", "x", "origin", "b")...), false, lines("GET /a HTTP/1.1", "Host: a", "origin: b", "Connection: Upgrade", "Upgrade: websocket")},
		{append([]string{":protocol", "other"}, connect()...), false, lines("CONNECT a HTTP/1.1", "Host: a", "Transfer-Encoding: chunked")},
	} {
		r := NewReader(16 << 10)
		for range 2 { // the second time from the table
			head, err := r.Read(block(c.fields...), true, c.end)
			if err != nil || head.Malformed != "" || head.Large || string(head.Text) != c.want {
				t.Errorf("%q: %v, %+v\n%s\nwant\n%s", c.fields, err, head, head.Text, c.want)
			}
		}
	}
}

func TestMalformedHTTP2Requests(t *testing.T) {
	for _, fields := range [][]string{
		{}, {":method", "GET"}, {":method", "GET", ":scheme", "http", ":path", "/"}, {":method", "GET", ":path", "/", ":authority", "a"},
		{":method", "", ":scheme", "http", ":authority", "a", ":path", "/"}, {":method", "G T", ":scheme", "http", ":authority", "a", ":path", "/"},
		{":method", "GET", ":scheme", "http", ":authority", "a", ":path", ""}, {":method", "GET", ":scheme", "http", ":authority", "a", ":path", "x"},
		{":method", "GET", ":scheme", "http", ":authority", "a", ":path", "http://b/"}, {":method", "GET", ":scheme", "http", ":authority", "a", ":path", "*"},
		{":method", "GET", ":scheme", "http", ":authority", "", ":path", "/"}, {":method", "GET", ":scheme", "ftp", ":authority", "a", ":path", "/"},
		{":method", "CONNECT", ":authority", "a", ":path", "/"}, {":method", "CONNECT", "host", "a"},
		connect(), {":method", "CONNECT", ":authority", "a", ":protocol", "websocket"}, append([]string{":protocol", "websocket"}, connect("content-length", "0")...),
		with(":path", "/"), with("x", "y", ":status", "200"), with(":status", "200"), with(":protocol", "websocket"), append([]string{"x", "y"}, with()...),
		with("X", "y"), with("x y", "z"), with("x:", "z"), with("", "z"), with("x\r\ny", "z"),
		with("x", "y\r\nz: a"), with("x", "y\nz"), with("x", "y\x00"), with("x", " y"), with("x", "y\t"),
		with("connection", "close"), with("keep-alive", "1"), with("proxy-connection", "x"), with("transfer-encoding", "chunked"), with("upgrade", "x"),
		with("te", "gzip"), with("te", "trailers, gzip"), with("host", "other"), with("host", "shop.example", "host", "shop.example"),
		with("content-length", "1"), with("content-length", "x"), with("content-length", "+1"), with("content-length", ""), with("content-length", "0", "content-length", "0"),
		with("content-length", "99999999999999999999"),
	} {
		head, err := NewReader(16<<10).Read(block(fields...), true, true)
		if err != nil || head.Malformed == "" || len(head.Text) > 0 {
			t.Errorf("%q: %v, %q", fields, err, head.Text)
		}
	}
}

func TestTrailers(t *testing.T) {
	r := NewReader(16 << 10)
	head, err := r.Read(block("x-sum", "1", "y", "2"), false, true)
	if err != nil || head.Malformed != "" || string(head.Text) != lines("x-sum: 1", "y: 2") {
		t.Errorf("%v, %+v %q", err, head, head.Text)
	}
	if head, _ := r.Read(block(":path", "/"), false, true); head.Malformed == "" {
		t.Errorf("a path is among the trailers: %q", head.Text)
	}
}

func TestHeadsAreBounded(t *testing.T) {
	r := NewReader(1 << 10)
	long := with("x", strings.Repeat("y", 900))
	if head, err := r.Read(block(long...), true, true); err != nil || !head.Large {
		t.Errorf("%v, %+v", err, head)
	}
	// A small block with a large head: it repeats one field from the table.
	encoded := block("x", strings.Repeat("y", 500))
	encoded = append(encoded, bytes.Repeat([]byte{0x80 | 62}, 10000)...)
	if head, err := r.Read(encoded, true, true); err != nil || !head.Large || len(r.fields) > 1<<10 {
		t.Errorf("%v, %+v", err, head)
	}
	if head, err := r.Read(block(with()...), true, true); err != nil || head.Large || head.Malformed != "" {
		t.Errorf("the one after: %v, %+v", err, head)
	}
	for _, wrong := range [][]byte{{0x80}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, {0x40, 5, 'a'}, {0x3f, 0xff, 0xff, 0x7f}} {
		_, err := NewReader(1<<10).Read(wrong, true, true)
		if fault, ok := errors.AsType[*Fault](err); !ok || fault.Code != CompressionError {
			t.Errorf("%x: %v", wrong, err)
		}
	}
}

// understood decodes frames.
func understood(t *testing.T, text []byte) (fields []string, flags []uint8) {
	t.Helper()
	decoder := hpack.NewDecoder(TableSize, func(f hpack.HeaderField) { fields = append(fields, f.Name+": "+f.Value) })
	for len(text) > 0 {
		f, n, err := ParseFrame(text)
		if err != nil || n == 0 || f.Stream != 7 {
			t.Fatalf("%v, %d, stream %d", err, n, f.Stream)
		}
		if _, err := decoder.Write(f.Payload); err != nil {
			t.Fatal(err)
		}
		flags = append(flags, f.Flags)
		text = text[n:]
	}
	if err := decoder.Close(); err != nil {
		t.Fatal(err)
	}
	return fields, flags
}

func TestResponses(t *testing.T) {
	var a Writer
	for _, c := range []struct{ given, want string }{
		{lines("HTTP/1.1 200 OK", "Content-Type: a/b", "Connection: X-Hop", "X-Hop: 1", "X-Kept: "+strings.Repeat("v", 300), "Content-Length: 12"),
			":status: 200|content-type: a/b|x-kept: " + strings.Repeat("v", 300) + "|date: now|content-length: 12"},
		{lines("HTTP/1.1 404 Not Found", "Date: then", "Transfer-Encoding: chunked", "Trailer: x", "Keep-Alive: 1"), ":status: 404|date: then|trailer: x"},
		{lines("HTTP/1.1 418 x", strings.Repeat("LongName", 20)+": y", "Set-Cookie: a", "Set-Cookie: b", "Content-Length: 0"),
			":status: 418|" + strings.Repeat("longname", 20) + ": y|set-cookie: a|set-cookie: b|date: now|content-length: 0"},
		{lines("HTTP/1.1 103 Early Hints", "Link: x"), ":status: 103|link: x"},
		{lines("HTTP/1.1 200 OK", "Location: x", "X: "+strings.Repeat("w", 40000)), ":status: 200|location: x|x: " + strings.Repeat("w", 40000) + "|date: now"},
	} {
		var r wire.Response
		if n, err := r.Parse([]byte(c.given), wire.Safe); n == 0 || err != nil {
			t.Fatal(err)
		}
		for _, forget := range []bool{false, true} {
			fields, flags := understood(t, a.AppendResponse(nil, 7, &r, &wire.Inbound{Date: []byte("now")}, forget, true))
			if got := strings.Join(fields, "|"); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			if flags[0]&EndStream == 0 || flags[len(flags)-1]&EndHeaders == 0 || len(flags) != 1+len(c.want)/MaxFrame {
				t.Errorf("flags %v", flags)
			}
		}
	}
	fields, flags := understood(t, a.AppendTrailers(nil, 7, []byte(lines("X-Sum: 1", "Y: "))))
	if got := strings.Join(fields, "|"); got != "x-sum: 1|y: " || flags[0] != EndStream|EndHeaders {
		t.Errorf("%s, flags %v", got, flags)
	}
}

func TestFramesAreParsed(t *testing.T) {
	text := append(AppendFrame(nil, 3, Data, padded, 1<<31|5), 1, 'a', 0)
	for cut := range text {
		if _, n, err := ParseFrame(text[:cut]); n != 0 || err != nil {
			t.Errorf("of %d bytes: %d, %v", cut, n, err)
		}
	}
	f, n, err := ParseFrame(append(text, 'x'))
	if err != nil || n != len(text) || f.Type != Data || f.Stream != 5 {
		t.Errorf("%v, %d, %+v", err, n, f)
	}
	if content, err := f.Content(); err != nil || string(content) != "a" {
		t.Errorf("%q, %v", content, err)
	}
	for _, wrong := range []Frame{
		{Data, padded, 1, nil}, {Data, padded, 1, []byte{1}}, {Headers, prioritised, 1, []byte("four")}, {Headers, padded | prioritised, 1, []byte{1, 0, 0, 0, 0, 0}},
	} {
		if content, err := wrong.Content(); err == nil {
			t.Errorf("%+v has %q", wrong, content)
		}
	}
	if _, _, err := ParseFrame(AppendFrame(nil, MaxFrame+1, Data, 0, 1)); err == nil {
		t.Error("a frame that is too long was let in")
	}
}

// FuzzHead checks that every block becomes one complete request for package wire, or none.
func FuzzHead(f *testing.F) {
	f.Add(block(with("cookie", "a", "te", "trailers", "content-length", "5")...), false)
	f.Add(block(with("x", "y\r\n\r\nGET / HTTP/1.1\r\nhost: a")...), true)
	f.Add(block(with(":path", "/ HTTP/1.1\r\nhost: b")...), true)
	f.Add(block(":method", "CONNECT", ":authority", "a"), true)
	f.Add(block(append([]string{":protocol", "websocket"}, connect("sec-websocket-key", "x", "te", "trailers")...)...), false)
	f.Fuzz(func(t *testing.T, text []byte, end bool) {
		reader := NewReader(1 << 10)
		for range 2 {
			head, err := reader.Read(text, true, end)
			if err != nil {
				if _, ok := errors.AsType[*Fault](err); !ok {
					t.Fatal(err)
				}
				return
			}
			if head.Malformed != "" || head.Large {
				continue
			}
			var r wire.Request
			n, err := r.Parse(head.Text)
			if err != nil {
				continue
			}
			if n != len(head.Text) || bytes.Count(head.Text, []byte("\r\n\r\n")) != 1 {
				t.Fatalf("%d bytes of %d: %q", n, len(head.Text), head.Text)
			}
			want := wire.Body{Kind: wire.Chunked}
			switch {
			case head.Tunnel:
				want = wire.Body{}
			case head.Length >= 0:
				want = wire.Body{Kind: wire.Sized, Length: head.Length}
			case end:
				want.Kind = r.Body.Kind
				if r.Body.Kind == wire.Chunked {
					t.Fatalf("%q has a body", head.Text)
				}
			}
			if r.Close || (r.Upgrade != nil) != head.Tunnel || r.Minor != 1 || r.Body != want {
				t.Fatalf("%q: %+v", head.Text, r)
			}
		}
	})
}

// BenchmarkRequest measures parsing a request whose fields are in the table.
func BenchmarkRequest(b *testing.B) {
	var to bytes.Buffer
	encoder := hpack.NewEncoder(&to)
	encode := func() []byte {
		to.Reset()
		fields := with("user-agent", "Mozilla/5.0 (X11; Linux x86_64)", "accept", "application/json", "accept-encoding", "gzip, br", "accept-language", "en-GB", "cookie", "session=0123456789abcdef")
		for i := 0; i < len(fields); i += 2 {
			// A buffer never fails.
			encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
		}
		return bytes.Clone(to.Bytes())
	}
	reader := NewReader(16 << 10)
	first, then := encode(), encode()
	if _, err := reader.Read(first, true, true); err != nil {
		b.Fatal(err)
	}
	var r wire.Request
	b.ReportAllocs()
	for b.Loop() {
		head, err := reader.Read(then, true, true)
		if err != nil {
			b.Fatal(err)
		}
		if n, err := r.Parse(head.Text); n == 0 || err != nil {
			b.Fatal(n, err)
		}
	}
}
