// Checks that the tests which the documents name exist.

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

var (
	// A test, after the name of its package if there is one.
	written = regexp.MustCompile("(?:`(\\w+)` |\\./(\\w+) )?\\b((?:Test|Fuzz)[A-Z]\\w*)")
	defined = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
)

// TestDocumentedTestsExist checks that each test that README.md and docs/ name exists, in the
// package that they name.
func TestDocumentedTestsExist(t *testing.T) {
	files, err := filepath.Glob("*/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, own...)
	packages := map[string][]string{} // by the name of a test
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range defined.FindAllStringSubmatch(string(text), -1) {
			packages[found[1]] = append(packages[found[1]], filepath.Dir(file))
		}
	}
	documents, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for _, document := range append(documents, "README.md") {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, written.FindAllStringSubmatch(string(text), -1)...)
	}
	if len(all) < 100 {
		t.Errorf("the documents name only %d tests", len(all))
	}
	for _, found := range all {
		name, in := found[3], found[1]+found[2]
		if places := packages[name]; len(places) == 0 || (in != "" && !slices.Contains(places, in)) {
			t.Errorf("%s is documented in package %q, and defined in %v", name, in, places)
		}
	}
}
