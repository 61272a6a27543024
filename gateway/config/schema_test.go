// Compares gateway.schema.json with the keys that the reader accepts.

package config

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// properties descends into the schema, where "*" is any key or element, and "|" the table among
// several types. It returns the names of the properties there.
func properties(t *testing.T, schema map[string]any, way ...string) []string {
	t.Helper()
	root := schema
	follow := func(v any) map[string]any {
		m, _ := v.(map[string]any)
		if ref, ok := m["$ref"].(string); ok {
			m, _ = root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
		}
		return m
	}
	var object func(v any) map[string]any
	object = func(v any) map[string]any {
		m := follow(v)
		if m["type"] == "object" {
			return m
		}
		kinds, _ := m["oneOf"].([]any)
		for _, kind := range kinds {
			if found := object(kind); found != nil {
				return found
			}
		}
		return nil
	}
	here := schema
	for _, step := range way {
		switch step {
		case "*":
			if items := follow(here["items"]); items != nil {
				here = items
			} else {
				here = follow(here["additionalProperties"])
			}
		case "|":
			here = object(here)
		default:
			here = follow(here["properties"].(map[string]any)[step])
		}
	}
	names, _ := here["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(names))
}

// TestSchemaHasTheKeysOfTheReader puts an unknown key into each table. The reader's report
// then lists the known ones.
func TestSchemaHasTheKeysOfTheReader(t *testing.T) {
	text, err := os.ReadFile("../gateway.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file string
		way  []string
	}{
		{"KEY: 1", nil},
		{"tls: {KEY: 1}", []string{"tls"}},
		{"tls: {certificates: [{KEY: 1}]}", []string{"tls", "certificates", "*"}},
		{"spans: {KEY: 1}", []string{"spans"}},
		{"limits: {KEY: 1}", []string{"limits"}},
		{"limits: {fields: {KEY: 1}}", []string{"limits", "fields"}},
		{"limits: {spill: {KEY: 1}}", []string{"limits", "spill"}},
		{"limits: {share: {KEY: 1}}", []string{"limits", "share"}},
		{"timeouts: {KEY: 1}", []string{"timeouts"}},
		{"upstreams: {a: {KEY: 1}}", []string{"upstreams", "*"}},
		{"upstreams: {a: {servers: [{KEY: 1}]}}", []string{"upstreams", "*", "servers", "|"}},
		{"upstreams: {a: {timeouts: {KEY: 1}}}", []string{"upstreams", "*", "timeouts"}},
		{"upstreams: {a: {keep: {KEY: 1}}}", []string{"upstreams", "*", "keep"}},
		{"upstreams: {a: {eject: {KEY: 1}}}", []string{"upstreams", "*", "eject"}},
		{"upstreams: {a: {health: {KEY: 1}}}", []string{"upstreams", "*", "health"}},
		{"upstreams: {a: {tls: {KEY: 1}}}", []string{"upstreams", "*", "tls"}},
		{"routes: [{KEY: 1}]", []string{"routes", "*"}},
		{"routes: [{request: {KEY: 1}}]", []string{"routes", "*", "request"}},
		{"routes: [{answer: {KEY: 1}}]", []string{"routes", "*", "answer"}},
		{"routes: [{rate: {KEY: 1}}]", []string{"routes", "*", "rate"}},
		{"routes: [{token: {KEY: 1}}]", []string{"routes", "*", "token"}},
		{"routes: [{cors: {KEY: 1}}]", []string{"routes", "*", "cors"}},
		{"routes: [{fault: {KEY: 1}}]", []string{"routes", "*", "fault"}},
		{"routes: [{compress: {KEY: 1}}]", []string{"routes", "*", "compress"}},
		{"routes: [{openapi: {KEY: 1}}]", []string{"routes", "*", "openapi"}},
		{"routes: [{cache: {KEY: 1}}]", []string{"routes", "*", "cache"}},
	} {
		_, err := parse("f", []byte(strings.Replace(c.file, "KEY", "qqqqqqqqqq", 1)), 1000, 1, known)
		_, after, found := strings.Cut(err.Error(), "`qqqqqqqqqq` is not a key of")
		_, after, hint := strings.Cut(after, "hint: known here: ")
		line, _, _ := strings.Cut(after, "\n")
		if !found || !hint {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		names := strings.Split(line, ", ")
		slices.Sort(names)
		if want := properties(t, schema, c.way...); !slices.Equal(names, want) {
			t.Errorf("%v: the reader knows %v, the schema %v", c.way, names, want)
		}
	}
}
