// Writes the head of a message as it is passed on: without hop-by-hop fields, and with forwarding
// fields. Start reading at AppendRequest and AppendResponse.

package wire

import "bytes"

// Outbound is what changes in a request on its way to an upstream.
type Outbound struct {
	Path    []byte // replaces the request's own
	Host    []byte // replaces the request's own; nil keeps it
	Client  []byte // address that the request came from
	Proto   string // "http" or "https", as the client used
	Via     string // name of this gateway; empty leaves Via unchanged
	Trusted bool   // keep the forwarding fields of the client
	Forward bool   // write Forwarded (RFC 7239) as well

	Drop  []string // names of fields to drop, in lower case
	Lines []byte   // fields to add

	Received string // the client's version of HTTP, if it is not that of the head
}

// AppendRequest writes the head of a request for an upstream (RFC 9110, 7.6). A request that is
// Limited to 0 hops must not be passed on.
func AppendRequest(to []byte, r *Request, o *Outbound) []byte {
	to = append(to, r.Method...)
	to = append(to, ' ')
	to = append(to, o.Path...)
	to = append(to, r.Query...)
	to = append(to, " HTTP/1.1\r\nHost: "...)
	if o.Host != nil {
		to = append(to, o.Host...)
	} else {
		to = append(to, r.Host...)
	}
	to = append(to, "\r\n"...)
	for i := range r.List {
		field := &r.List[i]
		if field.ID != Other {
			if hop[field.ID] || !passes(r, field.ID, o.Trusted) {
				continue
			}
		}
		if field.dropped || named(o.Drop, field.Name) || disguised(field.Name, o.Drop) {
			continue
		}
		to = appendField(to, field.Name, field.Value)
	}
	to = appendForwarded(to, r, o)
	if r.Limited {
		to = append(to, "Max-Forwards: "...)
		to = AppendDecimal(to, r.Hops-1)
		to = append(to, "\r\n"...)
	}
	to = append(to, o.Lines...)
	if o.Via != "" {
		to = append(to, "Via: "...)
		if o.Received != "" {
			to = append(to, o.Received...)
		} else {
			to = append(to, '1', '.', '0'+r.Minor)
		}
		to = append(to, ' ')
		to = append(to, o.Via...)
		to = append(to, "\r\n"...)
	}
	switch {
	case r.Upgrade != nil:
		to = append(to, "Connection: Upgrade\r\n"...)
		to = appendField(to, []byte("Upgrade"), r.Upgrade)
	case r.Trailers:
		to = append(to, "Connection: TE\r\nTE: trailers\r\n"...)
	}
	to = appendFraming(to, r.Body)
	return append(to, "\r\n"...)
}

// disguised reports whether a name with underscores stands for one that a proxy interprets or
// drops. CGI and WSGI servers do not distinguish X_Forwarded_For from X-Forwarded-For.
func disguised(name []byte, drop []string) bool {
	if bytes.IndexByte(name, '_') < 0 {
		return false
	}
	plain := bytes.ReplaceAll(name, []byte("_"), []byte("-"))
	return lookup(plain) != Other || named(drop, plain)
}

// passes decides about fields that are neither unknown nor always removed.
func passes(r *Request, id ID, trusted bool) bool {
	switch id {
	case Host, XForwardedFor, XForwardedHost, XForwardedProto:
		return false // written anew
	case Forwarded, ClientIP, ClaimedURL:
		return trusted
	case Expect:
		return r.Continue
	case Trailer:
		return r.Body.Kind == Chunked
	case MaxForwards:
		return !r.Limited // written anew
	}
	return true
}

func appendForwarded(to []byte, r *Request, o *Outbound) []byte {
	to = append(to, "X-Forwarded-For: "...)
	if o.Trusted {
		for i := range r.List {
			if r.List[i].ID == XForwardedFor && len(r.List[i].Value) > 0 {
				to = append(to, r.List[i].Value...)
				to = append(to, ", "...)
			}
		}
	}
	to = append(to, o.Client...)
	to = append(to, "\r\nX-Forwarded-Host: "...)
	if o.Trusted && r.Has(XForwardedHost) {
		to = append(to, r.Value(XForwardedHost)...)
	} else {
		to = append(to, r.Host...)
	}
	to = append(to, "\r\nX-Forwarded-Proto: "...)
	if o.Trusted && r.Has(XForwardedProto) {
		to = append(to, r.Value(XForwardedProto)...)
	} else {
		to = append(to, o.Proto...)
	}
	to = append(to, "\r\n"...)
	if !o.Forward {
		return to
	}
	to = append(to, "Forwarded: for="...)
	to = appendNode(to, o.Client)
	if len(r.Host) > 0 {
		to = append(to, ";host="...)
		to = append(to, '"')
		to = append(to, r.Host...)
		to = append(to, '"')
	}
	to = append(to, ";proto="...)
	to = append(to, o.Proto...)
	return append(to, "\r\n"...)
}

