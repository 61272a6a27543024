// Reads `openapi` of a route, and limits the bodies that validation has to buffer.

package config

import (
	"faceoff/gateway/guard"
	"faceoff/gateway/openapi"
	"faceoff/gateway/route"
)

const (
	// bodyOfDocument is the default size limit of a buffered body.
	bodyOfDocument = 128 << 10

	// maxBodyOfDocument bounds how long validating a body blocks the other clients of its worker.
	maxBodyOfDocument = 4 << 20
)

// description is a document, or the error of reading it.
type description struct {
	document *openapi.Document
	err      error
}

// document reads an OpenAPI document once, even if several routes name it.
func (r *reader) document(name string) (*openapi.Document, error) {
	d, known := r.described[name]
	if !known {
		var text []byte
		if text, d.err = r.open(name); d.err == nil {
			d.document, d.err = openapi.Parse(text)
		}
		r.described[name] = d
	}
	return d.document, d.err
}

// openAPI reads `openapi: {file: petstore.yaml, answers: false, values: 65536}`, and limits the
// route's bodies.
func (r table) openAPI(one *route.Route) {
	if !r.has("openapi") {
		return
	}
	t := r.table("openapi", "file", "answers", "values")
	name := t.text("file", "", "petstore.yaml")
	document, err := t.document(name)
	switch {
	case !t.has("file"):
		t.problem(t.node, "write for example `openapi: {file: petstore.yaml}`",
			"`%s.file` is missing", t.path)
	case err != nil:
		t.problem(t.nodeOf("file"), "name a file with an OpenAPI document, 3.0 or 3.1, all in one",
			"cannot use the document `%s`: %v", name, err)
	}
	if one.Guard == nil {
		one.Guard = &guard.Guard{}
	}
	switch {
	case one.Guard.Body == 0:
		one.Guard.Body = bodyOfDocument
	case one.Guard.Body > maxBodyOfDocument:
		r.problem(r.nodeOf("body"),
			"write 4MB at most with `openapi`, because JSON bodies are buffered",
			"`%s` is %d bytes", r.join("body"), one.Guard.Body)
	}
	one.OpenAPI = &openapi.Rules{
		Document: document,
		Answers:  t.boolean("answers", false),
		Most:     one.Guard.Body,
		Values:   t.count("values", openapi.MostValues, 1, maxBodyOfDocument),
	}
}
