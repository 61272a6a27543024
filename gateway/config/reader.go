// Typed access to a YAML document. Each method returns a usable value for a missing or invalid key
// and records the problem, so that all problems of a file are reported at once. Start reading at
// reader.table.

package config

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Problem is an error in a file: where it is, and how to fix it.
type Problem struct {
	Line       int
	Text, Hint string
}

// Problems are all errors of a file.
type Problems struct {
	File  string
	List  []Problem
	Files []string // that were read: the error may be in any of them
}

func (p *Problems) Error() string {
	var text strings.Builder
	for i, problem := range p.List {
		if i > 0 {
			text.WriteByte('\n')
		}
		fmt.Fprintf(&text, "%s:%d: %s", p.File, problem.Line, problem.Text)
		if problem.Hint != "" {
			fmt.Fprintf(&text, "\n  hint: %s", problem.Hint)
		}
	}
	return text.String()
}

// reader collects problems, so that all of them are reported at once.
type reader struct {
	outside
	list  []Problem
	files []string // that were read
	got   map[string]answer

	described map[string]description // documents by file name
}

// answer is the content of a URL, or the error of fetching it.
type answer struct {
	text []byte
	err  error
}

// get fetches a URL once, even if several routes name it.
func (r *reader) get(url string) ([]byte, error) {
	a, fetched := r.got[url]
	if !fetched {
		a.text, a.err = r.fetch(url)
		r.got[url] = a
	}
	return a.text, a.err
}

// open reads a file that the configuration names.
func (r *reader) open(name string) ([]byte, error) {
	r.files = append(r.files, name)
	return r.read(name)
}

func (r *reader) problem(node *yaml.Node, hint, format string, args ...any) {
	r.list = append(r.list, Problem{node.Line, fmt.Sprintf(format, args...), hint})
}

// table is a mapping: its values by key, and its path.
type table struct {
	*reader
	node *yaml.Node
	of   map[string]*yaml.Node
	path string
}

// table reads a mapping with these keys. A node that is no mapping yields an empty table.
func (r *reader) table(node *yaml.Node, path string, keys ...string) table {
	node = resolve(node)
	t := table{r, node, map[string]*yaml.Node{}, path}
	if node.Kind != yaml.MappingNode {
		if node.Tag != "!!null" {
			r.problem(node, "write `key: value` lines, indented below it", "%s is not a table",
				name(path))
		}
		return t
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		switch {
		case t.of[key.Value] != nil:
			r.problem(key, "remove one of them", "`%s` is written twice", key.Value)
		case keys != nil && !slices.Contains(keys, key.Value):
			hint := "known here: " + strings.Join(keys, ", ")
			if near := nearest(key.Value, keys); near != "" {
				hint = "did you mean `" + near + "`?"
			}
			r.problem(key, hint, "`%s` is not a key of %s", key.Value, name(path))
		default:
			t.of[key.Value] = node.Content[i+1]
		}
	}
	return t
}

func name(path string) string {
	if path == "" {
		return "the file"
	}
	return "`" + path + "`"
}

// resolve follows an alias.
func resolve(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode && node.Alias != nil {
		node = node.Alias
	}
	return node
}

func (t table) has(key string) bool { return t.of[key] != nil }

// nodeOf returns the node to blame for a problem with a key, or with its absence.
func (t table) nodeOf(key string) *yaml.Node {
	if node := t.of[key]; node != nil {
		return node
	}
	return t.node
}

func (t table) table(key string, keys ...string) table {
	node := t.of[key]
	if node == nil {
		return table{t.reader, t.node, map[string]*yaml.Node{}, t.join(key)}
	}
	return t.reader.table(node, t.join(key), keys...)
}

func (t table) join(key string) string {
	if t.path == "" {
		return key
	}
	return t.path + "." + key
}

// scalar returns a single value. ok is false if the key is absent, or is no single value, which is
// reported.
func (t table) scalar(key, example string) (node *yaml.Node, ok bool) {
	if !t.has(key) {
		return nil, false
	}
	node = resolve(t.of[key])
	if node.Kind != yaml.ScalarNode || node.Tag == "!!null" {
		t.problem(t.of[key], "write for example `"+key+": "+example+"`",
			"`%s` is not a single value", t.join(key))
		return nil, false
	}
	return node, true
}

