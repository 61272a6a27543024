// Parameters: how their text is interpreted, which depends on their style and schema, and their
// validation.

package openapi

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"faceoff/gateway/wire"
)

// parameter is a parameter of a path, a query or a header.
type parameter struct {
	in       string
	name     string
	index    int // index among those of the path
	required bool
	empty    bool                // it may have no value
	cut      string              // separator of a list's elements; empty if each comes separately
	deep     map[string][]string // types of members that come as name[member]; nil for others
	text     bool                // the value is JSON
	kinds    []string            // types that its schema allows
	elements []string            // types that the schema of a list's elements allows
	schema   *Schema
}

// parameter reads a parameter of the document. It returns nil for those that are not checked:
// cookies, and header fields that OpenAPI ignores.
func (l *loader) parameter(raw any, names []string, where string) (*parameter, error) {
	m, err := l.object(raw, where)
	if err != nil {
		return nil, err
	}
	p := &parameter{}
	p.in, _ = m["in"].(string)
	p.name, _ = m["name"].(string)
	p.required, _ = m["required"].(bool)
	p.empty, _ = m["allowEmptyValue"].(bool)
	where += " (" + p.name + ")"
	switch p.in {
	case "path":
		if p.index = slices.Index(names, p.name); p.index < 0 {
			return nil, fmt.Errorf("%s is not in the path", where)
		}
	case "header":
		p.name = strings.ToLower(p.name)
		if slices.Contains([]string{"accept", "content-type", "authorization"}, p.name) {
			return nil, nil
		}
	case "query":
	case "cookie":
		return nil, nil
	default:
		return nil, fmt.Errorf("%s: `in` is %q", where, p.in)
	}
	if p.name == "" {
		return nil, fmt.Errorf("%s has no name", where)
	}
	return p, l.meaning(p, m, where)
}

// meaning reads how a parameter's text is interpreted.
func (l *loader) meaning(p *parameter, m map[string]any, where string) error {
	content, err := table(m, "content", where)
	if err != nil {
		return err
	}
	if content != nil {
		return l.content(p, content, where)
	}
	raw, ok := m["schema"]
	if !ok {
		return fmt.Errorf("%s has neither a schema nor a content", where)
	}
	p.schema = l.schema(raw, where, requestSide)
	schema, kinds, err := l.kinds(raw, where)
	if err != nil {
		return err
	}
	p.kinds = kinds
	style, _ := m["style"].(string)
	explode, explicit := m["explode"].(bool)
	usual := map[string]string{"path": "simple", "header": "simple", "query": "form"}[p.in]
	if style == "" {
		style = usual
	}
	switch {
	case style == "deepObject" && p.in == "query" && slices.Contains(kinds, "object"):
		p.deep = map[string][]string{}
		members, err := table(schema, "properties", where)
		if err != nil {
			return err
		}
		for name, member := range members {
			if _, p.deep[name], err = l.kinds(member, where); err != nil {
				return err
			}
		}
		return nil
	case slices.Contains(kinds, "object"):
		return fmt.Errorf(
			"%s is an object: write `style: deepObject` in a query, or `content: {application/json: ...}`",
			where,
		)
	case style == usual && (style == "simple" || (explicit && !explode)):
		p.cut = ","
	case style == usual:
	case style == "spaceDelimited" && p.in == "query":
		p.cut = " "
	case style == "pipeDelimited" && p.in == "query":
		p.cut = "|"
	default:
		return fmt.Errorf("%s: the style %q is not supported there", where, style)
	}
	if !slices.Contains(kinds, "array") {
		p.cut = ""
		return nil
	}
	if items, ok := schema["items"]; ok {
		_, p.elements, err = l.kinds(items, where)
	}
	return err
}

// content reads a parameter whose value is JSON.
func (l *loader) content(p *parameter, content map[string]any, where string) error {
	for kind, raw := range content {
		inner, err := l.object(raw, where+".content")
		if err != nil {
			return err
		}
		if len(content) != 1 || !isJSON(kind) {
			return fmt.Errorf("%s: its content must be one JSON media type", where)
		}
		p.text, p.schema = true, l.schema(inner["schema"], where, requestSide)
	}
	return nil
}

// kinds returns the types that a schema allows, directly or by composition, and the schema that
// lists them.
func (l *loader) kinds(raw any, where string) (map[string]any, []string, error) {
	if _, ok := raw.(bool); ok {
		return nil, nil, nil
	}
	m, err := l.object(raw, where)
	if err != nil {
		return nil, nil, err
	}
	switch t := m["type"].(type) {
	case string:
		return m, []string{t}, nil
	case []any:
		var all []string
		for _, one := range t {
			if kind, ok := one.(string); ok {
				all = append(all, kind)
			}
		}
		return m, all, nil
	}
	parts, err := list(m, "allOf", where)
	if err != nil {
		return nil, nil, err
	}
	for _, part := range parts {
		part, err := l.object(part, where)
		if err != nil {
			continue // the compiler reports it
		}
		switch part["type"].(type) {
		case string, []any:
			return l.kinds(part, where)
		}
	}
	return m, nil, nil
}

