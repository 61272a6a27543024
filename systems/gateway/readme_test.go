package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

var (
	// A test, behind the name of its package where that is written.
	written = regexp.MustCompile("(?:`(\\w+)` |\\./(\\w+) )?\\b((?:Test|Fuzz)[A-Z]\\w*)")
	defined = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
)

// TestWhatTheReadmeNamesIsTried holds that each test that the README rests on is there, in the package that it names.
func TestWhatTheReadmeNamesIsTried(t *testing.T) {
	files, err := filepath.Glob("*/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
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
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	all := written.FindAllStringSubmatch(string(readme), -1)
	if len(all) < 100 {
		t.Errorf("the README names %d tests, so that it is read wrongly", len(all))
	}
	for _, found := range all {
		name, in := found[3], found[1]+found[2]
		if places := packages[name]; len(places) == 0 || (in != "" && !slices.Contains(places, in)) {
			t.Errorf("%s is named in %q, and stands in %v", name, in, places)
		}
	}
}
