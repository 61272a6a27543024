package openapi

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"faceoff/systems/gateway/wire"
)

// What clients are told.
const (
	NotAsDescribed    = "the request is not as its document says"
	noSuchPath        = "the document has no such path"
	noSuchMethod      = "the document has no such method of this path"
	noSuchKind        = "the document has no such kind of content for this request"
	noSuchEncoding    = "content that is to be checked is not taken in an encoding"
	AnswerOtherwise   = "the upstream's answer is not as its document says"
	answerUnannounced = "the document has no such answer of the upstream"
)

// Request holds a request against the document: its path, as it goes to the upstream, its method, its parameters, and what kind its body is
// of. Where that is JSON, the schema is what the body must be like, once it is here whole.
func (d *Document) Request(r *wire.Request, path []byte) (*Operation, *Schema, *Problem) {
	t, given := d.find(string(path))
	if t == nil {
		return nil, nil, problem(404, noSuchPath)
	}
	o := t.operations[string(r.Method)]
	if o == nil {
		p := problem(405, noSuchMethod)
		p.Allow = t.allow
		return nil, nil, p
	}
	if faults := o.check(r, given); len(faults) > 0 {
		return nil, nil, problem(400, NotAsDescribed, faults...)
	}
	if r.Body.Kind == wire.None || (r.Body.Kind == wire.Sized && r.Body.Length == 0) {
		if o.needsBody {
			return nil, nil, problem(400, NotAsDescribed, Fault{In: "body", Detail: "it is missing"})
		}
		return o, nil, nil
	}
	if len(o.bodies) == 0 {
		return o, nil, nil
	}
	kind := plainKind(string(r.Only("content-type")))
	m := find(o.bodies, kind)
	switch {
	case m == nil:
		return nil, nil, problem(415, noSuchKind)
	case m.schema == nil || !isJSON(kind):
		return o, nil, nil
	case encoded(&r.Fields):
		return nil, nil, problem(415, noSuchEncoding)
	}
	return o, m.schema, nil
}

// Mismatch is the problem of a request whose body has faults.
func Mismatch(faults []Fault) *Problem { return problem(400, NotAsDescribed, faults...) }

// check holds the parameters of a request against those of the operation.
func (o *Operation) check(r *wire.Request, given []string) []Fault {
	var faults []Fault
	var query []pair
	read := false
	for _, p := range o.parameters {
		switch p.in {
		case "path":
			faults = append(faults, p.check([]string{given[p.place]}, url.PathUnescape)...)
		case "header":
			faults = append(faults, p.checkField(r)...)
		case "query":
			if !read {
				var err error
				if query, err = pairs(r.Query); err != nil {
					return append(faults, Fault{In: "query", Detail: "a percent sign without two hexadecimal digits"})
				}
				read = true
			}
			faults = append(faults, p.checkQuery(query)...)
		}
	}
	return faults
}

// Answer holds an answer against the operation. Where its body is JSON, the schema is what it must be like. What an upstream says that fails (5xx) need
// not be announced, nor 206 and 304, which are parts of another answer.
func (o *Operation) Answer(r *wire.Response) (*Schema, *Problem) {
	if r.Status == 206 || r.Status == 304 {
		return nil, nil
	}
	status := strconv.Itoa(r.Status)
	all, ok := o.answers[status]
	if !ok {
		all, ok = o.answers[status[:1]+"XX"]
	}
	if !ok {
		all, ok = o.answers["DEFAULT"]
	}
	switch {
	case !ok && r.Status >= 500:
		return nil, nil
	case !ok:
		return nil, problem(502, answerUnannounced)
	case len(all) == 0 || r.Body.Kind == wire.None || (r.Body.Kind == wire.Sized && r.Body.Length == 0):
		return nil, nil
	}
	kind := plainKind(string(r.Only("content-type")))
	m := find(all, kind)
	switch {
	case m == nil:
		return nil, problem(502, AnswerOtherwise)
	case !isJSON(kind) || encoded(&r.Fields):
		return nil, nil
	}
	return m.schema, nil
}

// MismatchOfAnswer is what a client is told in place of an answer that has faults. Which ones is the operator's business.
func MismatchOfAnswer() *Problem { return problem(502, AnswerOtherwise) }

// find is the entry for a kind of content, the nearest one; nil where there is none.
func find(all []media, kind string) *media {
	before, _, _ := strings.Cut(kind, "/")
	for _, name := range []string{kind, before + "/*", "*/*"} {
		for i := range all {
			if all[i].kind == name {
				return &all[i]
			}
		}
	}
	return nil
}

// plainKind is a kind of content in lower case, without what follows it.
func plainKind(kind string) string {
	kind, _, _ = strings.Cut(kind, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

func isJSON(kind string) bool {
	return kind == "application/json" || strings.HasSuffix(kind, "+json") || kind == "text/json"
}

func encoded(f *wire.Fields) bool {
	for i := range f.List {
		if wire.Equal(f.List[i].Name, "content-encoding") && !wire.Equal(f.List[i].Value, "identity") {
			return true
		}
	}
	return false
}

// jsonValue reads a text that is JSON, holds so many values at most, and can be compared at no great cost.
func jsonValue(text []byte, most int) (any, error) {
	if err := weigh(text).bearable(most); err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(text))
}
