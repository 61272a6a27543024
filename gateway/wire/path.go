// Normalises paths, and refuses those that two recipients could resolve differently. Routes are
// security boundaries, so a path must have one meaning.

package wire

// Normal decodes the byte of a path at a position, and returns its width. All code that reads paths
// uses it: routes, rewriting, and the search for dot segments. Escapes are decoded, even repeated
// ones, and a backslash counts as a slash.
func Normal(path []byte, at int) (b byte, width int) {
	if b = path[at]; b != '%' || !encoded(path, at) {
		return b, 1
	}
	b, width = unescape(path[at+1:]), 3
	for b == '%' && encoded(path, at+width-1) {
		b = unescape(path[at+width:])
		width += 2
	}
	if b == '\\' {
		b = '/'
	}
	return b, width
}

// unescape decodes two hexadecimal digits.
func unescape(digits []byte) byte { return unhex(digits[0])<<4 | unhex(digits[1]) }

// encoded reports whether two hexadecimal digits follow the percent sign at a position.
func encoded(text []byte, at int) bool {
	return at+2 < len(text) && classes[text[at+1]]&hexByte != 0 && classes[text[at+2]]&hexByte != 0
}

// tidy checks the path, and decodes escaped letters, digits and -._~, which means the same (RFC
// 3986, 6.2.2.2). So a path cannot match in one spelling and be resolved in another.
func (r *Request) tidy() error {
	path := r.Path
	simple := true
	for i, b := range path {
		switch b {
		case '%':
			simple = false
			if !encoded(path, i) {
				return bad("the path has a percent sign without two hexadecimal digits")
			}
		case '\\':
			return bad("the path contains a backslash")
		case '.':
			simple = simple && path[max(i, 1)-1] != '/'
		}
	}
	if simple {
		return nil
	}
	plain := r.plain[:0]
	for i := 0; i < len(path); i++ {
		if path[i] != '%' {
			plain = append(plain, path[i])
			continue
		}
		if b := unescape(path[i+1:]); classes[b]&plainByte != 0 {
			plain = append(plain, b)
		} else {
			plain = append(plain, path[i:i+3]...)
		}
		i += 2
	}
	r.plain, r.Path = plain, plain
	return r.inspect()
}

// inspect refuses a path that two recipients could resolve differently.
func (r *Request) inspect() error {
	path := r.Path
	segment := 0 // number of dots in the current segment; negative if it has other bytes
	var last [2]byte
	for at := 0; at < len(path); {
		b, width := Normal(path, at)
		switch {
		case b == 0:
			return bad("the path contains an encoded NUL")
		case b == '/' && width > 1 && !r.Separators:
			return bad("the path contains an encoded slash or backslash")
		case width > 3 && !r.Separators:
			return bad("the path contains an escape that is encoded twice")
		case last[0] == '%' && classes[last[1]]&hexByte != 0 && classes[b]&hexByte != 0:
			return bad("the path contains an escape that is built from other escapes")
		case overlong(last[1], b):
			return bad("the path contains an overlong UTF-8 sequence")
		case b == '/' || b == ';':
			if segment == 1 || segment == 2 {
				return bad("the path contains a dot segment")
			}
			if segment = 0; b == ';' {
				segment = -1
			}
		case b == '.' && segment >= 0:
			segment++
		default:
			segment = -1
		}
		last[0], last[1] = last[1], b
		at += width
	}
	if segment == 1 || segment == 2 {
		return bad("the path contains a dot segment")
	}
	return nil
}

// overlong reports whether two bytes begin an overlong UTF-8 sequence, such as C0 AF for a slash
// (RFC 3629, 3). Some decoders accept it.
func overlong(first, second byte) bool {
	if second < 0x80 || second > 0xbf {
		return false
	}
	return first == 0xc0 || first == 0xc1 || (first == 0xe0 && second < 0xa0) ||
		(first == 0xf0 && second < 0x90)
}
