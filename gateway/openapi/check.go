// Validates a request or a response: path, method, parameters and media type. Bodies are validated
// later by Schema.Check, once they are complete.

package openapi

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"faceoff/gateway/wire"
)

// Titles of problems.
const (
	NotAsDescribed    = "the request does not match its OpenAPI document"
	noSuchPath        = "the document has no such path"
	noSuchMethod      = "the document has no such method for this path"
	noSuchKind        = "the document has no such content type for this request"
	noSuchEncoding    = "content to be validated must not have an encoding"
	AnswerOtherwise   = "the upstream's response does not match its OpenAPI document"
	answerUnannounced = "the document has no such response of the upstream"
)

// Request checks a request against the document: path, method, parameters, and the body's media
// type. For JSON it returns the schema that the complete body must match.
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
			return nil, nil, problem(400, NotAsDescribed,
				Fault{In: "body", Detail: "it is missing"})
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

// Mismatch returns the problem of a request whose body is invalid.
func Mismatch(faults []Fault) *Problem { return problem(400, NotAsDescribed, faults...) }

// check checks the parameters of a request.
func (o *Operation) check(r *wire.Request, given []string) []Fault {
	var faults []Fault
	var query []pair
	read := false
	for _, p := range o.parameters {
		switch p.in {
		case "path":
			faults = append(faults, p.check([]string{given[p.index]}, url.PathUnescape)...)
		case "header":
			faults = append(faults, p.checkField(r)...)
		case "query":
			if !read {
				var err error
				if query, err = pairs(r.Query); err != nil {
					return append(faults,
						Fault{In: "query", Detail: "a percent sign without two hexadecimal digits"})
				}
				read = true
			}
			faults = append(faults, p.checkQuery(query)...)
		}
	}
	return faults
}

// Answer checks a response against its operation. For JSON it returns the schema that the body must
// match. Statuses 5xx need not be documented, nor 206 and 304, which are parts of another response.
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
	case len(all) == 0 || r.Body.Kind == wire.None ||
		(r.Body.Kind == wire.Sized && r.Body.Length == 0):
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

// MismatchOfAnswer returns the problem that a client gets instead of an invalid response. Only the
// operator sees the details.
func MismatchOfAnswer() *Problem { return problem(502, AnswerOtherwise) }

// find returns the entry for a media type, the most specific one, or nil.
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

// plainKind returns a media type in lower case without parameters.
func plainKind(kind string) string {
	kind, _, _ = strings.Cut(kind, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

func isJSON(kind string) bool {
	return kind == "application/json" || strings.HasSuffix(kind, "+json") || kind == "text/json"
}

func encoded(f *wire.Fields) bool {
	for i := range f.List {
		if wire.Equal(f.List[i].Name, "content-encoding") &&
			!wire.Equal(f.List[i].Value, "identity") {
			return true
		}
	}
	return false
}

// jsonValue parses JSON with a limited number of values that are cheap to compare.
func jsonValue(text []byte, most int) (any, error) {
	if err := weigh(text).bearable(most); err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(text))
}
