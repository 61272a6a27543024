// Encodes requests for servers, from the text that package wire writes.

package h2

import (
	"bytes"

	"faceoff/gateway/wire"
)

// SentRequest is what AppendRequest has read of a request.
type SentRequest struct {
	Taken int       // length of the head
	Body  wire.Body // the body's framing
	Bare  bool      // its response has no body
	Key   string    // Sec-WebSocket-Key, if WebSocket is requested by CONNECT
}

// AppendRequest writes the request that text begins with, for a server. The text is what
// wire.AppendRequest writes: Host comes first, and no connection-specific fields follow except
// those skipped here. If connects, a WebSocket request becomes a CONNECT (RFC 8441, 5).
func (a *Writer) AppendRequest(
	to []byte,
	stream uint32,
	text []byte,
	secure, forget, connects bool,
) ([]byte, SentRequest) {
	line, rest, _ := bytes.Cut(text, lineEnd)
	name, line, _ := bytes.Cut(line, []byte(" "))
	target, _, _ := bytes.Cut(line, []byte(" "))
	line, rest, _ = bytes.Cut(rest, lineEnd)
	_, host, _ := bytes.Cut(line, fieldColon)
	sent := SentRequest{Bare: string(name) == "HEAD"}
	if connects && string(name) == "GET" {
		sent.Key = webSocketKey(rest)
	}
	if sent.Key != "" {
		name, sent.Body.Kind = []byte("CONNECT"), wire.UntilEnd
	}
	a.start(to, forget)
	a.requestLine(name, target, host, secure)
	if sent.Key != "" {
		a.Field([]byte(":protocol"), []byte("websocket"))
	}
	for {
		line, rest, _ = bytes.Cut(rest, lineEnd)
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, fieldColon)
		switch {
		// 8.2.2; HTTP/2 does not switch protocols.
		case wire.Equal(name, "connection"), wire.Equal(name, "upgrade"):
			continue
		case sent.Key != "" && wire.Equal(name, webSocketKeyName):
			continue
		case wire.Equal(name, "transfer-encoding"):
			sent.Body = wire.Body{Kind: wire.Chunked}
			continue
		// It is zero; what follows belongs to the tunnel.
		case sent.Key != "" && wire.Equal(name, "content-length"):
			continue
		case wire.Equal(name, "content-length"):
			length, _ := decimal(string(value)) // it was validated
			sent.Body = wire.Body{Kind: wire.Sized, Length: length}
		}
		a.Field(name, value)
	}
	sent.Taken = len(text) - len(rest)
	return a.End(stream, sent.Body.Empty()), sent
}

// requestLine writes the pseudo-header fields.
func (a *Writer) requestLine(name, target, host []byte, secure bool) {
	switch string(name) {
	case "GET":
		a.to = append(a.to, 0x80|2)
	case "POST":
		a.to = append(a.to, 0x80|3)
	default:
		a.to = append(a.to, 2)
		a.text(name)
	}
	if secure {
		a.to = append(a.to, 0x80|7)
	} else {
		a.to = append(a.to, 0x80|6)
	}
	a.to = append(a.to, 4)
	a.text(target)
	if len(host) > 0 { // HTTP/1.0 may have none
		a.to = append(a.to, 1)
		a.text(host)
	}
}

const webSocketKeyName = "sec-websocket-key"

// webSocketKey returns the key of a WebSocket request (RFC 6455, 4.1) from its fields, or "".
func webSocketKey(fields []byte) (key string) {
	upgrades := false
	for {
		line, rest, _ := bytes.Cut(fields, lineEnd)
		name, value, _ := bytes.Cut(line, fieldColon)
		switch {
		case len(line) == 0 && upgrades:
			return key
		case wire.Equal(name, "content-length") && string(value) == "0":
		case len(line) == 0,
			wire.Equal(name, "transfer-encoding"),
			wire.Equal(name, "content-length"),
			key != "" && wire.Equal(name, webSocketKeyName):
			return ""
		case wire.Equal(name, "upgrade"):
			upgrades = wire.Equal(value, "websocket")
		case wire.Equal(name, webSocketKeyName):
			key = string(value)
		}
		fields = rest
	}
}

var lineEnd, fieldColon = []byte("\r\n"), []byte(": ")
