// Reads what a route adds and removes: `id`, `trace`, `request`, `answer`, `cors` and `compress`,
// and the collector in `spans`.

package config

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"faceoff/gateway/compress"
	"faceoff/gateway/headers"
	"faceoff/gateway/spans"
	"faceoff/gateway/wire"
)

// headers reads the fields that a route adds and removes; nil if there are none.
func (r table) headers() *headers.Rules {
	rules := &headers.Rules{
		ID:      strings.ToLower(r.text("id", "", "X-Request-Id")),
		Request: r.fields("request"),
		Answer:  r.fields("answer"),
		Cors:    r.cors(),
	}
	if r.has("id") && !settable(rules.ID, "x") {
		r.problem(r.nodeOf("id"), "name a field, such as `id: X-Request-Id`", "`id` is %q", rules.ID)
	}
	rules.Sampled, rules.Trace = r.share("trace", 0)
	if rules.ID == "" && !rules.Trace && rules.Request.Drop == nil && rules.Answer.Drop == nil &&
		rules.Cors == nil {
		return nil
	}
	return rules
}

// Spans is the OpenTelemetry collector that receives spans, and the name of this service. An empty
// To means none.
type Spans struct{ To, Service string }

// spans reads `{to: http://127.0.0.1:4318, service: gateway}`.
func (t table) spans() Spans {
	if !t.has("spans") {
		return Spans{}
	}
	s := t.table("spans", "to", "service")
	to, err := spans.Address(s.text("to", "", "http://127.0.0.1:4318"))
	if err != nil {
		s.problem(s.nodeOf("to"),
			"write the address of a collector, such as `to: http://127.0.0.1:4318`",
			"`spans.to` cannot receive spans: %v", err)
	}
	return Spans{to, s.text("service", "gateway", "gateway")}
}

// fields reads `{set: {NAME: value}, remove: [NAME]}`.
func (r table) fields(key string) headers.Fields {
	var f headers.Fields
	t := r.table(key, "set", "remove")
	set := t.table("set")
	for i := 0; i+1 < len(set.node.Content) && set.node.Kind == yaml.MappingNode &&
		t.has("set"); i += 2 {
		name := set.node.Content[i].Value
		value := set.text(name, "", "value")
		if !settable(name, value) {
			t.problem(
				set.node.Content[i],
				"name a field that the gateway does not write itself, and a value without line breaks",
				"`%s` cannot be set to %q",
				name,
				value,
			)
			continue
		}
		f.Drop = append(f.Drop, strings.ToLower(name))
		f.Lines = slices.Concat(f.Lines, []byte(name+": "+value+"\r\n"))
	}
	for _, name := range t.texts("remove") {
		if !settable(name, "x") {
			t.problem(t.nodeOf("remove"), "name a field that the gateway does not write itself",
				"`%s` cannot be removed", name)
		}
		f.Drop = append(f.Drop, strings.ToLower(name))
	}
	return f
}

var (
	origin = regexp.MustCompile(`^https?://(\*\.)?[a-z0-9.-]+(:\d{1,5})?$`)
	word   = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
)

// cors reads `{origins: [https://shop.example], methods: [GET], headers: [X-A], expose: [X-B],
// credentials: true, age: 10m}`.
func (r table) cors() *headers.Cors {
	if !r.has("cors") {
		return nil
	}
	t := r.table("cors", "origins", "methods", "headers", "expose", "credentials", "age")
	rules := &headers.Cors{
		Methods:     t.words("methods", "GET, HEAD, POST, PUT, PATCH, DELETE"),
		Headers:     t.words("headers", ""),
		Expose:      t.words("expose", ""),
		Credentials: t.boolean("credentials", false),
	}
	if t.has("age") {
		rules.Age = strconv.Itoa(int(t.duration("age", 10*time.Minute, 0, longest).Seconds()))
	}
	for _, text := range t.texts("origins") {
		switch {
		case text == "*":
			rules.Any = true
		case origin.MatchString(text):
			rules.Origins = append(rules.Origins, text)
		default:
			t.problem(
				t.nodeOf("origins"),
				"write them as browsers do, in lower case and without a path, such as https://shop.example, or `*`",
				"%q is not an origin",
				text,
			)
		}
	}
	switch {
	case !t.has("origins"):
		t.problem(t.node, "write for example `origins: [https://shop.example]`",
			"`%s.origins` is missing", t.path)
	case rules.Any && rules.Credentials:
		t.problem(t.nodeOf("credentials"), "name the origins: browsers take no credentials with `*`",
			"`%s` lets every origin send credentials", t.path)
	case rules.Any && len(rules.Origins) > 0:
		t.problem(t.nodeOf("origins"), "remove the other origins", "`*` is every origin already")
	}
	return rules
}

// kind matches a media type, which may contain asterisks.
var kind = regexp.MustCompile(`^[A-Za-z0-9!#$&^_.+*-]+/[A-Za-z0-9!#$&^_.+*-]+$`)

// compress reads `compress: {above: 1KB, types: [application/json, text/*]}`.
func (r table) compress() *compress.Rules {
	if !r.has("compress") {
		return nil
	}
	t := r.table("compress", "above", "types")
	rules := &compress.Rules{
		Above: int64(t.size("above", 1<<10, 1, math.MaxInt)),
		Types: compress.Types(),
	}
	if !t.has("types") {
		return rules
	}
	rules.Types = nil
	for _, one := range t.texts("types") {
		if !kind.MatchString(one) || strings.Count(one, "*") > 1 {
			t.problem(t.nodeOf("types"), "write types such as `types: [application/json, text/*]`",
				"`%s` has %q", t.join("types"), one)
			continue
		}
		rules.Types = append(rules.Types, strings.ToLower(one))
	}
	return rules
}

// words reads names and joins them to a comma-separated list.
func (t table) words(key, otherwise string) string {
	if !t.has(key) {
		return otherwise
	}
	return strings.Join(t.tokens(key), ", ")
}

// tokens reads a list of tokens, such as names of fields and methods (RFC 9110, 5.6.2).
func (t table) tokens(key string) []string {
	all := t.texts(key)
	for _, one := range all {
		if !word.MatchString(one) {
			t.problem(t.nodeOf(key), "write names such as `"+key+": [first, second]`", "`%s` has %q",
				t.join(key), one)
		}
	}
	return all
}

// settable reports whether a route may set a field.
func settable(name, value string) bool {
	var r wire.Request
	text := "GET / HTTP/1.1\r\nHost: a\r\n" + name + ": " + value + "\r\n\r\n"
	n, err := r.Parse([]byte(text))
	return err == nil && n == len(text) && len(r.List) == 2 && string(r.List[1].Name) == name &&
		string(r.List[1].Value) == value &&
		!wire.Own(name)
}
