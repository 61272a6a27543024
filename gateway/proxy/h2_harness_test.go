// An HTTP/2 client that sends single frames.

package proxy

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"

	"faceoff/gateway/h2"
)

// framer is an HTTP/2 client that sends single frames.
type framer struct {
	*testClient
	block   bytes.Buffer
	encoder *hpack.Encoder
	decoder *hpack.Decoder
	closed  bool // the last head ended the response
}

func connectFramed(t *testing.T, address string) *framer {
	t.Helper()
	return speakFramed(t, connectTo(t, address))
}

// speakFramed starts HTTP/2 over a connection.
func speakFramed(t *testing.T, over *testClient) *framer {
	t.Helper()
	f := &framer{testClient: over}
	f.encoder, f.decoder = hpack.NewEncoder(&f.block), hpack.NewDecoder(h2.TableSize, nil)
	f.raw(h2.AppendSettings([]byte(h2.Preface)))
	return f
}

func (f *framer) raw(text []byte) {
	f.t.Helper()
	if _, err := f.Write(text); err != nil {
		f.t.Fatal(err)
	}
}

// fields encodes the fields of every request, plus more, given as names and values.
func (f *framer) fields(more ...string) []byte {
	f.block.Reset()
	all := append([]string{":method", "GET", ":scheme", "http", ":authority", "a", ":path", "/product/"}, more...)
	if len(more) > 0 && strings.HasPrefix(more[0], ":") {
		all = more
	}
	for i := 0; i < len(all); i += 2 {
		// A buffer never fails.
		f.encoder.WriteField(hpack.HeaderField{Name: all[i], Value: all[i+1]})
	}
	return f.block.Bytes()
}

func frame(kind h2.Type, flags uint8, stream uint32, payload []byte) []byte {
	return append(h2.AppendFrame(nil, len(payload), kind, flags, stream), payload...)
}

// ask sends the head of a request.
func (f *framer) ask(stream uint32, end bool, more ...string) {
	f.t.Helper()
	flags := uint8(h2.EndHeaders)
	if end {
		flags |= h2.EndStream
	}
	f.raw(frame(h2.Headers, flags, stream, f.fields(more...)))
}

// any reads a frame.
func (f *framer) any() h2.Frame {
	f.t.Helper()
	got, err := readFrame(f.r)
	if err != nil {
		f.t.Fatalf("reading a frame: %v", err)
	}
	return got
}

// next reads a frame other than SETTINGS and WINDOW_UPDATE.
func (f *framer) next() h2.Frame {
	f.t.Helper()
	for {
		if got := f.any(); got.Type != h2.Settings && got.Type != h2.WindowUpdate {
			return got
		}
	}
}

// status reads the head of a response.
func (f *framer) status(stream uint32) (status string) {
	f.t.Helper()
	got := f.next()
	if got.Type != h2.Headers || got.Stream != stream || got.Flags&h2.EndHeaders == 0 {
		f.t.Fatalf("%+v in place of an answer on %d", got, stream)
	}
	fields, err := f.decoder.DecodeFull(got.Payload)
	if err != nil || fields[0].Name != ":status" {
		f.t.Fatalf("%v: %v", fields, err)
	}
	f.closed = got.Flags&h2.EndStream != 0
	return fields[0].Value
}

// content reads a body.
func (f *framer) content(stream uint32) string {
	f.t.Helper()
	var all []byte
	for {
		if f.closed {
			return string(all)
		}
		got := f.next()
		if got.Type != h2.Data || got.Stream != stream {
			f.t.Fatalf("%+v after %d bytes of %d", got, len(all), stream)
		}
		all = append(all, got.Payload...)
		f.closed = got.Flags&h2.EndStream != 0
	}
}

func (f *framer) wantReset(stream uint32, code h2.Code) {
	f.t.Helper()
	got := f.next()
	if got.Type != h2.Reset || got.Stream != stream || h2.Code(binary.BigEndian.Uint32(got.Payload)) != code {
		f.t.Fatalf("%+v in place of a reset of %d for %d", got, stream, code)
	}
}

func (f *framer) wantGoAway(code h2.Code) (last uint32) {
	f.t.Helper()
	got := f.next()
	for got.Type != h2.GoAway {
		got = f.next()
	}
	if found := h2.Code(binary.BigEndian.Uint32(got.Payload[4:])); found != code {
		f.t.Fatalf("it says farewell for %d, want %d", found, code)
	}
	return binary.BigEndian.Uint32(got.Payload)
}
