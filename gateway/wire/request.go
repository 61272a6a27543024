// Parses the head of a request (RFC 9112, 3). Start reading at Request.Parse.

package wire

// Request is the head of a request. Its parts point into the bytes given to Parse, or into its
// scratch buffer, until the next call. The zero value is ready.
type Request struct {
	Fields
	Method []byte
	Path   []byte // as it is matched and passed on; "*" for OPTIONS *
	Query  []byte // with its "?"; empty without one
	Host   []byte // of the target or the Host field, which must agree
	Minor  byte   // 1 for HTTP/1.1
	Body   Body
	Kind   Method

	Separators bool // set before Parse: a path may contain encoded slashes, which count as slashes

	Close    bool // the connection ends after the response, as requested or by HTTP/1.0
	Upgrade  []byte
	Continue bool // the client waits for 100 Continue
	Trailers bool // the client accepts trailers
	Limited  bool // TRACE or OPTIONS that may pass Hops further servers
	Hops     int64

	plain []byte // scratch for Path
}

// Method classifies methods.
type Method uint8

const (
	Unsafe     Method = iota // must not be sent twice
	Idempotent               // PUT, DELETE
	Safe                     // GET, OPTIONS, TRACE
	Head                     // safe, and its responses have no body
)

// Repeatable reports whether a request may be retried when there was no response (RFC 9110, 9.2.2).
func (m Method) Repeatable() bool { return m != Unsafe }

func kind(method []byte) Method {
	switch string(method) {
	case "GET", "OPTIONS", "TRACE":
		return Safe
	case "HEAD":
		return Head
	case "PUT", "DELETE":
		return Idempotent
	}
	return Unsafe
}

// IsStandard reports whether a method is one of RFC 9110, 9, or PATCH (RFC 5789).
func IsStandard(method []byte) bool {
	switch string(method) {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT":
		return true
	}
	return false
}

// Parse reads a head at the beginning of text, and returns its length. Zero means that more is
// needed. An error is a *Refusal: the client gets it, and its connection is closed.
func (r *Request) Parse(text []byte) (int, error) {
	begin := 0
	if len(text) >= 2 && text[0] == '\r' && text[1] == '\n' {
		begin = 2 // one empty line before a request is ignored (RFC 9112, 2.2)
	}
	line, next, err := cutLine(text, begin)
	if err != nil {
		return 0, err
	}
	if next == 0 {
		return 0, early(text[begin:])
	}
	target, err := r.parseLine(line)
	if err != nil {
		return 0, err
	}
	r.Fields.reset()
	length, err := r.Fields.parse(text[next:])
	if err != nil || length == 0 {
		return 0, err
	}
	if err := r.understand(target); err != nil {
		return 0, err
	}
	return next + length, nil
}

// early refuses what cannot become a request line, such as the first bytes of TLS, without waiting
// for its end.
func early(text []byte) error {
	if len(text) > 0 && classes[text[0]]&tokenByte == 0 && !(text[0] == '\r' && len(text) == 1) {
		return bad("this is not an HTTP/1.1 request")
	}
	return nil
}

// parseLine parses the request line (RFC 9112, 3): three parts, separated by one space.
func (r *Request) parseLine(line []byte) (target []byte, err error) {
	end := 0
	for end < len(line) && classes[line[end]]&tokenByte != 0 {
		end++
	}
	const version = " HTTP/1.1"
	if end == 0 || end == len(line) || line[end] != ' ' || len(line) < end+1+len(version) {
		return nil, bad("the request line is not METHOD SP TARGET SP VERSION")
	}
	r.Method, r.Kind = line[:end], kind(line[:end])
	rest, tail := line[end+1:len(line)-len(version)], line[len(line)-len(version):]
	if string(tail[:6]) != version[:6] || classes[tail[6]]&digitByte == 0 || tail[7] != '.' ||
		classes[tail[8]]&digitByte == 0 {
		return nil, bad("the request line does not end in an HTTP version")
	}
	if tail[6] != '1' {
		return nil, &Refusal{505, "an unsupported version of HTTP"}
	}
	r.Minor = min(tail[8]-'0', 1)
	if len(rest) == 0 {
		return nil, bad("the request line has no target")
	}
	if !allOfClass(rest, targetByte) {
		return nil, bad("the target contains an invalid character")
	}
	return rest, nil
}

// tunnels reports whether all protocols of an upgrade may use a tunnel. HTTP may not, because
// requests in it would be unchecked. Nor may TLS.
func tunnels(upgrade []byte) bool {
	some := false
	for name, rest := option(upgrade); len(name) > 0; name, rest = option(rest) {
		some = true
		for _, not := range []string{"h2c", "h2", "h3", "http", "tls"} {
			if len(name) >= len(not) && Equal(name[:len(not)], not) {
				return false
			}
		}
	}
	return some
}

// understand checks the lines together.
func (r *Request) understand(target []byte) error {
	if n := r.count[Host]; n > 1 || (n == 0 && r.Minor == 1) {
		return bad("a request has exactly one Host (RFC 9112, 3.2)")
	}
	r.Host = r.Value(Host)
	if !validAuthority(r.Host) || (len(r.Host) == 0 && r.Minor == 1) {
		return bad("Host is not host[:port] (RFC 9112, 3.3)")
	}
	if err := r.parseTarget(target); err != nil {
		return err
	}
	body, err := requestBody(&r.Fields, r.Minor)
	if err != nil {
		return err
	}
	r.Body = body
	if err := r.dropNamed(); err != nil {
		return err
	}
	if err := r.limitHops(); err != nil {
		return err
	}
	r.Close = r.HasOption(Connection, "close") ||
		(r.Minor == 0 && !r.HasOption(Connection, "keep-alive"))
	r.Trailers = r.HasOption(TE, "trailers") && r.HasOption(Connection, "te")

	r.Upgrade = nil
	if r.Minor == 1 && r.count[Upgrade] == 1 && r.Body.Empty() &&
		r.HasOption(Connection, "upgrade") &&
		tunnels(r.Value(Upgrade)) {
		r.Upgrade = r.Value(Upgrade) // other Upgrades are ignored, as a server may (RFC 9110, 7.8)
	}
	r.Continue = false
	if r.Has(Expect) && r.Minor == 1 {
		if r.count[Expect] > 1 || !Equal(r.Value(Expect), "100-continue") {
			return &Refusal{417, "an unknown expectation"}
		}
		r.Continue = r.Body.Kind != None
	}
	return nil
}

// limitHops reads Max-Forwards, which has a meaning for two methods only (RFC 9110, 7.6.2).
func (r *Request) limitHops() error {
	r.Limited = r.Has(MaxForwards) && (string(r.Method) == "OPTIONS" || string(r.Method) == "TRACE")
	if !r.Limited {
		return nil
	}
	hops, number := decimal(r.Value(MaxForwards))
	if !number || r.count[MaxForwards] > 1 {
		return bad("Max-Forwards is not one number")
	}
	r.Hops = hops
	return nil
}
