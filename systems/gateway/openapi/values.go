package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

const (
	mostValues = 1 << 20 // of a document, aliases written out
	mostDepth  = 200
	mostHops   = 16 // of references that lead to references
)

// values reads YAML or JSON as what JSON has: maps, lists, text, numbers as they are written, truth values and nil.
func values(text []byte) (any, error) {
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		return jsonschema.UnmarshalJSON(bytes.NewReader(text))
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 {
		return nil, errors.New("it is empty")
	}
	left := mostValues
	return value(document.Content[0], 0, &left)
}

func value(node *yaml.Node, depth int, left *int) (any, error) {
	if *left--; *left < 0 || depth > mostDepth {
		return nil, fmt.Errorf("line %d: too much is nested, or refers to each other", node.Line)
	}
	switch node.Kind {
	case yaml.AliasNode:
		return value(node.Alias, depth+1, left)
	case yaml.SequenceNode:
		all := make([]any, 0, len(node.Content))
		for _, element := range node.Content {
			one, err := value(element, depth+1, left)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		return all, nil
	case yaml.MappingNode:
		all := make(map[string]any, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
				return nil, fmt.Errorf("line %d: a key that JSON does not have", key.Line)
			}
			one, err := value(node.Content[i+1], depth+1, left)
			if err != nil {
				return nil, err
			}
			all[key.Value] = one
		}
		return all, nil
	}
	return scalar(node), nil
}

func scalar(node *yaml.Node) any {
	switch node.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(node.Value, "true")
	case "!!int", "!!float":
		if number.MatchString(node.Value) {
			return json.Number(node.Value)
		}
		if n, err := strconv.ParseInt(node.Value, 0, 64); err == nil {
			return json.Number(strconv.FormatInt(n, 10))
		}
		if f, err := strconv.ParseFloat(node.Value, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
		}
	}
	return node.Value
}

// number is one as JSON has it.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

const (
	mostDigits   = 100
	mostExponent = 3 // digits of it
)

// bearable reports whether a number can be compared with others at no great cost: 1e999999 takes nine bytes, and is a million digits long.
func bearable(n string) bool {
	if len(n) > mostDigits {
		return false
	}
	if at := strings.IndexAny(n, "eE"); at >= 0 {
		return len(strings.TrimLeft(n[at+1:], "+-0")) <= mostExponent
	}
	return true
}

// MostValues is how many values a text of JSON may hold where nothing is written of it, elements and members among them. Held against a schema that none of them
// fits, each takes some hundred bytes, however short it is.
const MostValues = 1 << 16

// What is wrong is told with the way to it, so that a value nested deeply that is wrong in many places would cost many times its size.
const (
	mostNesting = 100
	meanNesting = 16 // of the most values that there may be
)

var (
	errTooManyDigits = errors.New("a number has too many digits")
	errTooNested     = errors.New("too much is nested in it")
)

// burden is what it costs to hold a text that is JSON against a schema.
type burden struct {
	values  int
	deepest int  // value
	steps   int  // of the ways to all values, together
	digits  bool // more of them than can be compared
}

// weigh looks at the text, as what is made of it would already be too much. Of one that is no JSON it tells nothing: that is never made.
func weigh(text []byte) burden {
	var b burden
	depth, begins := 0, true // a value begins with the next byte that means something
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case ' ', '\t', '\r', '\n', ':':
			continue
		case ',':
			begins = true
			continue
		case ']', '}':
			depth, begins = depth-1, false
			continue
		}
		if begins {
			b.values++
			b.steps += depth
			b.deepest = max(b.deepest, depth)
		}
		begins = text[at] == '[' || text[at] == '{'
		switch {
		case begins:
			depth++
		case text[at] == '"':
			at = endOfText(text, at)
		default:
			end := at + 1
			for end < len(text) && strings.IndexByte("+-.0123456789Ee", text[end]) >= 0 {
				end++
			}
			b.digits = b.digits || !bearable(string(text[at:end]))
			at = end - 1
		}
	}
	return b
}

// endOfText is where the quotes are that end what those at a place begin, or the end of all.
func endOfText(text []byte, at int) int {
	for at++; at < len(text) && text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at
}

// bearable is why the text is too much; nil where it is not.
func (b burden) bearable(most int) error {
	switch {
	case b.values > most:
		return fmt.Errorf("it holds more than %d values", most)
	case b.deepest > mostNesting || b.steps > meanNesting*most:
		return errTooNested
	case b.digits:
		return errTooManyDigits
	}
	return nil
}

// Values is how many values a text holds, if it is JSON.
func Values(text []byte) int { return weigh(text).values }

// at is the value that a JSON pointer (RFC 6901), as it stands in a fragment, leads to.
func at(root any, pointer string) (any, bool) {
	pointer, err := url.PathUnescape(pointer)
	if err != nil || pointer == "" {
		return root, err == nil
	}
	if pointer[0] != '/' {
		return nil, false
	}
	here := root
	for _, step := range strings.Split(pointer[1:], "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch v := here.(type) {
		case map[string]any:
			next, ok := v[step]
			if !ok {
				return nil, false
			}
			here = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			here = v[i]
		default:
			return nil, false
		}
	}
	return here, true
}

// object is what stands at a place, or what it refers to, which must be in the same file.
func (l *loader) object(v any, where string) (map[string]any, error) {
	for range mostHops {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s is no object", where)
		}
		reference, ok := m["$ref"].(string)
		if !ok {
			return m, nil
		}
		pointer, here := strings.CutPrefix(reference, "#")
		if !here {
			return nil, fmt.Errorf("%s refers to %q: put all into one file", where, reference)
		}
		if v, ok = at(l.root, pointer); !ok {
			return nil, fmt.Errorf("%s refers to %q, which is not there", where, reference)
		}
	}
	return nil, fmt.Errorf("%s refers to itself", where)
}

// table is an object of a key, empty where there is none.
func table(m map[string]any, key, where string) (map[string]any, error) {
	v, ok := m[key]
	if !ok || v == nil {
		return nil, nil
	}
	inner, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s.%s is no object", where, key)
	}
	return inner, nil
}

// list is the elements of a key, none where it is not there.
func list(m map[string]any, key, where string) ([]any, error) {
	v, ok := m[key]
	if !ok || v == nil {
		return nil, nil
	}
	all, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%s.%s is no list", where, key)
	}
	return all, nil
}
