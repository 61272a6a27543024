// Compression end to end, in every framing.

package proxy

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"faceoff/gateway/compress"
)

// compressing enables compression for the first route.
func compressing(g *given) {
	g.Workers = 1
	g.routes[0].Compress = &compress.Rules{Above: 100, Types: compress.Types()}
}

// uncompressed reads and decompresses a body.
func uncompressed(t *testing.T, response *http.Response) string {
	t.Helper()
	if got := response.Header.Get("Content-Encoding"); got != "gzip" {
		t.Errorf("it is encoded as %q", got)
	}
	reader, err := gzip.NewReader(strings.NewReader(body(t, response)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Errorf("after %d bytes: %v", len(text), err)
	}
	return string(text)
}

// startCompressible answers each path with the same text in another framing.
func startCompressible(t *testing.T, long string) string {
	return startRaw(t, func(conn net.Conn, r *bufio.Reader) {
		for {
			request, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			const head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nETag: \"x\"\r\nAccept-Ranges: bytes\r\n"
			switch request.URL.Path {
			case "/sized":
				fmt.Fprintf(conn, head+"Content-Length: %d\r\n\r\n%s", len(long), long)
			case "/chunked":
				fmt.Fprintf(conn, head+"Trailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\nX-Sum: 5\r\n\r\n", len(long), long)
			case "/until-end":
				fmt.Fprintf(conn, head+"\r\n%s", long)
				return
			case "/short":
				io.WriteString(conn, head+"Content-Length: 5\r\n\r\nshort")
			}
		}
	})
}

func TestResponsesAreCompressed(t *testing.T) {
	long := strings.Repeat("all about products. ", 20000)
	upstream := startCompressible(t, long)
	g := start(t, upstream, compressing)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	for _, transport := range []*http.Transport{{}, {Protocols: protocols}} {
		transport.DisableCompression = true // the test decompresses
		client := &http.Client{Transport: transport}
		get := func(path, accept string) *http.Response {
			request, err := http.NewRequest("GET", "http://"+g.address+"/product"+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Accept-Encoding", accept)
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			return response
		}
		for _, path := range []string{"/sized", "/chunked", "/until-end"} {
			response := get(path, "br, gzip")
			if got := uncompressed(t, response); got != long {
				t.Errorf("%s: %d bytes of %d", path, len(got), len(long))
			}
			if h := response.Header; h.Get("Vary") != "Accept-Encoding" || h.Get("Etag") != `W/"x"` || h.Get("Accept-Ranges") != "" || response.ContentLength >= 0 {
				t.Errorf("%s: %v", path, h)
			}
			if sum := response.Trailer.Get("X-Sum"); (sum == "5") != (path == "/chunked") {
				t.Errorf("%s: the trailer is %q", path, sum)
			}
			response = get(path, "gzip;q=0")
			if got := body(t, response); got != long {
				t.Errorf("%s: %d bytes of %d", path, len(got), len(long))
			}
			if h := response.Header; h.Get("Vary") != "Accept-Encoding" || h.Get("Etag") != `"x"` || h.Get("Content-Encoding") != "" {
				t.Errorf("%s: %v", path, h)
			}
		}
		if response := get("/short", "gzip"); body(t, response) != "short" || response.Header.Get("Vary") != "" || response.Header.Get("Etag") != `"x"` {
			t.Errorf("%v", response.Header)
		}
		client.CloseIdleConnections()
	}
	g.counted(t, "gateway_compressed_total", 6)

	old := connectTo(t, g.address) // HTTP/1.0 has no chunks
	old.say("GET /product/sized HTTP/1.0\nHost: a\nAccept-Encoding: gzip\n\n")
	if got := uncompressed(t, old.answer("GET")); got != long {
		t.Errorf("%d bytes of %d", len(got), len(long))
	}
}

func TestCompressedResponsesAreFlushed(t *testing.T) {
	more := make(chan struct{})
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "first")
		w.(http.Flusher).Flush()
		receive(t, more, "the reader")
		io.WriteString(w, ", second")
	})
	c := connectTo(t, start(t, upstream, compressing).address)
	c.say("GET /product/ HTTP/1.1\nHost: a\nAccept-Encoding: gzip\n\n")
	reader, err := gzip.NewReader(c.answer("GET").Body)
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, len("first"))
	if _, err := io.ReadFull(reader, first); err != nil || string(first) != "first" {
		t.Fatalf("%q, %v", first, err)
	}
	close(more)
	if rest, err := io.ReadAll(reader); err != nil || string(rest) != ", second" {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestCompressedResponsesAreLimited(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 1000)
	release := make(chan struct{})
	upstream := startUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Write(long)
		w.(http.Flusher).Flush()
		receive(t, release, "the release")
	})
	g := start(t, upstream, compressing)
	var all []*testClient
	for range maxCompressors + 2 {
		c := connectTo(t, g.address)
		c.say("GET /product/ HTTP/1.1\nHost: a\nAccept-Encoding: gzip\n\n")
		all = append(all, c)
	}
	g.counted(t, "gateway_compressed_total", maxCompressors)
	g.counted(t, "gateway_uncompressed_total", 2)
	all[0].Close() // one that was compressed, or one that was not
	close(release)
	for _, c := range all[1:] {
		response := c.answer("GET")
		if response.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%v", response.Header)
		}
		var text string
		if response.Header.Get("Content-Encoding") == "" {
			text = body(t, response)
		} else {
			text = uncompressed(t, response)
		}
		if text != string(long) {
			t.Errorf("%d bytes", len(text))
		}
	}
	g.counted(t, "gateway_upstream_requests", 0)
	c := connectTo(t, g.address)
	c.say("GET /product/ HTTP/1.1\nHost: a\nAccept-Encoding: gzip\n\n")
	if got := uncompressed(t, c.answer("GET")); got != string(long) {
		t.Errorf("%d bytes", len(got))
	}
}
