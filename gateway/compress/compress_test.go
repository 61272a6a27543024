// Which responses are compressed, and the compressor itself.

package compress

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"faceoff/gateway/wire"
)

func TestAcceptEncoding(t *testing.T) {
	for field, want := range map[string]bool{
		"": false, "gzip": true, "br, GZIP": true, "deflate;q=0.5,gzip ; q=0.1": true, "x-gzip": true, "*": true, "br;q=1, *;q=0.1": true,
		"br": false, "gzip;q=0": false, "gzip;q=0.000, *": false, "*;q=0": false, "identity": false, "gzip;q=0.001": true, "gzipped": false, ",,gzip": true, "*;q=0, gzip": true,
	} {
		if got := Accepts([]byte(field)); got != want {
			t.Errorf("%q: %v", field, got)
		}
	}
}

// answer parses the head of a response to GET.
func answer(t *testing.T, lines ...string) *wire.Response {
	t.Helper()
	var r wire.Response
	if n, err := r.Parse([]byte(strings.Join(lines, "\r\n")+"\r\n\r\n"), wire.Safe); n == 0 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	return &r
}

func TestCompressibleResponses(t *testing.T) {
	rules := &Rules{Above: 1000, Types: Types()}
	const ok, long = "HTTP/1.1 200 OK", "Content-Length: 1000"
	for _, c := range []struct {
		lines []string
		want  bool
	}{
		{[]string{ok, long, "Content-Type: application/json"}, true},
		{[]string{ok, long, "content-type: Text/HTML; charset=utf-8"}, true},
		{[]string{ok, "Transfer-Encoding: chunked", "Content-Type: application/problem+json"}, true},
		{[]string{ok, "Content-Type: image/svg+xml", "Cache-Control: max-age=5"}, true},
		{[]string{ok, "Content-Length: 999", "Content-Type: application/json"}, false},
		{[]string{ok, long}, false},
		{[]string{ok, long, "Content-Type: image/png"}, false},
		{[]string{ok, long, "Content-Type: text/event-stream"}, false},
		{[]string{ok, long, "Content-Type: application/+json-not"}, false},
		{[]string{ok, long, "Content-Type: text/"}, false},
		{[]string{ok, long, "Content-Type: text/html", "Content-Encoding: br"}, false},
		{[]string{ok, long, "Content-Type: text/html", "Content-Digest: sha-256=:x:"}, false},
		{[]string{ok, long, "Content-Type: text/html", "Cache-Control: private, No-Transform"}, false},
		{[]string{"HTTP/1.1 206 Partial Content", long, "Content-Type: text/html", "Content-Range: bytes 0-999/2000"}, false},
		{[]string{"HTTP/1.1 404 Not Found", long, "Content-Type: text/html"}, false},
		{[]string{"HTTP/1.1 304 Not Modified", long, "Content-Type: text/html"}, false},
	} {
		if got := rules.Fits(answer(t, c.lines...)); got != c.want {
			t.Errorf("%q: %v", c.lines, got)
		}
	}
	if streams := (&Rules{Types: []string{"text/event-stream"}}); !streams.Fits(answer(t, ok, "Content-Type: text/event-stream")) {
		t.Error("what was asked for by its name is not compressed")
	}
}

func TestTagsBecomeWeak(t *testing.T) {
	for given, want := range map[string]string{`"a"`: "ETag: W/\"a\"\r\n", `W/"a"`: "ETag: W/\"a\"\r\n"} {
		r := answer(t, "HTTP/1.1 200 OK", "ETag: "+given)
		if got, want := string(AppendLines(nil, r)), "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n"+want; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestCompressedOutputCanBeRead(t *testing.T) {
	var p Compressor
	for range 2 { // it is reused
		p.Begin()
		var sent bytes.Buffer
		var whole strings.Builder
		if len(p.Take()) > 0 {
			t.Error("there is something before anything was given")
		}
		for i, part := range []string{"one", "", strings.Repeat("two", 10000), "three"} {
			p.Add([]byte(part))
			whole.WriteString(part)
			if i == 2 {
				continue // this part and the next are taken together
			}
			sent.Write(p.Take())
			reader, err := gzip.NewReader(bytes.NewReader(sent.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			got := make([]byte, whole.Len())
			if _, err := io.ReadFull(reader, got); err != nil || string(got) != whole.String() {
				t.Errorf("%d bytes of %d can be read: %v", len(got), whole.Len(), err)
			}
		}
		sent.Write(p.End())
		reader, err := gzip.NewReader(&sent)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(reader); err != nil || string(got) != whole.String() {
			t.Errorf("%d bytes of %d, %v", len(got), whole.Len(), err)
		}
	}
}
