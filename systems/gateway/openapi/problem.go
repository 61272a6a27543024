package openapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Problem is what is wrong with a request or an answer, as clients are told (RFC 9457).
type Problem struct {
	Type   string  `json:"type"`
	Title  string  `json:"title"`
	Status int     `json:"status"`
	Detail string  `json:"detail"`
	Errors []Fault `json:"errors,omitempty"`

	Allow string `json:"-"` // the methods that there are, of 405
}

// Fault is one thing that is wrong.
type Fault struct {
	In      string `json:"in"`                // path, query, header or body
	Name    string `json:"name,omitempty"`    // of a parameter
	Pointer string `json:"pointer,omitempty"` // into a body (RFC 6901); nothing is all of it
	Detail  string `json:"detail"`
}

const (
	mostFaults = 10
	mostDetail = 200 // bytes
)

func problem(status int, detail string, faults ...Fault) *Problem {
	slices.SortFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.In, b.In), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Detail, b.Detail))
	})
	faults = slices.Compact(faults)
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Errors: faults[:min(len(faults), mostFaults)]}
}

// Body is the problem as JSON.
func (p *Problem) Body() []byte {
	text, _ := json.Marshal(p) // of text and numbers, which cannot fail
	return text
}

// Schema is what a value must be like.
type Schema struct{ compiled *jsonschema.Schema }

// Check holds the content of a body against the schema. One of more values than these is not looked into.
func (s *Schema) Check(content []byte, most int) []Fault {
	v, err := jsonValue(content, most)
	if err != nil {
		return []Fault{{In: "body", Detail: "it cannot be read as JSON: " + short(err.Error())}}
	}
	return s.faults(v, Fault{In: "body"})
}

// faults are what is wrong with a value, each told as of the place where it stands.
func (s *Schema) faults(v any, place Fault) []Fault {
	err := s.compiled.Validate(v)
	if err == nil {
		return nil
	}
	failed, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		place.Detail = short(err.Error())
		return []Fault{place}
	}
	var all []Fault
	printer := message.NewPrinter(language.English)
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(all) >= 10*mostFaults {
			return
		}
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) > 0 {
			return
		}
		one := place
		for _, step := range e.InstanceLocation {
			one.Pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step)
		}
		one.Pointer, one.Detail = short(one.Pointer), short(e.ErrorKind.LocalizedString(printer))
		all = append(all, one)
	}
	walk(failed)
	return all
}

// short cuts a text that may be as long as what a client has sent.
func short(text string) string {
	if len(text) > mostDetail {
		text = text[:mostDetail] + "..."
	}
	return strings.ToValidUTF8(text, "")
}
