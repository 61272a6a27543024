// Package openapi validates requests and responses against an OpenAPI document, version 3.0 or 3.1.
// It does no I/O.
//
// Parse reads a document; Document.Request, Operation.Answer and Schema.Check validate.
package openapi

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Rules are what a route does with a document.
type Rules struct {
	*Document
	Answers bool  // validate responses as well
	Most    int64 // size limit of a buffered body
	Values  int   // limit of the values in it
}

// Document is an OpenAPI document, as far as validation needs it. It is immutable, and all workers
// share it.
type Document struct {
	bases     []string            // base paths of its servers
	templates map[int][]*template // by number of segments, concrete paths first
}

// Operation is a method of a path.
type Operation struct {
	parameters []*parameter
	needsBody  bool
	bodies     []media            // empty: bodies are not checked
	answers    map[string][]media // by status, class such as 2XX, or "default"
}

// media is a media type and its schema.
type media struct {
	kind   string // in lower case; "*" matches a subtype or everything
	schema *Schema
}

// side tells request from response schemas: read-only properties are not required of requests, and
// write-only ones not of responses.
type side int

const (
	requestSide side = iota
	responseSide
)

// loader reads a document.
type loader struct {
	root    map[string]any
	old     bool // OpenAPI 3.0
	pending [2][]pending
}

// pending is a schema to compile at the end.
type pending struct {
	schema *Schema
	raw    any
	where  string
}

var methods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

// Parse reads a document.
func Parse(text []byte) (*Document, error) {
	v, err := values(text)
	if err != nil {
		return nil, err
	}
	l := &loader{}
	var ok bool
	if l.root, ok = v.(map[string]any); !ok {
		return nil, errors.New("it is not an OpenAPI document")
	}
	switch version := fmt.Sprint(l.root["openapi"]); {
	case version == "3.0" || strings.HasPrefix(version, "3.0."):
		l.old = true
	case version == "3.1" || strings.HasPrefix(version, "3.1."):
	default:
		return nil, errors.New("it does not say `openapi: 3.0.x` or `openapi: 3.1.x`")
	}
	d := &Document{templates: map[int][]*template{}}
	if d.bases, err = l.bases(); err != nil {
		return nil, err
	}
	paths, err := table(l.root, "paths", "the document")
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, errors.New("it has no `paths`")
	}
	shapes := map[string]string{}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if strings.HasPrefix(path, "x-") {
			continue
		}
		t, err := l.path(path, paths[path])
		if err != nil {
			return nil, fmt.Errorf("paths %s: %w", path, err)
		}
		if other, ok := shapes[t.shape()]; ok {
			return nil, fmt.Errorf("paths %s and %s are the same", other, path)
		}
		shapes[t.shape()] = path
		d.templates[len(t.segments)] = append(d.templates[len(t.segments)], t)
	}
	for _, all := range d.templates {
		slices.SortFunc(all, (*template).before)
	}
	return d, errors.Join(l.compile(requestSide), l.compile(responseSide))
}

// bases returns the base paths of the servers.
func (l *loader) bases() ([]string, error) {
	servers, err := list(l.root, "servers", "the document")
	if err != nil || len(servers) == 0 {
		return []string{""}, err
	}
	var all []string
	for i, raw := range servers {
		where := fmt.Sprintf("servers[%d]", i)
		server, err := l.object(raw, where)
		if err != nil {
			return nil, err
		}
		address, _ := server["url"].(string)
		variables, err := table(server, "variables", where)
		if err != nil {
			return nil, err
		}
		for name, raw := range variables {
			variable, err := l.object(raw, where)
			if err != nil {
				return nil, err
			}
			address = strings.ReplaceAll(address, "{"+name+"}", fmt.Sprint(variable["default"]))
		}
		at, err := url.Parse(address)
		if err != nil {
			return nil, fmt.Errorf("%s: its url is invalid", where)
		}
		if base := strings.TrimRight(at.EscapedPath(), "/"); !slices.Contains(all, base) {
			all = append(all, base)
		}
	}
	// The longest first, so that a path is matched with the most specific server.
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all, nil
}

// path reads a path and its operations.
func (l *loader) path(text string, raw any) (*template, error) {
	t, err := newTemplate(text)
	if err != nil {
		return nil, err
	}
	item, err := l.object(raw, "it")
	if err != nil {
		return nil, err
	}
	if item["servers"] != nil {
		return nil, errors.New(
			"it has `servers` of its own, which are not supported: write them next to `paths`",
		)
	}
	common, err := list(item, "parameters", "it")
	if err != nil {
		return nil, err
	}
	var allowed []string
	for _, method := range methods {
		if item[method] == nil {
			continue
		}
		name := strings.ToUpper(method)
		operation, err := l.operation(item[method], common, t.names, name)
		if err != nil {
			return nil, err
		}
		t.operations[name] = operation
		allowed = append(allowed, name)
	}
	if get := t.operations["GET"]; get != nil && t.operations["HEAD"] == nil {
		t.operations["HEAD"] = get // RFC 9110, 9.3.2
		allowed = append(allowed, "HEAD")
	}
	t.allow = strings.Join(allowed, ", ")
	return t, nil
}

