// Reads YAML and JSON into plain values, and refuses input that would be expensive to validate: the
// input comes from clients.

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
	maxValues = 1 << 20 // of a document, with aliases expanded
	maxDepth  = 200
	maxHops   = 16 // of references to references
)

// values reads YAML or JSON as the values that JSON has. Numbers stay text.
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
	left := maxValues
	return value(document.Content[0], 0, &left)
}

func value(node *yaml.Node, depth int, left *int) (any, error) {
	if *left--; *left < 0 || depth > maxDepth {
		return nil, fmt.Errorf("line %d: it is nested too deeply, or circular", node.Line)
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
				return nil, fmt.Errorf("line %d: a key that JSON cannot have", key.Line)
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
		if f, err := strconv.ParseFloat(node.Value, 64); err == nil && !math.IsInf(f, 0) &&
			!math.IsNaN(f) {
			return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
		}
	}
	return node.Value
}

// number matches a JSON number.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

const (
	maxDigits   = 100
	maxExponent = 3 // in digits
)

// bearable reports whether a number is cheap to compare: 1e999999 takes nine bytes and has a
// million digits.
func bearable(n string) bool {
	if len(n) > maxDigits {
		return false
	}
	if at := strings.IndexAny(n, "eE"); at >= 0 {
		return len(strings.TrimLeft(n[at+1:], "+-0")) <= maxExponent
	}
	return true
}

// MostValues is the default limit of the values in a JSON text, including elements and members.
// Validating one that matches nothing takes some hundred bytes, however short it is.
const MostValues = 1 << 16

// Each error carries its path. A deeply nested value with many errors would cost many times its
// size.
const (
	maxNesting  = 100
	meanNesting = 16 // allowed on average, times the number of values
)

var (
	errTooManyDigits = errors.New("a number has too many digits")
	errTooNested     = errors.New("it is nested too deeply")
)

// burden is the cost of validating a JSON text.
type burden struct {
	values  int
	deepest int  // of a value
	steps   int  // lengths of all paths together
	digits  bool // some number is too long to compare
}

// weigh estimates the cost from the text, because parsing it may already be too expensive. It
// reports nothing for invalid JSON, which is never parsed.
func weigh(text []byte) burden {
	var b burden
	depth, begins := 0, true // a value begins at the next significant byte
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

// endOfText returns the position of the closing quote, or the end of the text.
func endOfText(text []byte, at int) int {
	for at++; at < len(text) && text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at
}

// bearable returns why a text is too expensive, or nil.
func (b burden) bearable(most int) error {
	switch {
	case b.values > most:
		return fmt.Errorf("it holds more than %d values", most)
	case b.deepest > maxNesting || b.steps > meanNesting*most:
		return errTooNested
	case b.digits:
		return errTooManyDigits
	}
	return nil
}

// Values counts the values of a JSON text.
func Values(text []byte) int { return weigh(text).values }

// resolvePointer resolves a JSON pointer (RFC 6901) from a URL fragment.
func resolvePointer(root any, pointer string) (any, bool) {
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

// object returns an object, or what it refers to within the same file.
func (l *loader) object(v any, where string) (map[string]any, error) {
	for range maxHops {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s is not an object", where)
		}
		reference, ok := m["$ref"].(string)
		if !ok {
			return m, nil
		}
		pointer, here := strings.CutPrefix(reference, "#")
		if !here {
			return nil, fmt.Errorf("%s refers to %q: put all into one file", where, reference)
		}
		if v, ok = resolvePointer(l.root, pointer); !ok {
			return nil, fmt.Errorf("%s refers to %q, which does not exist", where, reference)
		}
	}
	return nil, fmt.Errorf("%s refers to itself", where)
}

// table returns the object of a key, empty if there is none.
func table(m map[string]any, key, where string) (map[string]any, error) {
	v, ok := m[key]
	if !ok || v == nil {
		return nil, nil
	}
	inner, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s.%s is not an object", where, key)
	}
	return inner, nil
}

// list returns the elements of a key, none if there is none.
func list(m map[string]any, key, where string) ([]any, error) {
	v, ok := m[key]
	if !ok || v == nil {
		return nil, nil
	}
	all, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%s.%s is not a list", where, key)
	}
	return all, nil
}
