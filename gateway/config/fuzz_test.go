// Fuzzing of the configuration, and of the header edits that it makes.

package config

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"faceoff/gateway/headers"
	"faceoff/gateway/route"
	"faceoff/gateway/wire"
)

// FuzzParse checks that every file is either accepted or reported as invalid with a line and a
// hint.
func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("a: &a [*a]\nupstreams: *a"))
	f.Add([]byte("upstreams: {a: {servers: [{}]}}\nroutes: [1, [], {headers: [x]}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := parse("f", text, 1000, 2, known)
		if err != nil {
			problems, ok := errors.AsType[*Problems](err)
			if !ok || len(problems.List) == 0 || problems.List[0].Line < 1 || problems.List[0].Hint == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		for _, r := range c.Routes {
			for _, part := range r.Split {
				if part.Upstream < 0 || part.Upstream >= len(c.Upstreams) {
					t.Fatalf("%+v", r)
				}
			}
			if r.Mirror != nil && (r.Mirror.Upstream < 0 || r.Mirror.Upstream >= len(c.Upstreams)) {
				t.Fatalf("%+v", r)
			}
			if len(r.Split) > 0 && r.Split[len(r.Split)-1].Upto != route.Whole {
				t.Fatalf("%+v", r)
			}
			if r.Upstream < 0 || r.Upstream >= len(c.Upstreams) {
				t.Fatalf("%+v", r)
			}
		}
		for _, u := range c.Upstreams {
			if len(u.Servers) == 0 || u.Most < 1 || u.Most+(c.Server.Workers-1)*u.Keep > c.Shares.Outbound {
				t.Fatalf("%+v", u)
			}
		}
	})
}

// FuzzRules checks the edits of a route on arbitrary messages. Impossible edits are reported with
// the file. Otherwise the message that goes on has the set field once and no removed field; the
// rest is as without the rules, and the body is the same.
func FuzzRules(f *testing.F) {
	f.Add("X-Shop", "one", "Cookie", []byte("GET /x?y HTTP/1.1\r\nHost: a\r\nCookie: b\r\nX_Shop: two\r\nx-shop: three\r\nX: y\r\n\r\n"))
	f.Add("X-A", "b\r\nc: d", "x", []byte("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: x-a\r\nX-A: 1\r\n\r\n"))
	f.Add("Content-Length", "5", "Host", []byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
	f.Add("Server", "", "Date", []byte("HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 2\r\nSet-Cookie: b\r\n\r\n"))
	f.Fuzz(func(t *testing.T, name, value, removed string, text []byte) {
		if !utf8.ValidString(name + value + removed) {
			return // YAML would escape it
		}
		rules := map[string]any{"set": map[string]string{name: value}, "remove": []string{removed}}
		file, err := yaml.Marshal(map[string]any{
			"listen": "127.0.0.1:8080", "upstreams": map[string]any{"a": map[string]any{"servers": []string{"127.0.0.1:80"}}},
			"routes": []any{map[string]any{"upstream": "a", "request": rules, "answer": rules}},
		})
		if err != nil {
			return // it cannot be written
		}
		c, err := parse("f", file, 1000, 1, known)
		if err != nil {
			return
		}
		pass := editedRequest
		if strings.HasPrefix(string(text), "HTTP/") {
			pass = editedResponse
		}
		kept, without, ok := pass(t, c.Routes[0].Edits, text)
		if !ok {
			return
		}
		is := func(field *wire.Field, name string) bool { // CGI servers do not distinguish the two
			return strings.EqualFold(strings.ReplaceAll(string(field.Name), "_", "-"), strings.ReplaceAll(name, "_", "-"))
		}
		set := 0
		others := func(list []wire.Field, count bool) (all []string) {
			for i := range list {
				field := &list[i]
				switch {
				case count && strings.EqualFold(string(field.Name), name) && string(field.Value) == value:
					set++
				case count && strings.EqualFold(string(field.Name), name), count && strings.EqualFold(string(field.Name), removed):
					t.Fatalf("%s goes on, as %q", field.Name, field.Value)
				case !is(field, name) && !is(field, removed):
					all = append(all, string(field.Name)+": "+string(field.Value))
				}
			}
			return all
		}
		if got, want := others(kept, true), others(without, false); !slices.Equal(got, want) || set != 1 {
			t.Fatalf("%q goes on, and %q without; set %d times", got, want, set)
		}
	})
}

// editedResponse returns the fields of a response that goes on, with the rules and without them.
func editedResponse(t *testing.T, rules *headers.Rules, text []byte) (kept, without []wire.Field, ok bool) {
	var r, again, plain wire.Response
	if n, err := r.Parse(text, wire.Safe); n == 0 || err != nil || r.Status < 200 || len(r.List) > 90 {
		return nil, nil, false
	}
	var given wire.Request
	var e headers.Edits
	e.Begin(rules, &given, false)
	out := wire.AppendResponse(nil, &r, &wire.Inbound{Minor: 1, Drop: e.Answer.Drop, Lines: e.Answer.Lines})
	as := wire.AppendResponse(nil, &r, &wire.Inbound{Minor: 1})
	if n, err := again.Parse(out, wire.Safe); n != len(out) || err != nil || again.Status != r.Status {
		t.Fatalf("%d of %d, %v: %q", n, len(out), err, out)
	}
	if n, err := plain.Parse(as, wire.Safe); n != len(as) || err != nil || plain.Body != again.Body {
		t.Fatalf("%v: %q has another body length than %q", err, out, as)
	}
	return again.List, plain.List, true
}

// editedRequest returns the fields of a request that goes on, with the rules and without them.
func editedRequest(t *testing.T, rules *headers.Rules, text []byte) (kept, without []wire.Field, ok bool) {
	var given, again, plain wire.Request
	if n, err := given.Parse(text); n == 0 || err != nil || len(given.List) > 90 {
		return nil, nil, false
	}
	var e headers.Edits
	e.Begin(rules, &given, false)
	o := wire.Outbound{Path: given.Path, Host: []byte("upstream"), Client: []byte("192.0.2.1"), Proto: "http", Via: "gateway"}
	as := wire.AppendRequest(nil, &given, &o)
	o.Drop, o.Lines = e.Request.Drop, e.Request.Lines
	out := wire.AppendRequest(nil, &given, &o)
	if n, err := again.Parse(out); n != len(out) || err != nil || string(again.Method) != string(given.Method) || string(again.Path) != string(given.Path) {
		t.Fatalf("%d of %d, %v: %q", n, len(out), err, out)
	}
	if n, err := plain.Parse(as); n != len(as) || err != nil || plain.Body != again.Body || string(plain.Host) != string(again.Host) {
		t.Fatalf("%v: %q has another body length than %q", err, out, as)
	}
	return again.List, plain.List, true
}
