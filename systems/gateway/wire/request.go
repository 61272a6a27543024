package wire

// Request is the head of a request. Its parts point into the bytes given to Parse, or into its own scratch, until the
// next call. The zero value is ready.
type Request struct {
	Fields
	Method []byte
	Path   []byte // as it is matched and passed on; "*" for OPTIONS *
	Query  []byte // with its "?", empty without one
	Host   []byte // of the target or of the field Host, both being the same where both are
	Minor  byte   // 1 of HTTP/1.1
	Body   Body
	Kind   Method

	Close    bool // the client wants, or HTTP/1.0 implies, that the connection ends after the answer
	Upgrade  []byte
	Continue bool // it waits for 100 before it sends its body
	Trailers bool // it understands trailers
	Limited  bool // TRACE or OPTIONS that may pass no more than Hops further servers
	Hops     int64

	plain []byte // scratch for Path
}

// Method is what of a method matters here.
type Method uint8

const (
	Unsafe     Method = iota // anything that may not be sent twice
	Idempotent               // PUT, DELETE
	Safe                     // GET, OPTIONS, TRACE
	Head                     // safe, and its answers have no body
)

// Repeatable reports whether a request may be sent again when nothing was heard of the first (RFC 9110, 9.2.2).
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

// IsStandard reports whether a method is of RFC 9110, 9, or PATCH (RFC 5789).
func IsStandard(method []byte) bool {
	switch string(method) {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT":
		return true
	}
	return false
}

// Parse reads a head at the beginning of text and returns how many bytes it takes. Zero means that more is needed. An
// error is a *Refusal: the client is told, and its connection closed.
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

// early refuses what can no longer become a request line, such as the first bytes of TLS, without waiting for its end.
func early(text []byte) error {
	if len(text) > 0 && classes[text[0]]&tokenByte == 0 && !(text[0] == '\r' && len(text) == 1) {
		return bad("this is no HTTP/1.1 request")
	}
	return nil
}

// parseLine reads the request line (RFC 9112, 3): three parts, one space between each two.
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
	if string(tail[:6]) != version[:6] || classes[tail[6]]&digitByte == 0 || tail[7] != '.' || classes[tail[8]]&digitByte == 0 {
		return nil, bad("the request line does not end in an HTTP version")
	}
	if tail[6] != '1' {
		return nil, &Refusal{505, "a version of HTTP that is not spoken here"}
	}
	r.Minor = min(tail[8]-'0', 1)
	if len(rest) == 0 {
		return nil, bad("the request line has no target")
	}
	if !all(rest, targetByte) {
		return nil, bad("the target contains what no target may")
	}
	return rest, nil
}

// tunnels reports whether all that an upgrade names may pass through a tunnel. Another version of HTTP may not: within
// it would come requests that nobody here looks at. Nor may TLS.
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

// understand checks what the lines mean together.
func (r *Request) understand(target []byte) error {
	if n := r.count[Host]; n > 1 || (n == 0 && r.Minor == 1) {
		return bad("a request has exactly one Host (RFC 9112, 3.2)")
	}
	r.Host = r.Value(Host)
	if !validAuthority(r.Host) {
		return bad("Host is not host[:port]")
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
	r.Close = r.HasOption(Connection, "close") || (r.Minor == 0 && !r.HasOption(Connection, "keep-alive"))
	r.Trailers = r.HasOption(TE, "trailers") && r.HasOption(Connection, "te")

	r.Upgrade = nil
	if r.Minor == 1 && r.count[Upgrade] == 1 && r.Body.Kind == None && r.HasOption(Connection, "upgrade") && tunnels(r.Value(Upgrade)) {
		r.Upgrade = r.Value(Upgrade) // elsewhere Upgrade is ignored (RFC 9110, 7.8)
	}
	r.Continue = false
	if r.Has(Expect) && r.Minor == 1 {
		if r.count[Expect] > 1 || !Equal(r.Value(Expect), "100-continue") {
			return &Refusal{417, "an expectation that is not known"}
		}
		r.Continue = r.Body.Kind != None
	}
	return nil
}

// limitHops reads Max-Forwards, which means something with two methods only (RFC 9110, 7.6.2).
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
