// Parses the request target (RFC 9112, 3.2).

package wire

import "bytes"

// parseTarget splits the target (RFC 9112, 3.2), and refuses what two recipients could resolve
// differently.
func (r *Request) parseTarget(target []byte) error {
	switch {
	case string(r.Method) == "CONNECT":
		return &Refusal{501, "CONNECT is not supported"}
	case target[0] == '/':
	case string(target) == "*" && string(r.Method) == "OPTIONS":
	default:
		authority, rest, err := cutAbsolute(target)
		if err != nil {
			return err
		}
		if r.Has(Host) && !bytes.EqualFold(authority, r.Host) {
			return bad("the target and Host name different hosts")
		}
		if len(rest) == 0 && string(r.Method) == "OPTIONS" {
			rest = asterisk // RFC 9112, 3.2.4
		}
		r.Host, target = authority, rest
	}
	if string(target) == "*" {
		r.Path, r.Query = target, nil
		return nil
	}
	r.Path, r.Query = target, nil
	if at := bytes.IndexByte(target, '?'); at >= 0 {
		r.Path, r.Query = target[:at], target[at:]
	}
	if len(r.Path) == 0 { // in absolute form, an empty path means "/" (RFC 9110, 4.2.3)
		r.Path = root
	}
	return r.tidy()
}

var root, asterisk = []byte("/"), []byte("*")

// cutAbsolute removes "http://authority" from an absolute-form target. The remaining path may be
// empty.
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
			return authority, rest, nil
		}
	}
	return nil, nil, bad("the target is neither a path nor an http URL")
}

// validAuthority checks host[:port]. Only HTTP/1.0 may omit all of it; a port needs a host (RFC
// 9110, 4.2.1).
func validAuthority(text []byte) bool {
	if !allOfClass(text, hostByte) {
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
		if text[0] == ':' {
			return false
		}
		port = port[1:]
	}
	if len(port) > 5 || !allOfClass(port, digitByte) {
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

// literal reports whether text may be between the brackets of an IPv6 address.
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
