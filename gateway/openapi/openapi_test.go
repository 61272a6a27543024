// Validation against testdata/petstore.yaml, and documents that cannot be used.

package openapi

import (
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"

	"faceoff/gateway/wire"
)

func petstore(t testing.TB) *Document {
	t.Helper()
	text, err := os.ReadFile("testdata/petstore.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func request(t testing.TB, line string, fields ...string) *wire.Request {
	t.Helper()
	var r wire.Request
	text := line + " HTTP/1.1\r\nHost: a\r\n" + strings.Join(append(fields, "", ""), "\r\n")
	if n, err := r.Parse([]byte(text)); err != nil || n != len(text) {
		t.Fatalf("%q: %d, %v", text, n, err)
	}
	return &r
}

// errorLines lists the errors of a problem, one per line.
func errorLines(p *Problem) string {
	if p == nil {
		return ""
	}
	all := []string{p.Title}
	for _, f := range p.Errors {
		all = append(all, f.In+" "+f.Name+f.Pointer+": "+f.Detail)
	}
	return strings.Join(all, "\n")
}

// parameterCases are requests for the pet store, with the expected status and a part of the
// problem.
var parameterCases = []struct {
	line, field string
	status      int
	want        string // a part of the problem
}{
	{"GET /v1/pets?limit=5", "", 0, ""},
	{"HEAD /v1/pets?limit=5", "", 0, ""},
	{"GET /pets?limit=5", "", 404, ""}, // outside the servers' base paths
	{"GET /v1/pet", "", 404, ""},
	{"GET /v11/pets", "", 404, ""},
	{"GET /v1/pets/1/toys", "", 404, ""},
	{"GET /v1/pets/", "", 404, ""},
	{"PUT /v1/pets", "", 405, "Method Not Allowed"},
	{"DELETE /v1/pets/mine", "", 405, ""}, // the concrete path has no DELETE
	{"GET /v1/pets", "", 400, "query limit: it is missing"},
	{"GET /v1/pets?limit=5&limit=6", "", 400, "query limit: it is there more than once"},
	{"GET /v1/pets?limit=many", "", 400, "query limit: got string, want integer"},
	{"GET /v1/pets?limit=5.5", "", 400, "query limit: "},
	{"GET /v1/pets?limit=101", "", 400, "query limit: maximum: "},
	{"GET /v1/pets?limit=1e999999", "", 400, "query limit: "},
	{"GET /v1/pets?limit=%zz", "", 400, "a percent sign"},
	{"GET /v1/pets?%6cimit=5", "", 0, ""},
	{"GET /v1/pets?limit=5&unknown=1", "", 0, ""},
	{"GET /v1/pets?limit=5&kind=cat&kind=dog", "", 0, ""},
	{"GET /v1/pets?limit=5&kind=cat&kind=cow", "", 400, "query kind/1: "},
	{"GET /v1/pets?limit=5&ids=1,2", "", 0, ""},
	{"GET /v1/pets?limit=5&ids=1,2,3", "", 400, "query ids: "},
	{"GET /v1/pets?limit=5&ids=1,b", "", 400, "query ids/1: got string, want integer"},
	{"GET /v1/pets?limit=5&tags=ab|cd%7Cef", "", 0, ""},
	{"GET /v1/pets?limit=5&tags=ab%7Cc", "", 400, "query tags/1: "},
	{"GET /v1/pets?limit=5&where[age]=5", "", 0, ""},
	{"GET /v1/pets?limit=5&where[age]=old", "", 400, "query where/age: got string, want integer"},
	{"GET /v1/pets?limit=5&where[size]=5", "", 400, "query where: "},
	{"GET /v1/pets?limit=5&near=[1,2.5]", "", 0, ""},
	{"GET /v1/pets?limit=5&near=[1,%22a%22]", "", 400, "query near/1: got string, want number"},
	{"GET /v1/pets?limit=5&near=[1", "", 400, "query near: it is not JSON"},
	{"GET /v1/pets?limit=5&old=true", "", 0, ""},
	{"GET /v1/pets?limit=5&old=yes", "", 400, "query old: got string, want boolean"},
	{"GET /v1/pets?limit=5", "X-Shops: 1, 2", 0, ""},
	{"GET /v1/pets?limit=5", "X-Shops: 1, two", 400, "header x-shops/1: got string, want integer"},
	{"GET /v1/pets?limit=5", "Accept: */*", 0, ""},
	{"GET /v1/pets/2", "", 0, ""},
	{"GET /v1/pets/1", "", 400, "path id: "},
	{"GET /v1/pets/a%20b", "", 400, "path id: got string, want integer"},
	{"GET /v1/pets/mine", "", 0, ""},
	{"GET /v1/pictures/a.b.png", "", 0, ""},
	{"GET /v1/pictures/a.gif", "", 400, "path kind: "},
	{"GET /v1/pictures/png", "", 404, ""},
	{"GET /v1/", "X-Key: abc", 0, ""},
	{"GET /v1", "X-Key: abc", 0, ""},
	{"GET /v1/", "X-Key: ABC", 400, "header x-key: "},
	{"GET /v1/", "", 400, "header x-key: it is missing"},
}

func TestPathsMethodsAndParameters(t *testing.T) {
	d := petstore(t)
	for _, c := range parameterCases {
		fields := []string{}
		if c.field != "" {
			fields = append(fields, c.field)
		}
		r := request(t, c.line, fields...)
		o, schema, p := d.Request(r, r.Path)
		if schema != nil || (o == nil) != (c.status != 0) {
			t.Errorf("%s %s: %v, %v", c.line, c.field, o, schema)
		}
		if got := errorLines(p); (p == nil) != (c.status == 0) || (p != nil && p.Status != c.status) || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %+v, want %d %q", c.line, c.field, p, c.status, c.want)
		}
		if p != nil && p.Status == 405 && !strings.HasPrefix(p.Allow, "GET, ") {
			t.Errorf("%s: Allow is %q", c.line, p.Allow)
		}
	}
}

