// Chunked transfer coding (RFC 9112, 7.1), and trailers.

package wire

import "bytes"

// chunkState is the position of a reader within a chunked body (RFC 9112, 7.1).
type chunkState uint8

const (
	chunkSize    chunkState = iota // before a line with a size
	chunkData                      // within a chunk
	chunkEnd                       // before the CRLF after a chunk
	chunkTrailer                   // before the trailers, or the empty line instead of them
)

const (
	// maxSizeLine bounds the line with a chunk's size. Extensions are skipped, and no sender needs
	// long ones.
	maxSizeLine = 256

	// MaxTrailers bounds the bytes of trailers.
	MaxTrailers = 4 << 10
)

// nextChunk is Next for a chunked body. It takes only complete lines.
func (r *Reader) nextChunk(text []byte) (content []byte, taken int, trailers []byte, err error) {
	for taken < len(text) {
		rest := text[taken:]
		switch r.chunk {
		case chunkSize:
			line, next, err := cutLine(rest, 0)
			if err != nil {
				return nil, 0, nil, err
			}
			if len(line) > maxSizeLine || (next == 0 && len(rest) > maxSizeLine) {
				return nil, 0, nil, bad("a chunk's line is too long")
			}
			if next == 0 {
				return nil, taken, nil, earlySize(rest)
			}
			if r.left, err = size(line); err != nil {
				return nil, 0, nil, err
			}
			taken += next
			if r.chunk = chunkData; r.left == 0 {
				r.chunk = chunkTrailer
			}
		case chunkData:
			n := int(min(int64(len(rest)), r.left))
			if r.left -= int64(n); r.left == 0 {
				r.chunk = chunkEnd
			}
			return rest[:n], taken + n, nil, nil
		case chunkEnd:
			if rest[0] != '\r' || (len(rest) > 1 && rest[1] != '\n') {
				return nil, 0, nil, bad("a chunk is longer than its size says")
			}
			if len(rest) == 1 {
				return nil, taken, nil, nil
			}
			taken += 2
			r.chunk = chunkSize
		case chunkTrailer:
			length, err := sectionEnd(rest)
			if err != nil || length == 0 {
				return nil, taken, nil, err
			}
			r.done = true
			return nil, taken + length, rest[:length], nil
		}
	}
	return nil, taken, nil, nil
}

// size parses a chunk's line: hexadecimal digits, and extensions, which are not passed on.
func size(line []byte) (int64, error) {
	end := 0
	var n int64
	for end < len(line) && classes[line[end]]&hexByte != 0 {
		if n > 1<<58 {
			return 0, bad("a chunk's size is too large")
		}
		n = n<<4 | int64(unhex(line[end]))
		end++
	}
	if end == 0 ||
		!(end == len(line) || line[end] == ';' || line[end] == ' ' || line[end] == '\t') {
		return 0, bad("a chunk's size is not a hexadecimal number")
	}
	if !extensions(line[end:]) {
		return 0, bad("a chunk's extension is malformed")
	}
	return n, nil
}

// extensions reports whether text may follow a chunk's size (RFC 9112, 7.1.1): `;name` or
// `;name=value`, any number of times, where a value is a token or quoted.
func extensions(text []byte) bool {
	for len(text) > 0 {
		if text = trimLeft(text); len(text) == 0 || text[0] != ';' {
			return false
		}
		text = trimLeft(text[1:])
		name := tokenEnd(text)
		if name == 0 {
			return false
		}
		text = text[name:]
		value := trimLeft(text)
		if len(value) == 0 || value[0] != '=' {
			continue
		}
		value = trimLeft(value[1:])
		end := tokenEnd(value)
		if end == 0 {
			end = quotedEnd(value)
		}
		if end == 0 {
			return false
		}
		text = value[end:]
	}
	return true
}

// earlySize refuses what cannot become a chunk's line, without waiting for its end.
func earlySize(text []byte) error {
	if classes[text[0]]&hexByte == 0 {
		return bad("a chunk's size is not a hexadecimal number")
	}
	return nil
}

// sectionEnd finds the end of the trailers, with their empty line.
func sectionEnd(text []byte) (int, error) {
	at := 0
	for {
		line, next, err := cutLine(text, at)
		switch {
		case err != nil:
			return 0, err
		case next > MaxTrailers || (next == 0 && len(text) > MaxTrailers):
			return 0, &Refusal{431, "the trailers are too long"}
		case next == 0:
			return 0, nil
		case len(line) == 0:
			return next, nil
		}
		at = next
	}
}

// AppendChunk writes content as one chunk. It writes nothing for empty content, because a chunk of
// size zero ends the body.
func AppendChunk(to, content []byte) []byte {
	if len(content) == 0 {
		return to
	}
	to = appendHex(to, len(content))
	to = append(to, "\r\n"...)
	to = append(to, content...)
	return append(to, "\r\n"...)
}

// ChunkOverhead is the most bytes that AppendChunk adds.
const ChunkOverhead = 16 + 4

// AppendLastChunk writes the end of a chunked body, with the trailers that may be passed on. That
// excludes fields for framing, routing and authentication (RFC 9110, 6.5.1), and those that drop
// names, in lower case. section is what Next returned.
func AppendLastChunk(to, section []byte, fields *Fields, drop []string) ([]byte, error) {
	return AppendTrailers(append(to, "0\r\n"...), section, fields, drop)
}

// AppendTrailers writes the trailers that may be passed on, and an empty line.
func AppendTrailers(to, section []byte, fields *Fields, drop []string) ([]byte, error) {
	if len(section) > 2 {
		fields.reset()
		if _, err := fields.parse(section); err != nil {
			return to, err
		}
		for i := range fields.List {
			if field := &fields.List[i]; field.ID == Other &&
				!bytes.EqualFold(field.Name, []byte("authorization")) &&
				!bytes.EqualFold(field.Name, []byte("content-type")) &&
				!bytes.EqualFold(field.Name, []byte("content-encoding")) &&
				!bytes.EqualFold(field.Name, []byte("content-range")) &&
				!bytes.EqualFold(field.Name, []byte("set-cookie")) &&
				!named(drop, field.Name) &&
				!disguised(field.Name, drop) {
				to = appendField(to, field.Name, field.Value)
			}
		}
	}
	return append(to, "\r\n"...), nil
}

func appendField(to, name, value []byte) []byte {
	to = append(to, name...)
	to = append(to, ": "...)
	to = append(to, value...)
	return append(to, "\r\n"...)
}
