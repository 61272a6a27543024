// Package headers edits the fields of requests and responses: request IDs, W3C trace context,
// fields that a route sets or removes, and CORS. It does no I/O.
//
// Start reading at Edits.Begin.
package headers

import (
	"math/rand/v2"
	"strings"

	"faceoff/gateway/wire"
)

// Rules are the edits that a route makes.
type Rules struct {
	ID      string  // field that carries the request ID; empty for none
	Trace   bool    // continue or start a trace
	Sampled float64 // fraction of new traces that are sampled
	Request Fields
	Answer  Fields
	Cors    *Cors // nil leaves CORS to the upstream
}

// Fields are fields to set and remove.
type Fields struct {
	Lines []byte   // fields to set
	Drop  []string // names of fields to set or remove, in lower case
}

// Edits are the edits of one request and its response. They are reused for the next request.
type Edits struct {
	ID    []byte // request ID; empty without one
	Trace []byte // trace ID

	Span, Parent []byte // IDs of this span and of its parent; the parent may be empty
	Sampled      bool   // the trace is recorded

	Request, Answer Fields // fields for the upstream and for the client

	Preflight bool // a CORS preflight, which the gateway answers
}

const (
	traceparent = "traceparent"
	tracestate  = "tracestate"

	// maxID is the longest request ID that is accepted.
	maxID = 128
)

// Begin computes the edits of a request. A request ID or a trace that it already has is kept if the
// client is trusted.
func (e *Edits) Begin(rules *Rules, r *wire.Request, trusted bool) {
	e.ID, e.Trace, e.Span, e.Parent, e.Sampled = e.ID[:0], e.Trace[:0], e.Span[:0], e.Parent[:0], false
	e.Request.Lines = append(e.Request.Lines[:0], rules.Request.Lines...)
	e.Request.Drop = append(e.Request.Drop[:0], rules.Request.Drop...)
	e.Answer.Lines = append(e.Answer.Lines[:0], rules.Answer.Lines...)
	e.Answer.Drop = append(e.Answer.Drop[:0], rules.Answer.Drop...)
	if rules.ID != "" {
		e.name(rules.ID, r, trusted)
	}
	e.Preflight = false
	if rules.Cors != nil {
		e.cors(rules.Cors, r)
	}
	if rules.Trace {
		e.trace(rules.Sampled, r, trusted)
	}
}

func (e *Edits) name(field string, r *wire.Request, trusted bool) {
	if given := r.Only(field); trusted && plain(given) {
		e.ID = append(e.ID, given...)
	} else {
		e.ID = appendHex(appendHex(e.ID, rand.Uint64()), rand.Uint64())
	}
	e.Request.set(field, e.ID)
	e.Answer.set(field, e.ID)
}

// trace starts a trace, or continues one.
func (e *Edits) trace(sampled float64, r *wire.Request, trusted bool) {
	given := r.Only(traceparent)
	goesOn := trusted && isTrace(given)
	var text [55]byte
	to := append(text[:0], "00-"...)
	flags := "00"
	switch {
	case goesOn:
		e.Trace = append(e.Trace, given[3:35]...)
		e.Parent = append(e.Parent, given[36:52]...)
		flags = string(given[53:55])
	default:
		e.Trace = appendHex(appendHex(e.Trace, some()), some())
		if rand.Float64() < sampled {
			flags = "01"
		}
	}
	to = append(to, e.Trace...)
	to = append(to, '-')
	e.Span = appendHex(e.Span, some())
	to = append(to, e.Span...)
	to = append(to, '-')
	to = append(to, flags...)
	e.Sampled = strings.IndexByte(digits, flags[1])&1 == 1
	e.Request.set(traceparent, to)
	if !goesOn {
		e.Request.Drop = append(e.Request.Drop, tracestate) // it belongs to another trace
	}
}

// set replaces all fields of a name.
func (f *Fields) set(name string, value []byte) {
	f.Drop = append(f.Drop, name)
	f.Lines = append(f.Lines, name...)
	f.Lines = append(f.Lines, ": "...)
	f.Lines = append(f.Lines, value...)
	f.Lines = append(f.Lines, "\r\n"...)
}

// some returns a random number other than zero, which trace context does not allow.
func some() uint64 { return max(rand.Uint64(), 1) }

const digits = "0123456789abcdef"

func appendHex(to []byte, n uint64) []byte {
	for shift := 60; shift >= 0; shift -= 4 {
		to = append(to, digits[n>>shift&15])
	}
	return to
}

// plain reports whether a request ID may be kept: it is written to fields and to logs.
func plain(id []byte) bool {
	for _, b := range id {
		if b <= ' ' || b >= 0x7f || b == '"' || b == '\\' {
			return false
		}
	}
	return len(id) > 0 && len(id) <= maxID
}

// isTrace reports whether a value is a traceparent of version 00, or starts like one of a later
// version (Trace Context, 3.2, 4.2).
func isTrace(value []byte) bool {
	if len(value) < 55 || value[2] != '-' || value[35] != '-' || value[52] != '-' ||
		string(value[:2]) == "ff" {
		return false
	}
	if len(value) > 55 && (string(value[:2]) == "00" || value[55] != '-') {
		return false
	}
	trace, span := false, false
	for i, b := range value[:55] {
		if i == 2 || i == 35 || i == 52 {
			continue
		}
		if !('0' <= b && b <= '9' || 'a' <= b && b <= 'f') {
			return false
		}
		trace = trace || i > 2 && i < 35 && b != '0'
		span = span || i > 35 && i < 52 && b != '0'
	}
	return trace && span
}
