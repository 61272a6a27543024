package config

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"faceoff/systems/gateway/mark"
	"faceoff/systems/gateway/wire"
)

// marks reads what a route gives its requests and answers; nil where that is nothing.
func (r table) marks() *mark.Rules {
	rules := &mark.Rules{ID: strings.ToLower(r.text("id", "", "X-Request-Id")), Request: r.fields("request"), Answer: r.fields("answer")}
	if r.has("id") && !settable(rules.ID, "x") {
		r.problem(r.at("id"), "name a field, such as `id: X-Request-Id`", "`id` is %q", rules.ID)
	}
	rules.Sampled, rules.Trace = r.share("trace", 0)
	if rules.ID == "" && !rules.Trace && rules.Request.Drop == nil && rules.Answer.Drop == nil {
		return nil
	}
	return rules
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

// settable reports whether a route may set a field.
func settable(name, value string) bool {
	var r wire.Request
	text := "GET / HTTP/1.1\r\nHost: a\r\n" + name + ": " + value + "\r\n\r\n"
	n, err := r.Parse([]byte(text))
	return err == nil && n == len(text) && len(r.List) == 2 && string(r.List[1].Name) == name && string(r.List[1].Value) == value && !wire.Own(name)
}
