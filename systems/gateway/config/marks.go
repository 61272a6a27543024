package config

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"faceoff/systems/gateway/mark"
	"faceoff/systems/gateway/press"
	"faceoff/systems/gateway/spans"
	"faceoff/systems/gateway/wire"
)

// marks reads what a route gives its requests and answers; nil where that is nothing.
func (r table) marks() *mark.Rules {
	rules := &mark.Rules{ID: strings.ToLower(r.text("id", "", "X-Request-Id")), Request: r.fields("request"), Answer: r.fields("answer"), Cors: r.cors()}
	if r.has("id") && !settable(rules.ID, "x") {
		r.problem(r.at("id"), "name a field, such as `id: X-Request-Id`", "`id` is %q", rules.ID)
	}
	rules.Sampled, rules.Trace = r.share("trace", 0)
	if rules.ID == "" && !rules.Trace && rules.Request.Drop == nil && rules.Answer.Drop == nil && rules.Cors == nil {
		return nil
	}
	return rules
}

// Spans says which collector of OpenTelemetry is told of sampled traces, and by which name of this service. Without To, none is.
type Spans struct{ To, Service string }

// spans reads `{to: http://127.0.0.1:4318, service: gateway}`.
func (t table) spans() Spans {
	if !t.has("spans") {
		return Spans{}
	}
	s := t.table("spans", "to", "service")
	to, err := spans.Address(s.text("to", "", "http://127.0.0.1:4318"))
	if err != nil {
		s.problem(s.at("to"), "write the address of a collector, such as `to: http://127.0.0.1:4318`", "`spans.to` is no place for spans: %v", err)
	}
	return Spans{to, s.text("service", "gateway", "gateway")}
}

// fields reads `{set: {NAME: value}, remove: [NAME]}`.
func (r table) fields(key string) mark.Fields {
	var f mark.Fields
	t := r.table(key, "set", "remove")
	set := t.table("set")
	for i := 0; i+1 < len(set.node.Content) && set.node.Kind == yaml.MappingNode && t.has("set"); i += 2 {
		name := set.node.Content[i].Value
		value := set.text(name, "", "value")
		if !settable(name, value) {
			t.problem(set.node.Content[i], "name a field that is none of the gateway's own, and a value without line breaks", "`%s` cannot be set to %q", name, value)
			continue
		}
		f.Drop = append(f.Drop, strings.ToLower(name))
		f.Lines = slices.Concat(f.Lines, []byte(name+": "+value+"\r\n"))
	}
	for _, name := range t.texts("remove") {
		if !settable(name, "x") {
			t.problem(t.at("remove"), "name a field that is none of the gateway's own", "`%s` cannot be removed", name)
		}
		f.Drop = append(f.Drop, strings.ToLower(name))
	}
	return f
}

var (
	origin = regexp.MustCompile(`^https?://(\*\.)?[a-z0-9.-]+(:\d{1,5})?$`)
	word   = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
)

// cors reads `{origins: [https://shop.example], methods: [GET], headers: [X-A], expose: [X-B], credentials: true, age: 10m}`.
func (r table) cors() *mark.Cors {
	if !r.has("cors") {
		return nil
	}
	t := r.table("cors", "origins", "methods", "headers", "expose", "credentials", "age")
	rules := &mark.Cors{
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
			t.problem(t.at("origins"), "write them as browsers do, in lower case and without a path, such as https://shop.example, or `*`", "%q is no origin", text)
		}
	}
	switch {
	case !t.has("origins"):
		t.problem(t.node, "write for example `origins: [https://shop.example]`", "`%s.origins` is missing", t.path)
	case rules.Any && rules.Credentials:
		t.problem(t.at("credentials"), "name the origins: browsers take no credentials with `*`", "`%s` lets every origin send credentials", t.path)
	case rules.Any && len(rules.Origins) > 0:
		t.problem(t.at("origins"), "leave the others out", "`*` is every origin already")
	}
	return rules
}

// kind is a type of content, of whose letters some may be left open.
var kind = regexp.MustCompile(`^[A-Za-z0-9!#$&^_.+*-]+/[A-Za-z0-9!#$&^_.+*-]+$`)

// press reads `compress: {above: 1KB, types: [application/json, text/*]}`.
func (r table) press() *press.Rules {
	if !r.has("compress") {
		return nil
	}
	t := r.table("compress", "above", "types")
	rules := &press.Rules{Above: int64(t.size("above", 1<<10, 1, math.MaxInt)), Types: press.Types()}
	if !t.has("types") {
		return rules
	}
	rules.Types = nil
	for _, one := range t.texts("types") {
		if !kind.MatchString(one) || strings.Count(one, "*") > 1 {
			t.problem(t.at("types"), "write types such as `types: [application/json, text/*]`", "`%s` has %q", t.join("types"), one)
			continue
		}
		rules.Types = append(rules.Types, strings.ToLower(one))
	}
	return rules
}

// words reads names, and joins them to a list as fields have it.
func (t table) words(key, otherwise string) string {
	if !t.has(key) {
		return otherwise
	}
	return strings.Join(t.tokens(key), ", ")
}

// tokens is a list of names, as fields and methods have them (RFC 9110, 5.6.2).
func (t table) tokens(key string) []string {
	all := t.texts(key)
	for _, one := range all {
		if !word.MatchString(one) {
			t.problem(t.at(key), "write names such as `"+key+": [first, second]`", "`%s` has %q", t.join(key), one)
		}
	}
	return all
}

// settable reports whether a route may set a field.
func settable(name, value string) bool {
	var r wire.Request
	text := "GET / HTTP/1.1\r\nHost: a\r\n" + name + ": " + value + "\r\n\r\n"
	n, err := r.Parse([]byte(text))
	return err == nil && n == len(text) && len(r.List) == 2 && string(r.List[1].Name) == name && string(r.List[1].Value) == value && !wire.Own(name)
}