func TestBodies(t *testing.T) {
	d := petstore(t)
	for _, c := range []struct {
		kind, body string
		status     int
		want       string
	}{
		{"application/json", `{"name":"Tom","secret":"s"}`, 0, ""}, // the id is read-only
		{"Application/JSON; charset=utf-8", `{"name":"Tom","secret":"s","born":null,"mother":{"name":"Eve","secret":"s"}}`, 0, ""},
		{"application/json", `{"secret":"s"}`, 400, "body : missing property"},
		{"application/json", `{"name":"Tom","secret":"s","mother":{"name":7,"secret":"s"}}`, 400, "body /mother/name: got number, want string"},
		{"application/json", `{"name":"Tom","secret":"s","a/b~c":7}`, 400, "additional"},
		{"application/json", `{"name":"far too long","secret":"s","born":"yesterday"}`, 400, "body /born: "},
		{"application/json", `{"name":"Tom"`, 400, "it cannot be read as JSON"},
		{"application/json", `{} {}`, 400, "it cannot be read as JSON"},
		{"application/json", `[1e999999]`, 400, "it cannot be read as JSON"},
		{"application/json", ``, 400, "body : it is missing"},
		{"application/x-www-form-urlencoded", `a=b`, 0, ""},
		{"text/plain", `a`, 0, ""},
		{"image/png", `a`, 415, "Unsupported Media Type"},
		{"", `a`, 415, ""},
	} {
		fields := []string{"Content-Length: " + string(wire.AppendDecimal(nil, int64(len(c.body))))}
		if c.kind != "" {
			fields = append(fields, "Content-Type: "+c.kind)
		}
		r := request(t, "POST /v1/pets", fields...)
		_, schema, p := d.Request(r, r.Path)
		if isJSON(plainKind(c.kind)) != (schema != nil) && c.body != "" {
			t.Errorf("%s: the schema is %v", c.kind, schema)
		}
		if schema != nil {
			if faults := schema.Check([]byte(c.body), MostValues); len(faults) > 0 {
				p = Mismatch(faults)
			}
		}
		if (p == nil) != (c.status == 0) || (p != nil && p.Status != c.status) || !strings.Contains(errorLines(p), c.want) {
			t.Errorf("%s %s: %+v, want %d %q", c.kind, c.body, p, c.status, c.want)
		}
	}
	r := request(t, "POST /v1/pets", "Content-Length: 5", "Content-Type: application/json", "Content-Encoding: gzip")
	if _, _, p := d.Request(r, r.Path); p == nil || p.Status != 415 {
		t.Errorf("%+v", p)
	}
}

