package wire

import "bytes"

// chunkState is where within a chunked body (RFC 9112, 7.1) a reader is.
type chunkState uint8

const (
	chunkSize    chunkState = iota // before a line with a size
	chunkData                      // within a chunk
	chunkEnd                       // before the CRLF after a chunk
	chunkTrailer                   // before the trailers, or the empty line instead of them
)

const (
	// maxSizeLine is the longest line with a chunk's size. Extensions are read over, and nobody needs long ones.
	maxSizeLine = 256

	// MaxTrailers is how many bytes of trailers there may be.
	MaxTrailers = 4 << 10
)

// nextChunk is Next of a chunked body. Lines are taken whole: where one is not there to its end, nothing is taken.
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

// size reads a chunk's line: hexadecimal digits, and extensions, which are not passed on.
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
	rest := trim(line[end:])
	if end == 0 || (len(rest) > 0 && rest[0] != ';') || (len(rest) == 0 && end != len(line)) || !all(rest, valueByte) {
		return 0, bad("a chunk's size is not a hexadecimal number")
	}
	return n, nil
}

// earlySize refuses what cannot become a chunk's line, without waiting for its end.
func earlySize(text []byte) error {
	if classes[text[0]]&hexByte == 0 {
		return bad("a chunk's size is not a hexadecimal number")
	}
	return nil
}

// sectionEnd finds the end of the trailers, their empty line included.
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

// AppendChunk writes content as one chunk. Empty content is nothing, as the chunk of size zero is the end.
func AppendChunk(to, content []byte) []byte {
	if len(content) == 0 {
		return to
	}
	to = appendHex(to, len(content))
	to = append(to, "\r\n"...)
	to = append(to, content...)
	return append(to, "\r\n"...)
}

// ChunkOverhead is the most that AppendChunk adds to its content, in bytes.
const ChunkOverhead = 16 + 4

// AppendLastChunk writes the end of a chunked body, with those of the trailers that may be passed on: none that frames,
// routes or authenticates (RFC 9110, 6.5.1), or is named among drop, in lower case. section is what Next gave.
func AppendLastChunk(to, section []byte, fields *Fields, drop []string) ([]byte, error) {
	return AppendTrailers(append(to, "0\r\n"...), section, fields, drop)
}

// AppendTrailers writes those of the trailers that may be passed on, and the empty line after them.
func AppendTrailers(to, section []byte, fields *Fields, drop []string) ([]byte, error) {
	if len(section) > 2 {
		fields.reset()
		if _, err := fields.parse(section); err != nil {
			return to, err
		}
		for i := range fields.List {
			if field := &fields.List[i]; field.ID == Other && !bytes.EqualFold(field.Name, []byte("authorization")) &&
				!bytes.EqualFold(field.Name, []byte("content-type")) && !bytes.EqualFold(field.Name, []byte("content-encoding")) &&
				!bytes.EqualFold(field.Name, []byte("content-range")) && !bytes.EqualFold(field.Name, []byte("set-cookie")) &&
				!named(drop, field.Name) && !disguised(field.Name, drop) {
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
