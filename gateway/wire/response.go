// Parses the head of a response (RFC 9112, 4). Start reading at Response.Parse.

package wire

import "bytes"

// Response is the head of a response. Its parts point into the bytes given to Parse until the next
// call. The zero value is ready.
type Response struct {
	Fields
	Minor  byte
	Status int
	Reason []byte
	Body   Body

	Close   bool // the connection cannot be reused
	Upgrade []byte
}

// Parse reads a head at the beginning of text, and returns its length. request is the kind of the
// request. Zero means that more is needed. An error is a *Refusal, for which the client gets 502.
func (r *Response) Parse(text []byte, request Method) (int, error) {
	line, next, err := cutLine(text, 0)
	if err != nil {
		return 0, err
	}
	if next == 0 {
		if len(text) >= len(versionPrefix) && string(text[:len(versionPrefix)]) != versionPrefix {
			return 0, bad("this is not an HTTP/1.1 response")
		}
		return 0, nil
	}
	if err := r.parseLine(line); err != nil {
		return 0, err
	}
	r.Fields.reset()
	length, err := r.Fields.parse(text[next:])
	if err != nil || length == 0 {
		return 0, err
	}
	if r.Body, err = responseBody(&r.Fields, r.Status, r.Minor, request); err != nil {
		return 0, err
	}
	if err := r.dropNamed(); err != nil {
		return 0, err
	}
	r.Close = r.Body.Kind == UntilEnd || r.HasOption(Connection, "close") ||
		(r.Minor == 0 && !r.HasOption(Connection, "keep-alive"))
	r.Upgrade = nil
	if r.Status == 101 {
		if r.Upgrade = r.Value(Upgrade); len(r.Upgrade) == 0 || r.count[Upgrade] > 1 ||
			!r.HasOption(Connection, "upgrade") {
			return 0, bad("the upstream switched to a protocol that it did not name")
		}
	}
	return next + length, nil
}

// Offered reports whether the request named all protocols that a response switches to (RFC 9110,
// 7.8). A protocol without a version matches all versions.
func Offered(request, answer []byte) bool {
	some := false
	for protocol, rest := option(answer); len(protocol) > 0; protocol, rest = option(rest) {
		if some = true; !offers(request, protocol) {
			return false
		}
	}
	return some
}

func offers(request, protocol []byte) bool {
	for one, rest := option(request); len(one) > 0; one, rest = option(rest) {
		if bytes.EqualFold(one, protocol) {
			return true
		}
		name, _, versioned := bytes.Cut(protocol, []byte("/"))
		if versioned && bytes.EqualFold(one, name) {
			return true
		}
	}
	return false
}

const versionPrefix = "HTTP/1."

// parseLine parses the status line (RFC 9112, 4). Some servers omit the space before an empty
// reason.
func (r *Response) parseLine(line []byte) error {
	const least = len("HTTP/1.1 200")
	if len(line) < least || string(line[:7]) != versionPrefix || classes[line[7]]&digitByte == 0 ||
		line[8] != ' ' ||
		!allOfClass(line[9:12], digitByte) || line[9] == '0' ||
		(len(line) > least && line[12] != ' ') {
		return bad("the response does not begin with a status line")
	}
	r.Minor = min(line[7]-'0', 1)
	r.Status = int(line[9]-'0')*100 + int(line[10]-'0')*10 + int(line[11]-'0')
	r.Reason = nil
	if len(line) > least {
		r.Reason = line[least+1:]
	}
	if !allOfClass(r.Reason, valueByte) {
		return bad("the reason contains a control character")
	}
	return nil
}