func (l *loader) operation(
	raw any,
	common []any,
	names []string,
	where string,
) (*Operation, error) {
	m, err := l.object(raw, where)
	if err != nil {
		return nil, err
	}
	if m["servers"] != nil {
		return nil, fmt.Errorf(
			"%s has `servers` of its own, which are not supported: write them next to `paths`",
			where,
		)
	}
	own, err := list(m, "parameters", where)
	if err != nil {
		return nil, err
	}
	o := &Operation{answers: map[string][]media{}}
	for _, all := range [][]any{own, common} {
		for i, raw := range all {
			p, err := l.parameter(raw, names, fmt.Sprintf("%s parameters[%d]", where, i))
			if err != nil {
				return nil, err
			}
			// A parameter of the operation overrides that of the path.
			if p != nil &&
				!slices.ContainsFunc(
					o.parameters,
					func(other *parameter) bool { return other.in == p.in && other.name == p.name },
				) {
				o.parameters = append(o.parameters, p)
			}
		}
	}
	if m["requestBody"] != nil {
		body, err := l.object(m["requestBody"], where+" requestBody")
		if err != nil {
			return nil, err
		}
		o.needsBody, _ = body["required"].(bool)
		if o.bodies, err = l.media(body, where+" requestBody", requestSide); err != nil {
			return nil, err
		}
	}
	answers, err := table(m, "responses", where)
	if err != nil {
		return nil, err
	}
	for _, status := range slices.Sorted(maps.Keys(answers)) {
		answer, err := l.object(answers[status], where+" responses "+status)
		if err != nil {
			return nil, err
		}
		if o.answers[strings.ToUpper(status)], err = l.media(answer, where+" responses "+status,
			responseSide); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// media reads the media types of a body.
func (l *loader) media(m map[string]any, where string, of side) ([]media, error) {
	content, err := table(m, "content", where)
	if err != nil {
		return nil, err
	}
	var all []media
	for _, kind := range slices.Sorted(maps.Keys(content)) {
		inner, err := l.object(content[kind], where+" "+kind)
		if err != nil {
			return nil, err
		}
		one := media{kind: plainKind(kind)}
		if raw, ok := inner["schema"]; ok &&
			(isJSON(one.kind) || strings.HasSuffix(one.kind, "*")) {
			one.schema = l.schema(raw, where+" "+kind, of)
		}
		all = append(all, one)
	}
	return all, nil
}

// schema registers a schema to compile at the end.
func (l *loader) schema(raw any, where string, of side) *Schema {
	if raw == nil {
		raw = map[string]any{} // it accepts everything
	}
	s := &Schema{}
	l.pending[of] = append(l.pending[of], pending{s, raw, where})
	return s
}

// address is the document's location for the compiler. Nothing is fetched from it.
const address = "http://document.invalid/openapi.json"

// compile compiles the schemas of a side within the document, so that references work.
func (l *loader) compile(of side) error {
	if len(l.pending[of]) == 0 {
		return nil
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if l.old {
		// OpenAPI 3.0 is close to draft 4, except for `nullable`.
		compiler.DefaultDraft(jsonschema.Draft4)
	}
	compiler.AssertFormat()
	compiler.UseLoader(jsonschema.SchemeURLLoader{}) // it loads nothing
	root := map[string]any{}
	for key, v := range l.root {
		root[key] = l.adapt(v, of)
	}
	all := make([]any, 0, len(l.pending[of]))
	for _, one := range l.pending[of] {
		all = append(all, l.adapt(one.raw, of))
	}
	root["x-checked"] = all
	if err := compiler.AddResource(address, root); err != nil {
		return err
	}
	for i, one := range l.pending[of] {
		compiled, err := compiler.Compile(address + "#/x-checked/" + strconv.Itoa(i))
		if err != nil {
			return fmt.Errorf("the schema of %s: %s", one.where,
				strings.ReplaceAll(err.Error(), "\n", "; "))
		}
		one.schema.compiled = compiled
	}
	return nil
}

// adapt copies a part of the document as JSON Schema: `nullable` becomes a type, and properties of
// the other side are not required.
func (l *loader) adapt(v any, of side) any {
	switch v := v.(type) {
	case []any:
		all := make([]any, 0, len(v))
		for _, one := range v {
			all = append(all, l.adapt(one, of))
		}
		return all
	case map[string]any:
		all := make(map[string]any, len(v))
		for key, one := range v {
			all[key] = l.adapt(one, of)
		}
		if kind, ok := v["type"].(string); ok && l.old && v["nullable"] == true {
			all["type"] = []any{kind, "null"}
		}
		l.relax(all, v, of)
		return all
	}
	return v
}

// relax removes from `required` what only the other side has.
func (l *loader) relax(all, v map[string]any, of side) {
	required, ok := v["required"].([]any)
	members, also := v["properties"].(map[string]any)
	if !ok || !also {
		return
	}
	hidden := map[side]string{requestSide: "readOnly", responseSide: "writeOnly"}[of]
	rest := []any{}
	for _, name := range required {
		key, _ := name.(string)
		if member, err := l.object(members[key], key); err == nil && member[hidden] == true {
			continue
		}
		rest = append(rest, name)
	}
	if all["required"] = rest; len(rest) == 0 {
		delete(all, "required") // draft 4 wants at least one
	}
}
