// Request IDs, trace context, and fields that are set and removed.

package headers

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"faceoff/gateway/wire"
)

func request(t testing.TB, lines ...string) *wire.Request {
	t.Helper()
	var r wire.Request
	text := "GET / HTTP/1.1\r\nHost: a\r\n" + strings.Join(append(lines, "", ""), "\r\n")
	if n, err := r.Parse([]byte(text)); err != nil || n != len(text) {
		t.Fatalf("%q: %d, %v", text, n, err)
	}
	return &r
}

func TestNames(t *testing.T) {
	var m Edits
	rules := &Rules{ID: "x-request-id"}
	seen := map[string]bool{}
	for _, c := range []struct {
		lines   []string
		trusted bool
		kept    string
	}{
		{nil, true, ""}, {[]string{"X-Request-ID: mine"}, true, "mine"}, {[]string{"X-Request-ID: mine"}, false, ""}, {[]string{`X-Request-ID: m"`}, true, ""},
		{[]string{"X-Request-ID: m n"}, true, ""}, {[]string{"X-Request-ID: a", "X-Request-ID: b"}, true, ""}, {[]string{"X-Request-ID: " + strings.Repeat("x", 129)}, true, ""}, {[]string{"X-Request-ID:"}, true, ""},
	} {
		m.Begin(rules, request(t, c.lines...), c.trusted)
		id := string(m.ID)
		if c.kept != "" && id != c.kept || c.kept == "" && (!regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(id) || seen[id]) {
			t.Errorf("%q: %q", c.lines, id)
		}
		seen[id] = true
		for _, f := range []Fields{m.Request, m.Answer} {
			if string(f.Lines) != "x-request-id: "+id+"\r\n" || !slices.Equal(f.Drop, []string{"x-request-id"}) {
				t.Errorf("%q, without %q", f.Lines, f.Drop)
			}
		}
	}
}

func TestTraces(t *testing.T) {
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	right := "00-" + trace + "-" + span + "-01"
	var m Edits
	for given, goesOn := range map[string]bool{
		right: true, "cc-" + trace + "-" + span + "-01": true, "cc-" + trace + "-" + span + "-01-more": true,
		"": false, right + "-x": false, "cc" + right[2:] + "x": false, "ff" + right[2:]: false, right[:54]: false, strings.ToUpper(right): false,
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01": false, "00-" + trace + "-" + strings.Repeat("0", 16) + "-01": false,
		"00_" + right[3:]: false, strings.Replace(right, "b7ad", "b7xd", 1): false,
	} {
		for _, trusted := range []bool{true, false} {
			for _, sampled := range []float64{0, 1} {
				m.Begin(&Rules{Trace: true, Sampled: sampled}, request(t, "Traceparent: "+given, "Tracestate: a=b"), trusted)
				found := regexp.MustCompile(`^traceparent: 00-([0-9a-f]{32})-([0-9a-f]{16})-(0[01])\r\n$`).FindStringSubmatch(string(m.Request.Lines))
				if found == nil || found[1] != string(m.Trace) || found[2] == span || !isTrace([]byte("00-"+found[1]+"-"+found[2]+"-"+found[3])) {
					t.Fatalf("%q", m.Request.Lines)
				}
				if kept := found[1] == trace; kept != (goesOn && trusted) || slices.Contains(m.Request.Drop, "tracestate") == kept {
					t.Errorf("%q: %q, without %q", given, found[0], m.Request.Drop)
				}
				if want := map[bool]string{true: "01", false: "00"}[goesOn && trusted || sampled == 1]; found[3] != want {
					t.Errorf("%q: flags %s, want %s", given, found[3], want)
				}
				if len(m.Answer.Lines) > 0 {
					t.Errorf("the client receives %q", m.Answer.Lines)
				}
			}
		}
	}
}

func TestFieldsAreSetAndRemoved(t *testing.T) {
	var m Edits
	rules := &Rules{Request: Fields{[]byte("x-a: b\r\n"), []string{"x-a", "cookie"}}, Answer: Fields{nil, []string{"server"}}}
	for range 3 {
		m.Begin(rules, request(t), false)
	}
	if string(m.Request.Lines) != "x-a: b\r\n" || len(m.Request.Drop) != 2 || len(m.Answer.Lines) != 0 || len(m.Answer.Drop) != 1 || len(m.ID)+len(m.Trace) > 0 {
		t.Errorf("%+v", m)
	}
}

func TestEditsAllocateNothing(t *testing.T) {
	var m Edits
	rules, r := &Rules{ID: "x-request-id", Trace: true, Sampled: 0.5}, request(t, "X-Request-Id: x")
	m.Begin(rules, r, true)
	if n := testing.AllocsPerRun(100, func() { m.Begin(rules, r, true) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
