package openapi

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"faceoff/systems/gateway/wire"
)

// parameter is one of a path, a query or a head.
type parameter struct {
	in       string
	name     string
	place    int // among those of the path
	required bool
	empty    bool                // it may be there without a value
	cut      string              // what stands between the elements of a list; empty where each comes by itself
	deep     map[string][]string // the kinds of an object's members that come as name[member]; nil for others
	text     bool                // what comes is JSON
	kinds    []string            // that its schema names
	elements []string            // that the schema of a list's elements names
	schema   *Schema
}

// parameter reads one of the document. It is nil where it is not looked at: cookies, and the fields that OpenAPI leaves to others.
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
		if p.place = slices.Index(names, p.name); p.place < 0 {
			return nil, fmt.Errorf("%s is not in the path", where)
		}
	case "header":
		if p.name = strings.ToLower(p.name); slices.Contains([]string{"accept", "content-type", "authorization"}, p.name) {
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

// meaning reads what a parameter's text stands for.
func (l *loader) meaning(p *parameter, m map[string]any, where string) error {
	content, err := table(m, "content", where)
	if err != nil {
		return err
	}
	if content != nil {
		for kind, raw := range content {
			inner, err := l.object(raw, where+".content")
			if err != nil {
				return err
			}
			if len(content) != 1 || !isJSON(kind) {
				return fmt.Errorf("%s: as its content, one kind of JSON is known", where)
			}
			p.text, p.schema = true, l.schema(inner["schema"], where, asked)
		}
		return nil
	}
	raw, ok := m["schema"]
	if !ok {
		return fmt.Errorf("%s has neither a schema nor a content", where)
	}
	p.schema = l.schema(raw, where, asked)
	schema, kinds, err := l.kinds(raw, where)
	if err != nil {
		return err
	}
	p.kinds = kinds
	style, _ := m["style"].(string)
	explode, said := m["explode"].(bool)
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
		return fmt.Errorf("%s is an object: write `style: deepObject` in a query, or `content: {application/json: ...}`", where)
	case style == usual && (style == "simple" || (said && !explode)):
		p.cut = ","
	case style == usual:
	case style == "spaceDelimited" && p.in == "query":
		p.cut = " "
	case style == "pipeDelimited" && p.in == "query":
		p.cut = "|"
	default:
		return fmt.Errorf("%s: the style %q is not known there", where, style)
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

// kinds are the types that a schema names, itself or by what it is put together of, and the schema that names them.
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
			continue // compiling it tells why
		}
		switch part["type"].(type) {
		case string, []any:
			return l.kinds(part, where)
		}
	}
	return m, nil, nil
}

// readings are what a text can stand for, the likeliest first.
func readings(text string, kinds []string) []any {
	var all []any
	some := len(kinds) == 0
	if (some || slices.Contains(kinds, "integer") || slices.Contains(kinds, "number")) && number.MatchString(text) && bearable(text) {
		all = append(all, json.Number(text))
	}
	if (some || slices.Contains(kinds, "boolean")) && (text == "true" || text == "false") {
		all = append(all, text == "true")
	}
	return append(all, text)
}

// check holds what came as a parameter against its schema. What came is as it stands in the path or the query.
func (p *parameter) check(came []string, decode func(string) (string, error)) []Fault {
	place := Fault{In: p.in, Name: p.name}
	fault := func(detail string) []Fault {
		place.Detail = detail
		return []Fault{place}
	}
	if len(came) == 0 {
		if p.required {
			return fault("it is missing")
		}
		return nil
	}
	if p.empty && len(came) == 1 && came[0] == "" {
		return nil
	}
	isList := slices.Contains(p.kinds, "array")
	if len(came) > 1 && !isList {
		return fault("it is there more than once")
	}
	if isList && p.cut != "" {
		if len(came) > 1 {
			return fault("it is there more than once")
		}
		came = split(came[0], p.cut)
	}
	for i := range came {
		plain, err := decode(came[i])
		if err != nil {
			return fault("a percent sign without two hexadecimal digits")
		}
		came[i] = plain
	}
	switch {
	case p.text:
		v, err := jsonValue([]byte(came[0]), MostValues)
		if err != nil {
			return fault("it is not JSON")
		}
		return p.schema.faults(v, place)
	case isList:
		all := make([]any, 0, len(came))
		for _, one := range came {
			kinds := p.elements
			if kinds == nil {
				kinds = []string{"string"}
			}
			all = append(all, readings(one, kinds)[0])
		}
		return p.schema.faults(all, place)
	}
	var first []Fault
	for i, v := range readings(came[0], p.kinds) {
		faults := p.schema.faults(v, place)
		if len(faults) == 0 {
			return nil
		}
		if i == 0 {
			first = faults
		}
	}
	return first
}

// split cuts a list where its elements end, before what is encoded in them is decoded.
func split(text, cut string) []string {
	switch cut {
	case " ":
		text = strings.NewReplacer("%20", " ", "+", " ").Replace(text)
	case "|":
		text = strings.NewReplacer("%7C", "|", "%7c", "|").Replace(text)
	}
	return strings.Split(text, cut)
}

// pair is one of a query, whose value is as it came.
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

// checkQuery holds a parameter against those of a query.
func (p *parameter) checkQuery(all []pair) []Fault {
	if p.deep != nil {
		return p.checkDeep(all)
	}
	var came []string
	for _, one := range all {
		if one.name == p.name {
			came = append(came, one.value)
		}
	}
	return p.check(came, url.QueryUnescape)
}

// checkDeep does so of an object, whose members come as name[member].
func (p *parameter) checkDeep(all []pair) []Fault {
	place := Fault{In: p.in, Name: p.name}
	object := map[string]any{}
	for _, one := range all {
		member, ok := strings.CutPrefix(one.name, p.name+"[")
		if !ok || !strings.HasSuffix(member, "]") {
			continue
		}
		member = member[:len(member)-1]
		text, err := url.QueryUnescape(one.value)
		if err != nil {
			place.Detail = "a percent sign without two hexadecimal digits"
			return []Fault{place}
		}
		if object[member] != nil {
			place.Detail = "a member is there more than once"
			return []Fault{place}
		}
		object[member] = readings(text, p.deep[member])[0]
	}
	if len(object) == 0 {
		if p.required {
			place.Detail = "it is missing"
			return []Fault{place}
		}
		return nil
	}
	return p.schema.faults(object, place)
}

// checkField holds a parameter against the fields of a request.
func (p *parameter) checkField(r *wire.Request) []Fault {
	var came []string
	for i := range r.List {
		if wire.Equal(r.List[i].Name, p.name) {
			came = append(came, string(r.List[i].Value))
		}
	}
	if len(came) > 1 && p.cut != "" { // lines of a list are one list (RFC 9110, 5.3)
		came = []string{strings.Join(came, ",")}
	}
	return p.check(came, func(text string) (string, error) { return strings.Trim(text, " \t"), nil })
}
