// Package h2 reads and writes HTTP/2: frames and header blocks. A header block becomes the text
// that HTTP/1.1 has for it, so that the strict parser of package wire checks both versions. The
// package does no I/O, and its only state is HPACK's table for reading.
//
// Start reading at ParseFrame, Reader and Writer. Sections in comments are those of RFC 9113.
package h2

import "encoding/binary"

// Type is the type of a frame.
type Type uint8

const (
	Data Type = iota
	Headers
	Priority
	Reset
	Settings
	PushPromise
	Ping
	GoAway
	WindowUpdate
	Continuation
)

// Flags of frames.
const (
	EndStream   = 0x1 // of Data and Headers
	Ack         = 0x1 // of Settings and Ping
	EndHeaders  = 0x4
	padded      = 0x8
	prioritised = 0x20
)

// Code is the reason why a stream or a connection ends (7).
type Code uint32

const (
	NoError Code = iota
	ProtocolError
	InternalError
	FlowControlError
	SettingsTimeout
	StreamClosed
	FrameSizeError
	RefusedStream
	Cancel
	CompressionError
	ConnectError
	EnhanceYourCalm
)

// Identifiers of settings (6.5.2).
const (
	HeaderTableSize      = 1
	EnablePush           = 2
	MaxConcurrentStreams = 3
	InitialWindowSize    = 4
	MaxFrameSize         = 5
	MaxHeaderListSize    = 6
	EnableConnect        = 8 // RFC 8441, 3
)

const (
	// Preface is what a client sends before its first frame (3.4).
	Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

	// FrameHead is the length of a frame's head.
	FrameHead = 9

	// MaxFrame is the default maximum payload (4.2).
	MaxFrame = 1 << 14

	// MaxFragments is how many frames a header block may take.
	MaxFragments = 16

	// Window is the default flow-control window of a stream and of a connection (6.9.2).
	Window = 1<<16 - 1

	// MaxWindow is the maximum window (6.9.1).
	MaxWindow = 1<<31 - 1

	// TableSize is the default size of HPACK's table (6.5.2).
	TableSize = 4096
)

// Fault is an error that ends a connection.
type Fault struct {
	Code   Code
	Reason string // for people
}

func (f *Fault) Error() string { return f.Reason }

// Frame is one frame. Its payload points into the bytes given to ParseFrame.
type Frame struct {
	Type    Type
	Flags   uint8
	Stream  uint32
	Payload []byte
}

// ParseFrame parses the frame at the beginning of text, and returns its length. Zero means that the
// frame is incomplete.
func ParseFrame(text []byte) (f Frame, n int, err error) {
	if len(text) < FrameHead {
		return f, 0, nil
	}
	length := int(text[0])<<16 | int(text[1])<<8 | int(text[2])
	if length > MaxFrame {
		return f, 0, &Fault{FrameSizeError, "a frame exceeds the maximum size"}
	}
	if len(text) < FrameHead+length {
		return f, 0, nil
	}
	return Frame{
		// The first bit is reserved.
		Type: Type(text[3]), Flags: text[4], Stream: binary.BigEndian.Uint32(text[5:]) & MaxWindow,
		Payload: text[FrameHead : FrameHead+length],
	}, FrameHead + length, nil
}

// Content returns the payload of Data and Headers without padding and priority (6.1, 6.2).
func (f *Frame) Content() ([]byte, error) {
	content, pad := f.Payload, 0
	if f.Flags&padded != 0 {
		if len(content) == 0 {
			return nil, &Fault{FrameSizeError, "a padded frame is empty"}
		}
		pad, content = int(content[0]), content[1:]
	}
	if f.Type == Headers && f.Flags&prioritised != 0 {
		if len(content) < 5 {
			return nil, &Fault{FrameSizeError, "a frame ends within its priority"}
		}
		content = content[5:]
	}
	if pad > len(content) {
		return nil, &Fault{ProtocolError, "a frame has more padding than payload"}
	}
	return content[:len(content)-pad], nil
}

// AppendFrame writes the head of a frame whose payload has n bytes.
func AppendFrame(to []byte, n int, kind Type, flags uint8, stream uint32) []byte {
	return append(to, byte(n>>16), byte(n>>8), byte(n), byte(kind), flags, byte(stream>>24),
		byte(stream>>16), byte(stream>>8), byte(stream))
}

// Setting is one setting of a SETTINGS frame.
type Setting struct {
	ID    uint16
	Value uint32
}

// AppendSettings writes a SETTINGS frame.
func AppendSettings(to []byte, settings ...Setting) []byte {
	to = AppendFrame(to, 6*len(settings), Settings, 0, 0)
	for _, s := range settings {
		to = binary.BigEndian.AppendUint16(to, s.ID)
		to = binary.BigEndian.AppendUint32(to, s.Value)
	}
	return to
}

// AppendWindow writes a WINDOW_UPDATE frame, for a stream or for the connection (0).
func AppendWindow(to []byte, stream, more uint32) []byte {
	return binary.BigEndian.AppendUint32(AppendFrame(to, 4, WindowUpdate, 0, stream), more)
}

// AppendReset writes a RST_STREAM frame.
func AppendReset(to []byte, stream uint32, code Code) []byte {
	return binary.BigEndian.AppendUint32(AppendFrame(to, 4, Reset, 0, stream), uint32(code))
}

// AppendGoAway writes a GOAWAY frame: streams above last are not served.
func AppendGoAway(to []byte, last uint32, code Code) []byte {
	to = binary.BigEndian.AppendUint32(AppendFrame(to, 8, GoAway, 0, 0), last)
	return binary.BigEndian.AppendUint32(to, uint32(code))
}