func TestResponses(t *testing.T) {
	d := petstore(t)
	for _, c := range []struct {
		line, answer, kind, body string
		wrong                    bool
	}{
		// The secret is write-only.
		{"GET /v1/pets?limit=1", "200 OK", "application/json", `[{"id":1,"name":"Tom"}]`, false},
		{"GET /v1/pets?limit=1", "200 OK", "application/json", `[{"name":"Tom"}]`, true},
		{"GET /v1/pets?limit=1", "200 OK", "text/html", `[]`, true},
		// The default response has no content type.
		{"GET /v1/pets?limit=1", "418 Other", "text/html", `a`, false},
		{"DELETE /v1/pets/2", "204 No Content", "", "", false},
		{"DELETE /v1/pets/2", "404 Not Found", "", "", true},
		{"DELETE /v1/pets/2", "503 Service Unavailable", "text/html", "a", false},
		{"DELETE /v1/pets/2", "304 Not Modified", "", "", false},
		{"POST /v1/pets", "422 Other", "application/problem+json", `{}`, false},
		{"POST /v1/pets", "422 Other", "application/problem+json", `[]`, true},
	} {
		fields := []string{}
		if strings.HasPrefix(c.line, "POST") {
			fields = append(fields, "Content-Length: 5", "Content-Type: text/plain")
		}
		r := request(t, c.line, fields...)
		o, _, p := d.Request(r, r.Path)
		if p != nil {
			t.Fatalf("%s: %+v", c.line, p)
		}
		text := "HTTP/1.1 " + c.answer + "\r\n"
		if c.body != "" {
			text += "Content-Type: " + c.kind + "\r\nContent-Length: " + string(wire.AppendDecimal(nil, int64(len(c.body)))) + "\r\n"
		}
		var answer wire.Response
		if n, err := answer.Parse([]byte(text+"\r\n"), r.Kind); err != nil || n == 0 {
			t.Fatalf("%q: %v", text, err)
		}
		schema, p := o.Answer(&answer)
		wrong := p != nil || (schema != nil && len(schema.Check([]byte(c.body), MostValues)) > 0)
		if wrong != c.wrong {
			t.Errorf("%s, %s %s: %v, %+v", c.line, c.answer, c.body, wrong, p)
		}
	}
}