// appendNode writes an address in the form of RFC 7239, 6: IPv6 in brackets and quotes.
func appendNode(to, address []byte) []byte {
	for _, b := range address {
		if b == ':' {
			to = append(to, `"[`...)
			to = append(to, address...)
			return append(to, `]"`...)
		}
	}
	return append(to, address...)
}

func appendFraming(to []byte, body Body) []byte {
	switch body.Kind {
	case Sized:
		to = append(to, "Content-Length: "...)
		to = AppendDecimal(to, body.Length)
		to = append(to, "\r\n"...)
	case Chunked:
		to = append(to, "Transfer-Encoding: chunked\r\n"...)
	}
	return to
}

// Inbound is how a response goes to a client.
type Inbound struct {
	Minor byte   // minor version of the client
	Close bool   // the connection ends after this response
	Date  []byte // for a response without one (RFC 9110, 6.6.1)

	Drop  []string // names of fields to drop, in lower case
	Lines []byte   // fields to add to the final response
}

// ResponseBody returns the framing of a response's body for a client. It differs from the
// upstream's if the end of the connection ends the body, or if the client does not know chunks.
func ResponseBody(body Body, minor byte) Framing {
	if body.Kind != Chunked && body.Kind != UntilEnd {
		return body.Kind
	}
	if minor == 0 {
		return UntilEnd
	}
	return Chunked
}

// GoesOn reports whether a field of a response is passed on unchanged, for a given framing. drop
// lists names, in lower case, that are not.
func (r *Response) GoesOn(field *Field, framing Framing, drop []string) bool {
	if field.dropped || field.ID == Other {
		return !field.dropped && !named(drop, field.Name)
	}
	if field.ID == ContentLength && r.Body.Kind == None && r.Status >= 200 && r.Status != 204 &&
		r.count[ContentLength] == 1 {
		// Without a body, it is the length that GET would have returned (RFC 9110, 8.6).
		_, number := decimal(field.Value)
		return number
	}
	return !hop[field.ID] && (field.ID != Trailer || framing == Chunked)
}

// AppendResponse writes the head of a response for a client.
func AppendResponse(to []byte, r *Response, o *Inbound) []byte {
	to = append(to, "HTTP/1.1 "...)
	to = AppendDecimal(to, int64(r.Status))
	to = append(to, ' ')
	to = append(to, r.Reason...)
	to = append(to, "\r\n"...)
	framing := ResponseBody(r.Body, o.Minor)
	for i := range r.List {
		if field := &r.List[i]; r.GoesOn(field, framing, o.Drop) {
			to = appendField(to, field.Name, field.Value)
		}
	}
	if r.Status < 200 {
		if r.Upgrade != nil {
			to = append(to, "Connection: Upgrade\r\n"...)
			to = appendField(to, []byte("Upgrade"), r.Upgrade)
		}
		return append(to, "\r\n"...)
	}
	if !r.Has(Date) && len(o.Date) > 0 {
		to = appendField(to, []byte("Date"), o.Date)
	}
	to = append(to, o.Lines...)
	switch framing {
	case Sized:
		to = appendFraming(to, r.Body)
	case Chunked:
		to = appendFraming(to, Body{Kind: Chunked})
	}
	if r.Status == 426 && o.Minor > 0 && r.Has(Upgrade) { // 426 needs it (RFC 9110, 15.5.22)
		to = append(to, "Connection: Upgrade\r\n"...)
		for i := range r.List {
			if field := &r.List[i]; field.ID == Upgrade {
				to = appendField(to, field.Name, field.Value)
			}
		}
	}
	switch {
	case o.Close:
		to = append(to, "Connection: close\r\n"...)
	case o.Minor == 0:
		to = append(to, "Connection: keep-alive\r\n"...)
	}
	return append(to, "\r\n"...)
}
