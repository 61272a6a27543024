// Package compress compresses responses with gzip for clients that accept it. It does no I/O.
//
// Rules decide what is compressed; a Compressor does it.
package compress

import (
	"bytes"
	"compress/gzip"
	"slices"
	"strings"

	"faceoff/gateway/wire"
)

// Rules select the responses of a route that are compressed.
type Rules struct {
	// in bytes; shorter bodies are not compressed, bodies of unknown length are
	Above int64
	Types []string // in lower case, such as application/json; text/* covers all text
}

// Types returns the default types. text/* does not cover text/event-stream: an endless response
// would occupy a compressor for good.
func Types() []string {
	return []string{
		"text/*", "application/json", "application/*+json", "application/javascript",
		"application/xml", "application/*+xml", "image/svg+xml",
	}
}

// Accepts reports whether Accept-Encoding allows gzip (RFC 9110, 12.5.3).
func Accepts(field []byte) bool {
	others := false
	for len(field) > 0 {
		element, rest, _ := bytes.Cut(field, []byte(","))
		coding, parameter, weighed := bytes.Cut(element, []byte(";"))
		wanted := !weighed || !zero(parameter)
		switch coding = trim(coding); {
		case wire.Equal(coding, "gzip"), wire.Equal(coding, "x-gzip"):
			return wanted
		case string(coding) == "*":
			others = wanted
		}
		field = rest
	}
	return others
}

// zero reports whether a parameter is a weight of zero.
func zero(parameter []byte) bool {
	name, value, _ := bytes.Cut(parameter, []byte("="))
	return wire.Equal(trim(name), "q") && len(bytes.Trim(value, " \t0.")) == 0
}

func trim(text []byte) []byte { return bytes.Trim(text, " \t") }

// Fits reports whether a response is compressed for clients that accept it. Such a response varies
// by Accept-Encoding, even for clients that do not.
func (rules *Rules) Fits(r *wire.Response) bool {
	if r.Status != 200 || r.Body.Kind == wire.None ||
		(r.Body.Kind == wire.Sized && r.Body.Length < rules.Above) {
		return false
	}
	typed := false
	for i := range r.List {
		field := &r.List[i]
		switch {
		case field.ID != wire.Other:
		case wire.Equal(field.Name, "content-type"):
			if typed = rules.typed(field.Value); !typed {
				return false
			}
		case named(field.Name, "content-encoding", "content-range", "content-digest", "repr-digest",
			"digest", "content-md5"):
			return false // the field would no longer be true
		case wire.Equal(field.Name, "cache-control") && wire.HasOption(field.Value, "no-transform"):
			return false
		}
	}
	return typed
}

func named(name []byte, names ...string) bool {
	for _, one := range names {
		if wire.Equal(name, one) {
			return true
		}
	}
	return false
}

// typed reports whether a media type is one of those to compress.
func (rules *Rules) typed(value []byte) bool {
	name, _, _ := bytes.Cut(value, []byte(";"))
	name = trim(name)
	if wire.Equal(name, "text/event-stream") && !slices.Contains(rules.Types, "text/event-stream") {
		return false
	}
	for _, one := range rules.Types {
		before, after, open := strings.Cut(one, "*")
		if !open {
			if wire.Equal(name, one) {
				return true
			}
			continue
		}
		if len(name) > len(before)+len(after) && wire.Equal(name[:len(before)], before) &&
			wire.Equal(name[len(name)-len(after):], after) {
			return true
		}
	}
	return false
}

// Dropped lists fields that are not true of the compressed response.
func Dropped() []string { return []string{"etag", "accept-ranges"} }

// Vary is the field that tells caches about the choice.
const Vary = "Vary: Accept-Encoding\r\n"

// AppendLines writes the additional fields of a compressed response. Its ETag becomes weak, because
// equal content may have different bytes.
func AppendLines(to []byte, r *wire.Response) []byte {
	to = append(to, "Content-Encoding: gzip\r\n"+Vary...)
	if tag := r.Only("etag"); len(tag) > 0 {
		to = append(to, "ETag: "...)
		if !bytes.HasPrefix(tag, []byte("W/")) {
			to = append(to, "W/"...)
		}
		to = append(to, tag...)
		to = append(to, "\r\n"...)
	}
	return to
}

// Compressor compresses one response at a time, and can be reused.
type Compressor struct {
	out    bytes.Buffer
	writer *gzip.Writer
	fresh  bool // it holds input that Take has not returned
	taken  bool // the contents of out were returned
}

// Begin starts a response.
func (p *Compressor) Begin() {
	p.out.Reset()
	p.fresh, p.taken = false, false
	if p.writer == nil {
		p.writer, _ = gzip.NewWriterLevel(&p.out, gzip.BestSpeed) // the level is valid
		return
	}
	p.writer.Reset(&p.out)
}

// Add adds a part of the response.
func (p *Compressor) Add(content []byte) {
	if len(content) == 0 {
		return
	}
	p.empty()
	p.fresh = true
	_, _ = p.writer.Write(content) // a buffer never fails
}

// empty removes what was returned.
func (p *Compressor) empty() {
	if p.taken {
		p.out.Reset()
		p.taken = false
	}
}

// Take flushes and returns the output so far. It is valid until the next call.
func (p *Compressor) Take() []byte {
	if !p.fresh {
		return nil
	}
	_ = p.writer.Flush()
	p.fresh, p.taken = false, true
	return p.out.Bytes()
}

// End returns the rest of the output.
func (p *Compressor) End() []byte {
	p.empty()
	_ = p.writer.Close()
	p.fresh, p.taken = false, true
	return p.out.Bytes()
}