func (t table) text(key, otherwise, example string) string {
	node, ok := t.scalar(key, example)
	if !ok {
		return otherwise
	}
	return node.Value
}

func (t table) boolean(key string, otherwise bool) bool {
	node, ok := t.scalar(key, "true")
	if !ok {
		return otherwise
	}
	switch node.Value {
	case "true":
		return true
	case "false":
		return false
	}
	t.problem(node, "write `true` or `false`", "`%s` is %q", t.join(key), node.Value)
	return otherwise
}

func (t table) count(key string, otherwise, from, to int) int {
	node, ok := t.scalar(key, strconv.Itoa(max(from, 1)))
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(node.Value)
	if err != nil || n < from || n > to {
		t.problem(node, fmt.Sprintf("write a whole number from %d to %d", from, to), "`%s` is %q",
			t.join(key), node.Value)
		return otherwise
	}
	return n
}

func (t table) duration(key string, otherwise, from, to time.Duration) time.Duration {
	node, ok := t.scalar(key, otherwise.String())
	if !ok {
		return otherwise
	}
	d, err := time.ParseDuration(node.Value)
	if err != nil || d < from || d > to {
		t.problem(node,
			fmt.Sprintf("write a time from %v to %v, such as `%s: %v`", from, to, key, otherwise),
			"`%s` is %q", t.join(key), node.Value)
		return otherwise
	}
	return d
}

// size reads a number of bytes, such as 512, 16KB or 1MB.
func (t table) size(key string, otherwise, from, to int) int {
	node, ok := t.scalar(key, "16KB")
	if !ok {
		return otherwise
	}
	digits, factor := node.Value, 1
	for unit, of := range map[string]int{"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30} {
		if number, ok := strings.CutSuffix(node.Value, unit); ok {
			digits, factor = strings.TrimSpace(number), of
		}
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || n > math.MaxInt/factor || n*factor < from || n*factor > to {
		t.problem(node,
			fmt.Sprintf("write a size from %d to %d bytes, such as `%s: 16KB`", from, to, key),
			"`%s` is %q", t.join(key), node.Value)
		return otherwise
	}
	return n * factor
}

// share reads a percentage, such as 50%, which must be least or more.
func (t table) share(key string, least float64) (float64, bool) {
	node, ok := t.scalar(key, "50%")
	if !ok {
		return 0, false
	}
	number, percent := strings.CutSuffix(node.Value, "%")
	n, err := strconv.ParseFloat(number, 64)
	if !percent || err != nil || !(n/100 >= least && n <= 100) {
		t.problem(node, "write a percentage, such as `"+key+": 50%`", "`%s` is %q", t.join(key),
			node.Value)
		return 0, false
	}
	return n / 100, true
}

func (t table) address(key, example string) (netip.AddrPort, bool) {
	node, ok := t.scalar(key, example)
	if !ok {
		return netip.AddrPort{}, false
	}
	address, err := netip.ParseAddrPort(node.Value)
	if err != nil {
		t.problem(node, "write an address and a port, such as `"+key+": "+example+"`", "`%s` is %q",
			t.join(key), node.Value)
		return netip.AddrPort{}, false
	}
	return address, true
}

// list returns the elements of a key: none if it is absent, one for a single value.
func (t table) list(key string) []*yaml.Node {
	if !t.has(key) {
		return nil
	}
	node := resolve(t.of[key])
	if node.Kind != yaml.SequenceNode {
		return []*yaml.Node{node}
	}
	return node.Content
}

// texts returns a list of single values.
func (t table) texts(key string) []string {
	var all []string
	for _, node := range t.list(key) {
		node = resolve(node)
		if node.Kind != yaml.ScalarNode || node.Value == "" {
			t.problem(node, "write `"+key+": [first, second]`",
				"`%s` has an element that is not a single value", t.join(key))
			continue
		}
		all = append(all, node.Value)
	}
	return all
}

// nearest returns the known word that a misspelled one most likely means, or "".
func nearest(word string, known []string) string {
	best, least := "", 3
	for _, candidate := range known {
		if d := distance(word, candidate); d < least && d < len(candidate) {
			best, least = candidate, d
		}
	}
	return best
}

// distance counts the letters to change, insert or remove.
func distance(a, b string) int {
	if len(a) > 40 {
		return math.MaxInt
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
