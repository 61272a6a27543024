// Fuzzing of an exchange: arbitrary bytes from a client and from a server.

package proxy

import (
	"bufio"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"faceoff/gateway/cache"
)

// FuzzExchange checks that the gateway survives anything that a client and a server send, in any
// pieces, and that nothing of the exchange remains.
func FuzzExchange(f *testing.F) {
	const get, post = "GET /v1/a HTTP/1.1\r\nHost: a\r\n\r\n", "POST /v1/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, seed := range []struct{ client, server string }{
		{get + get, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"},
		{get, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a\r\nok\r\n0\r\nX: y\r\n\r\n"},
		{post + "2\r\nok\r\n0\r\nX: y\r\n\r\n" + get, "HTTP/1.1 103 x\r\n\r\nHTTP/1.1 204 x\r\n\r\n"},
		{post + "2\r\nok\r\n3x", "HTTP/1.1 413 x\r\nConnection: close\r\n\r\nno"},
		{"GET /v1/a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nearly", "HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nlate"},
		{"HEAD /v1/a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + "GET /nowhere HTTP/1.0\r\n\r\n", "HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\n"},
		{"POST /v1/a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello", "HTTP/1.1 100 x\r\n\r\nHTTP/1.1 200 x\r\n\r\n"},
		{"GET /v1/a HTTP/1.1\r\nHost : a\r\n\r\n", "SSH-2.0"},
		{get + get + "HEAD" + get[3:], "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nVary: x\r\nETag: \"x\"\r\nContent-Length: 2\r\n\r\nok"},
		{"GET /v1/a?b HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 304 x\r\nETag: \"x\"\r\n\r\n"},
	} {
		for _, cut := range []uint8{0, 10, 80} {
			f.Add([]byte(seed.client), []byte(seed.server), cut)
		}
	}
	var says atomic.Pointer[[]byte]
	server := startRaw(f, func(conn net.Conn, r *bufio.Reader) {
		if _, err := r.ReadByte(); err == nil {
			conn.Write(*says.Load())
		}
	})
	g := start(f, server, func(g *given) {
		g.HeadTimeout, g.Stall, g.upstreams[0].Answer = 200*time.Millisecond, 200*time.Millisecond, 200*time.Millisecond
		g.routes[1].Cache = cache.New(cache.Limits{Size: 1 << 20, Object: 1 << 16})
	})
	nth := int64(0)
	f.Fuzz(func(t *testing.T, client, server []byte, cut uint8) {
		says.Store(&server)
		conn, err := net.Dial("tcp", g.address)
		if err != nil {
			t.Fatal(err)
		}
		nth++
		n := min(int(cut), len(client))
		conn.Write(client[:n])
		conn.Write(client[n:])
		conn.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		io.Copy(io.Discard, conn)
		g.left(t, conn, nth)
	})
}
