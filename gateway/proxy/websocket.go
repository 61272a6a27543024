// WebSocket starts with Upgrade over HTTP/1.1 (RFC 6455) and with CONNECT over HTTP/2 (RFC 8441).
// Only the handshake differs. If one side uses HTTP/2 and the other HTTP/1.1, the gateway handles
// the key and its answer itself. A server whose HTTP/2 lacks that CONNECT gets an HTTP/1.1
// connection of its own.

package proxy

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"math/rand/v2"

	"faceoff/gateway/wire"
)

const (
	accepted = "sec-websocket-accept"

	// suffix is appended to a key before it is hashed (RFC 6455, 4.2.2).
	suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
)

// newKey returns a random key.
func newKey() string {
	var bytes [16]byte
	binary.BigEndian.PutUint64(bytes[:], rand.Uint64())
	binary.BigEndian.PutUint64(bytes[8:], rand.Uint64())
	return base64.StdEncoding.EncodeToString(bytes[:])
}

// withKey adds a key to the head of a request.
func withKey(head []byte, key string) []byte {
	to := append(head[:len(head)-2], "Sec-WebSocket-Key: "...)
	to = append(to, key...)
	return append(to, "\r\n\r\n"...)
}

// acceptOf returns the server's answer to a key.
func acceptOf(key string) string {
	sum := sha1.Sum([]byte(key + suffix))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// asksWebSocket reports whether the request is one for WebSocket.
func (c *client) asksWebSocket() bool { return wire.Equal(c.upgrade, "websocket") }

// agreed returns why a response to a WebSocket request cannot be passed on. Any 2xx would tell the
// client that the switch succeeded.
func (st *clientStream) agreed(r *wire.Response) error {
	switch {
	case r.Status == 101 &&
		(!wire.Equal(r.Upgrade, "websocket") || string(r.Only(accepted)) != acceptOf(st.key)):
		return &wire.Refusal{Reason: "it switched to WebSocket without having read the key"}
	case r.Status >= 200 && r.Status < 300:
		return &wire.Refusal{Reason: "it did not switch to WebSocket"}
	}
	return nil
}
