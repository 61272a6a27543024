package proxy

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"math/rand/v2"

	"faceoff/systems/gateway/wire"
)

// Over HTTP/1.1 WebSocket is asked for by Upgrade (RFC 6455), over HTTP/2 by CONNECT (RFC 8441), of the gateway as of servers. Between these two only the
// handshake differs: where either end speaks HTTP/2, the key and the answer to it are between the gateway and the other.

const (
	accepted = "sec-websocket-accept"

	// suffix is what a server adds to a key before it answers it (RFC 6455, 4.2.2).
	suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
)

// newKey is a key that was not used before, most likely.
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

// acceptOf is what a server answers a key with.
func acceptOf(key string) string {
	sum := sha1.Sum([]byte(key + suffix))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// agreed is why an answer to a request for WebSocket cannot be passed on: any 2xx would mean to the client that it was agreed to.
func (st *stream) agreed(r *wire.Response) error {
	switch {
	case r.Status == 101 && (!wire.Equal(r.Upgrade, "websocket") || string(r.Only(accepted)) != acceptOf(st.key)):
		return &wire.Refusal{Reason: "it switched to WebSocket without having read the key"}
	case r.Status >= 200 && r.Status < 300:
		return &wire.Refusal{Reason: "it did not switch to WebSocket"}
	}
	return nil
}
