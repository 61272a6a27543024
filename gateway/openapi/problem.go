// Problem documents (RFC 9457) and the errors in them.

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

// Problem is a problem document for clients (RFC 9457).
type Problem struct {
	Type   string  `json:"type"`
	Title  string  `json:"title"`
	Status int     `json:"status"`
	Detail string  `json:"detail"`
	Errors []Fault `json:"errors,omitempty"`

	Allow string `json:"-"` // allowed methods, for 405
}

// Fault is one error in a request or a response.
type Fault struct {
	In      string `json:"in"`                // path, query, header or body
	Name    string `json:"name,omitempty"`    // of a parameter
	Pointer string `json:"pointer,omitempty"` // into a body (RFC 6901); empty for all of it
	Detail  string `json:"detail"`
}

const (
	maxFaults = 10
	maxDetail = 200 // in bytes
)

func problem(status int, detail string, faults ...Fault) *Problem {
	slices.SortFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.In, b.In), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Detail, b.Detail))
	})
	faults = slices.Compact(faults)
	return &Problem{
		Type:   "about:blank",
		Title:  http.StatusText(status),
		Status: status,
		Detail: detail,
		Errors: faults[:min(len(faults), maxFaults)],
	}
}

// Body returns the problem as JSON.
func (p *Problem) Body() []byte {
	text, _ := json.Marshal(p) // text and numbers cannot fail
	return text
}

// Schema validates a value.
type Schema struct{ compiled *jsonschema.Schema }

// Check validates the content of a body. It refuses a body with more than most values.
func (s *Schema) Check(content []byte, most int) []Fault {
	v, err := jsonValue(content, most)
	if err != nil {
		return []Fault{{In: "body", Detail: "it cannot be read as JSON: " + short(err.Error())}}
	}
	return s.faults(v, Fault{In: "body"})
}

// faults lists the errors of a value, each with its place.
func (s *Schema) faults(v any, at Fault) []Fault {
	err := s.compiled.Validate(v)
	if err == nil {
		return nil
	}
	failed, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		at.Detail = short(err.Error())
		return []Fault{at}
	}
	var all []Fault
	printer := message.NewPrinter(language.English)
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(all) >= 10*maxFaults {
			return
		}
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) > 0 {
			return
		}
		one := at
		for _, step := range e.InstanceLocation {
			one.Pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step)
		}
		one.Pointer, one.Detail = short(one.Pointer), short(e.ErrorKind.LocalizedString(printer))
		all = append(all, one)
	}
	walk(failed)
	return all
}

// short truncates text that a client has sent.
func short(text string) string {
	if len(text) > maxDetail {
		text = text[:maxDetail] + "..."
	}
	return strings.ToValidUTF8(text, "")
}