// readings returns the values that a text can mean, the most likely first.
func readings(text string, kinds []string) []any {
	var all []any
	some := len(kinds) == 0
	if (some || slices.Contains(kinds, "integer") || slices.Contains(kinds, "number")) &&
		number.MatchString(text) &&
		bearable(text) {
		all = append(all, json.Number(text))
	}
	if (some || slices.Contains(kinds, "boolean")) && (text == "true" || text == "false") {
		all = append(all, text == "true")
	}
	return append(all, text)
}

// check validates the raw text of a parameter.
func (p *parameter) check(texts []string, decode func(string) (string, error)) []Fault {
	index := Fault{In: p.in, Name: p.name}
	fault := func(detail string) []Fault {
		index.Detail = detail
		return []Fault{index}
	}
	if len(texts) == 0 {
		if p.required {
			return fault("it is missing")
		}
		return nil
	}
	if p.empty && len(texts) == 1 && texts[0] == "" {
		return nil
	}
	isList := slices.Contains(p.kinds, "array")
	if len(texts) > 1 && !isList {
		return fault("it is there more than once")
	}
	if isList && p.cut != "" {
		if len(texts) > 1 {
			return fault("it is there more than once")
		}
		texts = split(texts[0], p.cut)
	}
	for i := range texts {
		plain, err := decode(texts[i])
		if err != nil {
			return fault("a percent sign without two hexadecimal digits")
		}
		texts[i] = plain
	}
	switch {
	case p.text:
		v, err := jsonValue([]byte(texts[0]), MostValues)
		if err != nil {
			return fault("it is not JSON")
		}
		return p.schema.faults(v, index)
	case isList:
		all := make([]any, 0, len(texts))
		for _, one := range texts {
			kinds := p.elements
			if kinds == nil {
				kinds = []string{"string"}
			}
			all = append(all, readings(one, kinds)[0])
		}
		return p.schema.faults(all, index)
	}
	var first []Fault
	for i, v := range readings(texts[0], p.kinds) {
		faults := p.schema.faults(v, index)
		if len(faults) == 0 {
			return nil
		}
		if i == 0 {
			first = faults
		}
	}
	return first
}

// split splits a list before its elements are decoded.
func split(text, cut string) []string {
	switch cut {
	case " ":
		text = strings.NewReplacer("%20", " ", "+", " ").Replace(text)
	case "|":
		text = strings.NewReplacer("%7C", "|", "%7c", "|").Replace(text)
	}
	return strings.Split(text, cut)
}

// pair is a name and a raw value of a query.
type pair struct{ name, value string }

func pairs(query []byte) ([]pair, error) {
	if len(query) < 2 {
		return nil, nil
	}
	var all []pair
	for part := range strings.SplitSeq(string(query[1:]), "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(name)
		if err != nil {
			return nil, err
		}
		all = append(all, pair{name, value})
	}
	return all, nil
}

// checkQuery validates a query parameter.
func (p *parameter) checkQuery(all []pair) []Fault {
	if p.deep != nil {
		return p.checkDeep(all)
	}
	var texts []string
	for _, one := range all {
		if one.name == p.name {
			texts = append(texts, one.value)
		}
	}
	return p.check(texts, url.QueryUnescape)
}

// checkDeep validates an object whose members come as name[member].
func (p *parameter) checkDeep(all []pair) []Fault {
	index := Fault{In: p.in, Name: p.name}
	object := map[string]any{}
	for _, one := range all {
		member, ok := strings.CutPrefix(one.name, p.name+"[")
		if !ok || !strings.HasSuffix(member, "]") {
			continue
		}
		member = member[:len(member)-1]
		text, err := url.QueryUnescape(one.value)
		if err != nil {
			index.Detail = "a percent sign without two hexadecimal digits"
			return []Fault{index}
		}
		if object[member] != nil {
			index.Detail = "a member is there more than once"
			return []Fault{index}
		}
		object[member] = readings(text, p.deep[member])[0]
	}
	if len(object) == 0 {
		if p.required {
			index.Detail = "it is missing"
			return []Fault{index}
		}
		return nil
	}
	return p.schema.faults(object, index)
}

// checkField validates a header parameter.
func (p *parameter) checkField(r *wire.Request) []Fault {
	var texts []string
	for i := range r.List {
		if wire.Equal(r.List[i].Name, p.name) {
			texts = append(texts, string(r.List[i].Value))
		}
	}
	if len(texts) > 1 && p.cut != "" { // several lines are one list (RFC 9110, 5.3)
		texts = []string{strings.Join(texts, ",")}
	}
	return p.check(texts,
		func(text string) (string, error) { return strings.Trim(text, " \t"), nil })
}
