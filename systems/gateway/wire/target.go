package wire

import "bytes"

// parseTarget splits the target (RFC 9112, 3.2) and refuses what two recipients might resolve differently.
func (r *Request) parseTarget(target []byte) error {
	switch {
	case string(r.Method) == "CONNECT":
		return &Refusal{501, "CONNECT is not served here"}
	case target[0] == '/':
	case string(target) == "*" && string(r.Method) == "OPTIONS":
		r.Path, r.Query = target, nil
		return nil
	default:
		authority, rest, err := cutAbsolute(target)
		if err != nil {
			return err
		}
		if r.Has(Host) && !bytes.EqualFold(authority, r.Host) {
			return bad("the target and Host name different hosts")
		}
		r.Host, target = authority, rest
	}
	r.Path, r.Query = target, nil
	if at := bytes.IndexByte(target, '?'); at >= 0 {
		r.Path, r.Query = target[:at], target[at:]
	}
	return r.tidy()
}

// cutAbsolute takes "http://authority" off an absolute-form target.
func cutAbsolute(target []byte) (authority, rest []byte, err error) {
	for _, scheme := range []string{"http://", "https://"} {
		if len(target) > len(scheme) && Equal(target[:len(scheme)], scheme) {
			rest = target[len(scheme):]
			end := bytes.IndexAny(rest, "/?")
			if end < 0 {
				end = len(rest)
			}
			authority, rest = rest[:end], rest[end:]
			if len(authority) == 0 || !validAuthority(authority) {
				return nil, nil, bad("the target's host is not host[:port]")
			}
			switch {
			case len(rest) == 0:
				rest = []byte("/")
			case rest[0] == '?':
				return nil, nil, bad("the target has a query but no path")
			}
			return authority, rest, nil
		}
	}
	return nil, nil, bad("the target is neither a path nor an http URL")
}

// validAuthority checks host[:port]; empty is allowed (RFC 9110, 7.2).
func validAuthority(text []byte) bool {
	if !all(text, hostByte) {
		return false
	}
	host, port := text, []byte(nil)
	if len(text) > 0 && text[0] == '[' {
		end := bytes.IndexByte(text, ']')
		if end < 2 || !literal(text[1:end]) {
			return false
		}
		host, port = nil, text[end+1:]
		if len(port) > 0 && port[0] != ':' {
			return false
		}
	} else if at := bytes.IndexByte(text, ':'); at >= 0 {
		host, port = text[:at], text[at:]
	}
	if bytes.IndexByte(host, '[') >= 0 || bytes.IndexByte(host, ']') >= 0 {
		return false
	}
	if len(port) > 0 {
		port = port[1:]
	}
	if len(port) > 5 || !all(port, digitByte) {
		return false
	}
	for at := bytes.IndexByte(host, '%'); at >= 0; at = bytes.IndexByte(host, '%') {
		if !encoded(host, at) {
			return false
		}
		host = host[at+3:]
	}
	return true
}

// literal reports whether text may stand between the brackets of an IPv6 address.
func literal(text []byte) bool {
	colons := 0
	for _, b := range text {
		if b == ':' {
			colons++
		} else if classes[b]&hexByte == 0 && b != '.' {
			return false
		}
	}
	return colons >= 2
}

// encoded reports whether a percent sign begins two hexadecimal digits.
func encoded(text []byte, at int) bool {
	return at+2 < len(text) && classes[text[at+1]]&hexByte != 0 && classes[text[at+2]]&hexByte != 0
}

// tidy checks the path. Encoded letters, digits and -._~ are decoded, which means the same (RFC 3986, 6.2.2.2), so that
// no spelling of a path is matched as one and resolved as another.
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
		b := unhex(path[i+1])<<4 | unhex(path[i+2])
		switch {
		case b == 0:
			return bad("the path contains an encoded NUL")
		case classes[b]&plainByte != 0:
			plain = append(plain, b)
		default:
			plain = append(plain, path[i:i+3]...)
		}
		i += 2
	}
	r.plain, r.Path = plain, plain
	if dotSegment(plain) {
		return bad("the path contains a dot segment")
	}
	return nil
}

// dotSegment looks for "." and ".." between what some recipient takes for the end of a segment: "/", "\" and their
// encodings, and ";", after which parameters follow.
func dotSegment(path []byte) bool {
	for at := 0; at < len(path); {
		dots := 0
		for at+dots < len(path) && path[at+dots] == '.' {
			dots++
		}
		after := path[at+dots:]
		if (dots == 1 || dots == 2) && (len(after) == 0 || after[0] == ';' || separator(after) > 0) {
			return true
		}
		for at += dots; at < len(path) && separator(path[at:]) == 0; at++ {
		}
		if at < len(path) {
			at += separator(path[at:])
		}
	}
	return false
}

// separator is the length of the end of a segment that text begins with, zero without.
func separator(text []byte) int {
	if text[0] == '/' || text[0] == '\\' {
		return 1
	}
	if len(text) >= 3 && text[0] == '%' && (Equal(text[1:3], "2f") || Equal(text[1:3], "5c")) {
		return 3
	}
	return 0
}
