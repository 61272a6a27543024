// Path templates. Concrete paths match before those with parameters, as OpenAPI requires.

package openapi

import (
	"cmp"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// template is a path of the document, with its operations by method.
type template struct {
	text       string
	segments   []segment
	names      []string // of its parameters, in order
	operations map[string]*Operation
	allow      string // the methods, for Allow
}

// segment is the part of a path between two slashes: text, a parameter, or a mixture.
type segment struct {
	literal string
	pattern *regexp.Regexp // of a mixture
	whole   bool           // it is one parameter
}

var parameterInPath = regexp.MustCompile(`\{[^{}/]+\}`)

func newTemplate(text string) (*template, error) {
	if !strings.HasPrefix(text, "/") {
		return nil, errors.New("it does not begin with a slash")
	}
	t := &template{text: text, operations: map[string]*Operation{}}
	for _, part := range strings.Split(text[1:], "/") {
		var s segment
		found := parameterInPath.FindAllString(part, -1)
		rest := parameterInPath.ReplaceAllString(part, "")
		if strings.ContainsAny(rest, "{}") {
			return nil, errors.New("it has an unmatched brace")
		}
		for _, name := range found {
			if slices.Contains(t.names, name[1:len(name)-1]) {
				return nil, errors.New("it has a parameter twice")
			}
			t.names = append(t.names, name[1:len(name)-1])
		}
		switch {
		case len(found) == 0:
			s.literal = part
		case rest == "":
			s.whole = len(found) == 1
			if !s.whole {
				return nil, errors.New("two of its parameters are adjacent")
			}
		default:
			pattern := "^"
			last := 0
			for _, position := range parameterInPath.FindAllStringIndex(part, -1) {
				pattern += regexp.QuoteMeta(part[last:position[0]]) + "(.+)"
				last = position[1]
			}
			// The rest is quoted.
			s.pattern = regexp.MustCompile(pattern + regexp.QuoteMeta(part[last:]) + "$")
		}
		t.segments = append(t.segments, s)
	}
	return t, nil
}

// shape is equal for templates that differ only in the names of parameters.
func (t *template) shape() string { return parameterInPath.ReplaceAllString(t.text, "{}") }

// before sorts templates by how specific they are, from the left.
func (t *template) before(other *template) int {
	for i := range min(len(t.segments), len(other.segments)) {
		if order := cmp.Compare(t.segments[i].openness(),
			other.segments[i].openness()); order != 0 {
			return order
		}
	}
	return cmp.Compare(t.text, other.text)
}

func (s *segment) openness() int {
	switch {
	case s.whole:
		return 2
	case s.pattern != nil:
		return 1
	}
	return 0
}

// match matches the raw segments of a path, and returns the parameters.
func (t *template) match(parts []string) (given []string, ok bool) {
	for i := range t.segments {
		s, part := &t.segments[i], parts[i]
		switch {
		case s.whole:
			if part == "" {
				return nil, false
			}
			given = append(given, part)
		case s.pattern != nil:
			found := s.pattern.FindStringSubmatch(part)
			if found == nil {
				return nil, false
			}
			given = append(given, found[1:]...)
		default:
			if part != s.literal {
				if plain, err := url.PathUnescape(part); err != nil || plain != s.literal {
					return nil, false
				}
			}
		}
	}
	return given, true
}

// find returns the template that a path matches, and its parameters; nil if there is none.
func (d *Document) find(path string) (*template, []string) {
	for _, base := range d.bases {
		rest, ok := strings.CutPrefix(path, base)
		if !ok || (rest != "" && rest[0] != '/') {
			continue
		}
		parts := []string{""}
		if rest != "" {
			parts = strings.Split(rest[1:], "/")
		}
		for _, t := range d.templates[len(parts)] {
			if given, ok := t.match(parts); ok {
				return t, given
			}
		}
	}
	return nil, nil
}
