// Package press compresses answers for clients that take them so. It does no I/O.
package press

import (
	"bytes"
	"compress/gzip"
	"slices"
	"strings"

	"faceoff/systems/gateway/wire"
)

// Rules are which answers of a route are compressed.
type Rules struct {
	Above int64    // bytes: shorter ones are not worth it. Those whose length is not told are
	Types []string // in lower case, such as application/json; text/* is all of text
}

// Types are those of which most answers are that are worth it. text/event-stream is none of text/*: an answer that goes on for good would
// keep others from being compressed.
func Types() []string {
	return []string{"text/*", "application/json", "application/*+json", "application/javascript", "application/xml", "application/*+xml", "image/svg+xml"}
}

// Accepts reports whether Accept-Encoding lets an answer be compressed (RFC 9110, 12.5.3).
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

// zero reports whether a weight is none.
func zero(parameter []byte) bool {
	name, value, _ := bytes.Cut(parameter, []byte("="))
	return wire.Equal(trim(name), "q") && len(bytes.Trim(value, " \t0.")) == 0
}

func trim(text []byte) []byte { return bytes.Trim(text, " \t") }

// Fits reports whether an answer is one that is compressed where the client takes it so. Its representation then depends on what the client
// takes, whether it takes this or not.
func (rules *Rules) Fits(r *wire.Response) bool {
	if r.Status != 200 || r.Body.Kind == wire.None || (r.Body.Kind == wire.Sized && r.Body.Length < rules.Above) {
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
		case named(field.Name, "content-encoding", "content-range", "content-digest", "repr-digest", "digest", "content-md5"):
			return false // it would no longer be true
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

// typed reports whether a type is one of those that are compressed.
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
		if len(name) > len(before)+len(after) && wire.Equal(name[:len(before)], before) && wire.Equal(name[len(name)-len(after):], after) {
			return true
		}
	}
	return false
}

// Dropped are the fields of an answer that are not true of what it is compressed to.
func Dropped() []string { return []string{"etag", "accept-ranges"} }

// Vary is the field that tells caches of a choice.
const Vary = "Vary: Accept-Encoding\r\n"

// AppendLines writes the fields that a compressed answer has in addition. Its ETag becomes a weak one, as two that mean the same are no
// longer the same bytes.
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

// Press compresses one answer at a time, and can be used again.
type Press struct {
	out    bytes.Buffer
	writer *gzip.Writer
	fresh  bool // it was given something that has not been taken
	taken  bool // what is in out
}

// Begin begins an answer.
func (p *Press) Begin() {
	p.out.Reset()
	p.fresh, p.taken = false, false
	if p.writer == nil {
		p.writer, _ = gzip.NewWriterLevel(&p.out, gzip.BestSpeed) // which is a level
		return
	}
	p.writer.Reset(&p.out)
}

// Add takes more of the answer.
func (p *Press) Add(content []byte) {
	if len(content) == 0 {
		return
	}
	p.empty()
	p.fresh = true
	_, _ = p.writer.Write(content) // a buffer takes all
}

// empty forgets what was taken.
func (p *Press) empty() {
	if p.taken {
		p.out.Reset()
		p.taken = false
	}
}

// Take gives what has come of that, so that the client can read all of it. It is good until the next call.
func (p *Press) Take() []byte {
	if !p.fresh {
		return nil
	}
	_ = p.writer.Flush()
	p.fresh, p.taken = false, true
	return p.out.Bytes()
}

// End gives the rest.
func (p *Press) End() []byte {
	p.empty()
	_ = p.writer.Close()
	p.fresh, p.taken = false, true
	return p.out.Bytes()
}