func TestOpenAPI31(t *testing.T) { // 3.1, as JSON, with JSON Schema of 2020-12
	d, err := Parse([]byte(`{"openapi": "3.1.0", "paths": {"/a": {"post": {
		"requestBody": {"content": {"application/json": {"schema": {"type": ["object", "null"], "properties": {"n": {"exclusiveMinimum": 3}, "k": {"const": "v"}}, "$ref": "#/components/schemas/S"}}}}}}},
		"components": {"schemas": {"S": {"unevaluatedProperties": true, "prefixItems": [true]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	r := request(t, "POST /a", "Content-Length: 5", "Content-Type: application/json")
	_, schema, p := d.Request(r, r.Path)
	if p != nil || schema == nil {
		t.Fatalf("%v, %+v", schema, p)
	}
	for body, fits := range map[string]bool{`null`: true, `{"n": 4, "k": "v"}`: true, `{"n": 3}`: false, `{"k": "w"}`: false, `[]`: false} {
		if faults := schema.Check([]byte(body), MostValues); (len(faults) == 0) != fits {
			t.Errorf("%s: %v", body, faults)
		}
	}
}

func TestInvalidDocumentsAreReported(t *testing.T) {
	const head = "openapi: 3.0.3\npaths:\n"
	for _, c := range [][2]string{
		{"", "empty"},
		{"a: [", ""},
		{"[]", "not an OpenAPI document"},
		{"swagger: \"2.0\"", "does not say"},
		{"openapi: 3.0.3", "no `paths`"},
		{"openapi: 3.0.3\npaths: []", "is not an object"},
		{"{\"openapi\"", ""},
		{head + "  /a: &a {get: {responses: *a}}\n", "nested"},
		{head + "  pets: {}\n", "slash"},
		{head + "  /a/{b}: {}\n  /a/{c}: {}\n", "the same"},
		{head + "  /a/{b: {}\n", "brace"},
		{head + "  \"/{a}{b}\": {}\n", "adjacent"},
		{head + "  /a: {servers: [], get: {}}\n  /b: {servers: [{url: /v2}]}\n", "next to `paths`"},
		{head + "  /a: {get: {parameters: [{name: b, in: path, schema: {}}]}}\n", "not in the path"},
		{head + "  /a: {get: {parameters: [{name: b, in: body, schema: {}}]}}\n", "`in` is"},
		{head + "  /a: {get: {parameters: [{name: b, in: query}]}}\n", "neither"},
		{head + "  /a: {get: {parameters: [{name: b, in: query, schema: {type: object}}]}}\n", "deepObject"},
		{head + "  /a: {get: {parameters: [{name: b, in: query, style: matrix, schema: {}}]}}\n", "style"},
		{head + "  /a: {get: {parameters: [{$ref: \"#/components/b\"}]}}\n", "does not exist"},
		{head + "  /a: {get: {parameters: [{$ref: \"other.yaml#/b\"}]}}\n", "one file"},
		{head + "  /a: {$ref: \"#/paths/~1a\"}\n", "itself"},
		{head + "  /a: {get: {parameters: [{name: b, in: query, schema: {type: number, minimum: low}}]}}\n", "the schema of GET parameters[0]"},
		{head + "  /a: {post: {requestBody: {content: {application/json: {schema: {pattern: \"(\"}}}}}}\n", "the schema of POST requestBody"},
		{head + "  /a: {post: {requestBody: {content: {application/json: {schema: {$ref: \"http://127.0.0.1:1/a\"}}}}}}\n", "the schema of POST requestBody"},
		{head + "  /a: {post: {requestBody: {content: {application/json: {schema: {properties: {a: {$ref: \"#/components/b\"}}}}}}}}\n", "the schema of POST requestBody"},
	} {
		if _, err := Parse([]byte(c[0])); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s: %v, want %q", c[0], err, c[1])
		}
	}
}

func TestProblemsAreJSON(t *testing.T) {
	var many []Fault
	for range 30 {
		many = append(many, Fault{In: "query", Name: strings.Repeat("\"<\xff", len(many)), Detail: short(strings.Repeat("x", 1000))})
	}
	p := problem(400, NotAsDescribed, many...)
	var back Problem
	if err := json.Unmarshal(p.Body(), &back); err != nil || back.Status != 400 || back.Title != "Bad Request" || back.Type != "about:blank" || len(back.Errors) != maxFaults {
		t.Errorf("%s: %v", p.Body(), err)
	}
	if len(back.Errors) > 0 && len(back.Errors[0].Detail) != maxDetail+len("...") {
		t.Errorf("%d bytes", len(back.Errors[0].Detail))
	}
}

func FuzzDocument(f *testing.F) {
	text, err := os.ReadFile("testdata/petstore.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"openapi":"3.1.0","paths":{"/{a}":{"get":{"parameters":[{"in":"path","name":"a","schema":{"allOf":[{"$ref":"#/paths"}]}}]}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse(text)
		if err != nil {
			return
		}
		r := request(t, "POST /v1/pets?limit=5", "Content-Length: 2", "Content-Type: application/json")
		if _, schema, _ := d.Request(r, r.Path); schema != nil {
			schema.Check([]byte("{}"), MostValues)
		}
	})
}

func BenchmarkRequest(b *testing.B) {
	d := petstore(b)
	r := request(b, "POST /v1/pets", "Content-Length: 27", "Content-Type: application/json")
	body := []byte(`{"name":"Tom","secret":"s"}`)
	b.ReportAllocs()
	for b.Loop() {
		_, schema, p := d.Request(r, r.Path)
		if p != nil || len(schema.Check(body, MostValues)) > 0 {
			b.Fatal(p)
		}
	}
}

func TestDeepNestingIsRefused(t *testing.T) {
	d, err := Parse([]byte(`{"openapi": "3.1.0", "paths": {"/a": {"post": {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Tree"}}}}}}},
		"components": {"schemas": {"Tree": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	r := request(t, "POST /a", "Content-Length: 5", "Content-Type: application/json")
	_, schema, p := d.Request(r, r.Path)
	if p != nil || schema == nil {
		t.Fatalf("%v, %+v", schema, p)
	}
	nested := func(depth int, inner string) string {
		return strings.Repeat("[", depth) + inner + strings.Repeat("]", depth)
	}
	for _, c := range []struct{ body, want string }{
		{nested(maxNesting+1, ""), ""}, // the innermost level is maxNesting
		{nested(maxNesting, "[]"), ""},
		{nested(maxNesting+2, ""), errTooNested.Error()},
		// Each of them is wrong.
		{nested(maxNesting, strings.Repeat("0,", meanNesting*MostValues/maxNesting)+"0"), errTooNested.Error()},
		{nested(3, "0"), "array"},
	} {
		faults := schema.Check([]byte(c.body), MostValues)
		if (len(faults) == 0) != (c.want == "") || (c.want != "" && !strings.Contains(faults[0].Detail, c.want)) {
			t.Errorf("%.20s of %d bytes: %v, want %q", c.body, len(c.body), faults, c.want)
		}
	}
}

func TestBodiesWithTooManyValuesAreNotParsed(t *testing.T) {
	d, err := Parse([]byte(`{"openapi": "3.1.0", "paths": {"/a": {"post": {"requestBody": {"content": {"application/json": {"schema": {
		"type": "array", "items": {"type": "string"}, "additionalProperties": {"type": "string"}}}}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	_, schema, p := d.Request(request(t, "POST /a", "Content-Length: 5", "Content-Type: application/json"), []byte("/a"))
	if p != nil || schema == nil {
		t.Fatalf("%v, %+v", schema, p)
	}
	const million = 1 << 20
	for name, body := range map[string]string{
		"elements": "[0" + strings.Repeat(",0", million) + "]",
		"members":  `{"a":0` + strings.Repeat(`,"a":0`, million) + "}",
		"nothing":  "[[]" + strings.Repeat(",{}", million) + "]",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		faults := schema.Check([]byte(body), MostValues)
		runtime.ReadMemStats(&after)
		if len(faults) != 1 || !strings.Contains(faults[0].Detail, "it holds more than 65536 values") {
			t.Errorf("%s: %v", name, faults)
		}
		if took := after.TotalAlloc - before.TotalAlloc - uint64(len(body)); took > 1<<20 {
			t.Errorf("%s: %d bytes for %d", name, took, len(body))
		}
	}
	if faults := schema.Check([]byte("["+strings.Repeat(`"", `, MostValues-2)+`""]`), MostValues); len(faults) > 0 {
		t.Errorf("as many as there may be: %v", faults)
	}
}

func TestValuesAreCounted(t *testing.T) {
	for text, want := range map[string]burden{
		"":                          {},
		" 1 ":                       {values: 1},
		`"[1,2]\\\"," `:             {values: 1},
		"[]":                        {values: 1},
		" [ ] ":                     {values: 1},
		"[{}, [] ]":                 {values: 3, deepest: 1, steps: 2},
		`{"a" : 1, "b,\"": [2, 3]}`: {values: 5, deepest: 2, steps: 6},
		"[true,null,-1.5e+3]":       {values: 4, deepest: 1, steps: 3},
		`{"a":1e9999}`:              {values: 2, deepest: 1, steps: 1, digits: true},
		`["1e9999"]`:                {values: 2, deepest: 1, steps: 1},
		"]]":                        {},
		`["`:                        {values: 2, deepest: 1, steps: 1},
	} {
		if got := weigh([]byte(text)); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}
