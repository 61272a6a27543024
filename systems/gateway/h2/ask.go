package h2

import (
	"bytes"

	"faceoff/systems/gateway/wire"
)

// Asked is what AppendRequest has read of a request.
type Asked struct {
	Taken int       // bytes of its head
	Body  wire.Body // what follows the head
	Bare  bool      // its answer has no body
	Key   string    // of a request for WebSocket, where that is asked for by CONNECT
}

// AppendRequest writes the request that text begins with as it goes to a server. The text is as wire.AppendRequest writes it: its
// first field is Host, and of what belongs to connections alone there is nothing but what is left out here. Where the server connects,
// it is asked for WebSocket by CONNECT (RFC 8441, 5).
func (a *Writer) AppendRequest(to []byte, stream uint32, text []byte, secure, forget, connects bool) ([]byte, Asked) {
	line, rest, _ := bytes.Cut(text, lineEnd)
	name, line, _ := bytes.Cut(line, []byte(" "))
	target, _, _ := bytes.Cut(line, []byte(" "))
	line, rest, _ = bytes.Cut(rest, lineEnd)
	_, host, _ := bytes.Cut(line, fieldColon)
	asked := Asked{Bare: string(name) == "HEAD"}
	if connects && string(name) == "GET" {
		asked.Key = webSocketKey(rest)
	}
	if asked.Key != "" {
		name, asked.Body.Kind = []byte("CONNECT"), wire.UntilEnd
	}
	a.start(to, forget)
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
	if len(host) > 0 { // HTTP/1.0 may name none
		a.to = append(a.to, 1)
		a.text(host)
	}
	if asked.Key != "" {
		a.Field([]byte(":protocol"), []byte("websocket"))
	}
	for {
		line, rest, _ = bytes.Cut(rest, lineEnd)
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, fieldColon)
		switch {
		case wire.Equal(name, "connection"), wire.Equal(name, "upgrade"): // 8.2.2; nothing is switched to in HTTP/2
			continue
		case asked.Key != "" && wire.Equal(name, webSocketKeyName):
			continue
		case wire.Equal(name, "transfer-encoding"):
			asked.Body = wire.Body{Kind: wire.Chunked}
			continue
		case wire.Equal(name, "content-length"):
			length, _ := decimal(string(value)) // it is one
			asked.Body = wire.Body{Kind: wire.Sized, Length: length}
		}
		a.Field(name, value)
	}
	asked.Taken = len(text) - len(rest)
	return a.End(stream, asked.Body.Kind == wire.None || (asked.Body.Kind == wire.Sized && asked.Body.Length == 0)), asked
}

const webSocketKeyName = "sec-websocket-key"

// webSocketKey is the key of a request for WebSocket (RFC 6455, 4.1), whose fields are given; empty for others.
func webSocketKey(fields []byte) (key string) {
	asks := false
	for {
		line, rest, _ := bytes.Cut(fields, lineEnd)
		name, value, _ := bytes.Cut(line, fieldColon)
		switch {
		case len(line) == 0 && asks:
			return key
		case len(line) == 0, wire.Equal(name, "transfer-encoding"), wire.Equal(name, "content-length"), key != "" && wire.Equal(name, webSocketKeyName):
			return ""
		case wire.Equal(name, "upgrade"):
			asks = wire.Equal(value, "websocket")
		case wire.Equal(name, webSocketKeyName):
			key = string(value)
		}
		fields = rest
	}
}

var lineEnd, fieldColon = []byte("\r\n"), []byte(": ")
