package wire

// Response is the head of an answer. Its parts point into the bytes given to Parse until the next call. The zero value
// is ready.
type Response struct {
	Fields
	Minor  byte
	Status int
	Reason []byte
	Body   Body

	Close   bool // the connection cannot be used again
	Upgrade []byte
}

// Parse reads a head at the beginning of text, the answer to a request of a kind, and returns how many bytes it takes.
// Zero means that more is needed. An error is a *Refusal, whose status is not for the client: it is told 502.
func (r *Response) Parse(text []byte, request Method) (int, error) {
	line, next, err := cutLine(text, 0)
	if err != nil {
		return 0, err
	}
	if next == 0 {
		if len(text) >= len(versionPrefix) && string(text[:len(versionPrefix)]) != versionPrefix {
			return 0, bad("this is no HTTP/1.1 answer")
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
	r.Close = r.Body.Kind == UntilEnd || r.HasOption(Connection, "close") || (r.Minor == 0 && !r.HasOption(Connection, "keep-alive"))
	r.Upgrade = nil
	if r.Status == 101 {
		if r.Upgrade = r.Value(Upgrade); len(r.Upgrade) == 0 || r.count[Upgrade] > 1 || !r.HasOption(Connection, "upgrade") {
			return 0, bad("the upstream switched to a protocol that it did not name")
		}
	}
	return next + length, nil
}

const versionPrefix = "HTTP/1."

// parseLine reads the status line (RFC 9112, 4). Servers are met that leave out the space before an empty reason.
func (r *Response) parseLine(line []byte) error {
	const least = len("HTTP/1.1 200")
	if len(line) < least || string(line[:7]) != versionPrefix || classes[line[7]]&digitByte == 0 || line[8] != ' ' ||
		!all(line[9:12], digitByte) || line[9] == '0' || (len(line) > least && line[12] != ' ') {
		return bad("the answer does not begin with a status line")
	}
	r.Minor = min(line[7]-'0', 1)
	r.Status = int(line[9]-'0')*100 + int(line[10]-'0')*10 + int(line[11]-'0')
	r.Reason = nil
	if len(line) > least {
		r.Reason = line[least+1:]
	}
	if !all(r.Reason, valueByte) {
		return bad("the reason contains a control character")
	}
	return nil
}
