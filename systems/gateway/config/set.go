package config

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// set puts settings of the command line where they would stand in the file: `upstreams.products.retries=0%`. A step is a
// key, or the place of an element in a list, from 0. A table that is not there is made.
func (r *reader) set(root *yaml.Node, settings []string) {
	for _, setting := range settings {
		way, text, found := strings.Cut(setting, "=")
		if !found || way == "" {
			r.problem(root, "write for example `-set upstreams.products.retries=0%`", "the setting %q is not a place, `=` and a value", setting)
			continue
		}
		var document yaml.Node
		if err := yaml.Unmarshal([]byte(text), &document); err != nil {
			r.problem(root, "behind `=` write what would stand in the file, such as 10s or {after: 0}", "the value of the setting %q: %s", setting, syntax(err).Text)
			continue
		}
		value := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str"}
		if len(document.Content) > 0 {
			value = document.Content[0]
		}
		r.put(root, way, value)
	}
}

// put replaces what stands at a place. It has the line of what it replaces, or of the table that it is put into.
func (r *reader) put(root *yaml.Node, way string, value *yaml.Node) {
	at := &root
	for _, step := range strings.Split(way, ".") {
		here := resolve(*at)
		if at = element(here, step); at == nil {
			r.problem(here, "each step is a key of a table, or the place of an element in a list, from 0", "nothing can be set at %q: there is no `%s`", way, step)
			return
		}
	}
	stand(value, (*at).Line)
	*at = value
}

// element is where a step leads: an element that is there, or one made for a key of a table. Nil where it leads nowhere.
func element(here *yaml.Node, step string) **yaml.Node {
	switch here.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(here.Content); i += 2 {
			if here.Content[i].Value == step {
				return &here.Content[i+1]
			}
		}
		key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: step, Line: here.Line}
		here.Content = append(here.Content, key, &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: here.Line})
		return &here.Content[len(here.Content)-1]
	case yaml.SequenceNode:
		if at, err := strconv.Atoi(step); err == nil && at >= 0 && at < len(here.Content) {
			return &here.Content[at]
		}
	}
	return nil
}

// stand gives a value and all within it a line of the file.
func stand(node *yaml.Node, line int) {
	node.Line = line
	for _, inner := range node.Content {
		stand(inner, line)
	}
}
