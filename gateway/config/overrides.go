// Applies `-set path=value` of the command line to the parsed file. The overridden file is then
// checked like any other.

package config

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// set applies settings of the command line to the parsed file: `upstreams.products.retries=0%`. A
// step is a key, or the index of a list element from 0. Missing tables are created.
func (r *reader) set(root *yaml.Node, settings []string) {
	for _, setting := range settings {
		way, text, found := strings.Cut(setting, "=")
		if !found || way == "" {
			r.problem(root, "write for example `-set upstreams.products.retries=0%`",
				"the setting %q is not of the form path=value", setting)
			continue
		}
		var document yaml.Node
		if err := yaml.Unmarshal([]byte(text), &document); err != nil {
			r.problem(root,
				"after `=` write what the file would contain, such as 10s or {after: 0}",
				"the value of the setting %q: %s", setting, syntax(err).Text)
			continue
		}
		value := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str"}
		if len(document.Content) > 0 {
			value = document.Content[0]
		}
		r.put(root, way, value)
	}
}

// put replaces the value at a path. The new value gets the line of the old one, or of its table.
func (r *reader) put(root *yaml.Node, way string, value *yaml.Node) {
	at := &root
	for _, step := range strings.Split(way, ".") {
		here := resolve(*at)
		if at = element(here, step); at == nil {
			r.problem(here, "each step is a key of a table, or the index of a list element, from 0",
				"nothing can be set at %q: there is no `%s`", way, step)
			return
		}
	}
	setLine(value, (*at).Line)
	*at = value
}

// element returns what a step leads to: an existing element, or a new one for a table's key. It
// returns nil if the step leads nowhere.
func element(here *yaml.Node, step string) **yaml.Node {
	switch here.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(here.Content); i += 2 {
			if here.Content[i].Value == step {
				return &here.Content[i+1]
			}
		}
		key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: step, Line: here.Line}
		here.Content = append(here.Content, key,
			&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: here.Line})
		return &here.Content[len(here.Content)-1]
	case yaml.SequenceNode:
		if at, err := strconv.Atoi(step); err == nil && at >= 0 && at < len(here.Content) {
			return &here.Content[at]
		}
	}
	return nil
}

// setLine gives a value, and everything in it, a line of the file.
func setLine(node *yaml.Node, line int) {
	node.Line = line
	for _, inner := range node.Content {
		setLine(inner, line)
	}
}
