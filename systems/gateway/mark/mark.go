// Package mark is what a request is given on its way, so that it can be told from others and followed: a name of its own,
// W3C trace context, fields that a route sets or removes, and what pages of other origins are told. It does no I/O.
package mark

import (
	"math/rand/v2"
	"strings"

	"faceoff/systems/gateway/wire"
)

// Rules are what a route gives its requests and answers.
type Rules struct {
	ID      string  // the field that carries a request's name; empty for none
	Trace   bool    // trace context goes on, or begins here
	Sampled float64 // of the traces that begin here
	Request Fields
	Answer  Fields
	Cors    *Cors // nil leaves that to the upstream
}

// Fields are set and removed by a route.
type Fields struct {
	Lines []byte   // those that are set, as they are written
	Drop  []string // the names of those and of those removed, in lower case
}

// Mark is what one request was given. It is used again for the next one.
type Mark struct {
	ID    []byte // its name, empty without
	Trace []byte // that of its trace

	Span, Parent []byte // that of its part of the trace, and of the part which asked for it; that may be empty
	Sampled      bool   // somebody keeps the trace

	Request, Answer Fields // for the upstream, and for the client

	Preflight bool // it asks what a page of another origin may do, and is answered here
}

const (
	traceparent = "traceparent"
	tracestate  = "tracestate"

	// longestID is how long a name may be that was given before.
	longestID = 128
)

// Begin gives a request what its route says. A name and a trace that it has already are kept where the client is trusted.
func (m *Mark) Begin(rules *Rules, r *wire.Request, trusted bool) {
	m.ID, m.Trace, m.Span, m.Parent, m.Sampled = m.ID[:0], m.Trace[:0], m.Span[:0], m.Parent[:0], false
	m.Request.Lines = append(m.Request.Lines[:0], rules.Request.Lines...)
	m.Request.Drop = append(m.Request.Drop[:0], rules.Request.Drop...)
	m.Answer.Lines = append(m.Answer.Lines[:0], rules.Answer.Lines...)
	m.Answer.Drop = append(m.Answer.Drop[:0], rules.Answer.Drop...)
	if rules.ID != "" {
		m.name(rules.ID, r, trusted)
	}
	m.Preflight = false
	if rules.Cors != nil {
		m.cors(rules.Cors, r)
	}
	if rules.Trace {
		m.trace(rules.Sampled, r, trusted)
	}
}

func (m *Mark) name(field string, r *wire.Request, trusted bool) {
	if given := r.Only(field); trusted && plain(given) {
		m.ID = append(m.ID, given...)
	} else {
		m.ID = appendHex(appendHex(m.ID, rand.Uint64()), rand.Uint64())
	}
	m.Request.set(field, m.ID)
	m.Answer.set(field, m.ID)
}

// trace begins a trace, or the next part of one.
func (m *Mark) trace(sampled float64, r *wire.Request, trusted bool) {
	given := r.Only(traceparent)
	goesOn := trusted && isTrace(given)
	var text [55]byte
	to := append(text[:0], "00-"...)
	flags := "00"
	switch {
	case goesOn:
		m.Trace = append(m.Trace, given[3:35]...)
		m.Parent = append(m.Parent, given[36:52]...)
		flags = string(given[53:55])
	default:
		m.Trace = appendHex(appendHex(m.Trace, some()), some())
		if rand.Float64() < sampled {
			flags = "01"
		}
	}
	to = append(to, m.Trace...)
	to = append(to, '-')
	m.Span = appendHex(m.Span, some())
	to = append(to, m.Span...)
	to = append(to, '-')
	to = append(to, flags...)
	m.Sampled = strings.IndexByte(digits, flags[1])&1 == 1
	m.Request.set(traceparent, to)
	if !goesOn {
		m.Request.Drop = append(m.Request.Drop, tracestate) // of another trace
	}
}

// set adds a field in place of those of its name.
func (f *Fields) set(name string, value []byte) {
	f.Drop = append(f.Drop, name)
	f.Lines = append(f.Lines, name...)
	f.Lines = append(f.Lines, ": "...)
	f.Lines = append(f.Lines, value...)
	f.Lines = append(f.Lines, "\r\n"...)
}

// some is a number by chance, and not zero, which no part of a trace may be.
func some() uint64 { return max(rand.Uint64(), 1) }

const digits = "0123456789abcdef"

func appendHex(to []byte, n uint64) []byte {
	for shift := 60; shift >= 0; shift -= 4 {
		to = append(to, digits[n>>shift&15])
	}
	return to
}

// plain reports whether a name may go on: it is written into fields and lines.
func plain(id []byte) bool {
	for _, b := range id {
		if b <= ' ' || b >= 0x7f || b == '"' || b == '\\' {
			return false
		}
	}
	return len(id) > 0 && len(id) <= longestID
}

// isTrace reports whether a value is a traceparent of the version known here, or begins as one of a later version does
// (Trace Context, 3.2, 4.2).
func isTrace(value []byte) bool {
	if len(value) < 55 || value[2] != '-' || value[35] != '-' || value[52] != '-' || string(value[:2]) == "ff" {
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
