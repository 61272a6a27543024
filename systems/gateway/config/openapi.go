package config

import (
	"faceoff/systems/gateway/guard"
	"faceoff/systems/gateway/openapi"
	"faceoff/systems/gateway/route"
)

const (
	// bodyOfDocument is the most that a body may have which is read whole, where nothing is written of it.
	bodyOfDocument = 128 << 10

	// mostBodyOfDocument bounds how long a body's check holds up whoever else its worker serves.
	mostBodyOfDocument = 4 << 20
)

// description is a document, or why there is none.
type description struct {
	document *openapi.Document
	err      error
}

// document reads an OpenAPI document once, however many routes name it.
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

// openAPI reads `openapi: {file: petstore.yaml, answers: false, values: 65536}`, and bounds the bodies of the route.
func (r table) openAPI(one *route.Route) {
	if !r.has("openapi") {
		return
	}
	t := r.table("openapi", "file", "answers", "values")
	name := t.text("file", "", "petstore.yaml")
	document, err := t.document(name)
	switch {
	case !t.has("file"):
		t.problem(t.node, "write for example `openapi: {file: petstore.yaml}`", "`%s.file` is missing", t.path)
	case err != nil:
		t.problem(t.at("file"), "name a file with an OpenAPI document, 3.0 or 3.1, all in one", "no document of `%s`: %v", name, err)
	}
	if one.Guard == nil {
		one.Guard = &guard.Guard{}
	}
	switch {
	case one.Guard.Body == 0:
		one.Guard.Body = bodyOfDocument
	case one.Guard.Body > mostBodyOfDocument:
		r.problem(r.at("body"), "write 4MB at most beside `openapi`: a body of JSON is read whole there", "`%s` is %d bytes", r.join("body"), one.Guard.Body)
	}
	one.OpenAPI = &openapi.Rules{Document: document, Answers: t.boolean("answers", false), Most: one.Guard.Body,
		Values: t.count("values", openapi.MostValues, 1, mostBodyOfDocument)}
}
