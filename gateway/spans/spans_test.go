// The exporter against a collector that fails in several ways.

package spans

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"http://127.0.0.1:4318":                "http://127.0.0.1:4318/v1/traces",
		"https://collector.example/":           "https://collector.example/v1/traces",
		"https://collector.example/otlp/x?a=b": "https://collector.example/otlp/x?a=b",
		"collector:4318":                       "",
		"ftp://collector":                      "",
		"http:///v1/traces":                    "",
		"http://me:secret@collector":           "",
		"http://%":                             "",
	} {
		if got, err := Address(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

// collector sends these responses in order, and then repeats the last one.
func collector(t *testing.T, answers ...string) (*Exporter, *[]string, *[]string) {
	t.Helper()
	var asked, logged []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		asked = append(asked, r.Method+" "+r.Header.Get("Content-Type")+" "+string(text))
		status, content, _ := strings.Cut(answers[min(len(asked), len(answers))-1], " ")
		var code int
		fmt.Sscan(status, &code)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(code)
		io.WriteString(w, content)
	}))
	t.Cleanup(server.Close)
	e := New(server.URL, `a "shop"`, func(line string) { logged = append(logged, line) })
	e.wait = time.Millisecond
	return e, &asked, &logged
}

func TestSpansAreSentAsOTLP(t *testing.T) {
	e, asked, logged := collector(t, "200 {}")
	if lost := e.Send([]byte(`{"a":1},{"b":2},`), 2); lost != 0 {
		t.Errorf("%d lost", lost)
	}
	want := `POST application/json {"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"a \"shop\""}}]},"scopeSpans":[{"scope":{"name":"gateway"},"spans":[{"a":1},{"b":2}]}]}]}`
	if !slices.Equal(*asked, []string{want}) || len(*logged) > 0 {
		t.Errorf("%q, logged %q", *asked, *logged)
	}
}

func TestLostSpansAreCounted(t *testing.T) {
	for _, c := range []struct {
		answers        []string
		lost, requests int
		logs           bool
	}{
		{[]string{"503 ", "200 {}"}, 0, 2, false},
		{[]string{"429 ", "502 ", "200 "}, 0, 3, false},
		{[]string{"504 "}, 5, 3, true},
		{[]string{"400 "}, 5, 1, true},
		{[]string{"302 "}, 5, 1, true},
		{[]string{`200 {"partialSuccess":{"rejectedSpans":"2","errorMessage":"x"}}`}, 2, 1, false},
		{[]string{`200 {"partialSuccess":{"rejectedSpans":3}}`}, 3, 1, false},
		{[]string{`200 {"partialSuccess":{"rejectedSpans":"99"}}`}, 5, 1, false},
		{[]string{`200 {"partialSuccess":{"rejectedSpans":"-1"}}`}, 0, 1, false},
		{[]string{"200 no JSON"}, 0, 1, false},
	} {
		e, asked, logged := collector(t, c.answers...)
		if lost := e.Send([]byte("{},"), 5); lost != c.lost || len(*asked) != c.requests || len(*logged) > 0 != c.logs {
			t.Errorf("%q: %d lost in %d requests, logged %q", c.answers, lost, len(*asked), *logged)
		}
	}
}

func TestFailuresAreLoggedOnce(t *testing.T) {
	e, _, logged := collector(t, "400 ", "400 ", "200 {}", "200 {}")
	for range 4 {
		e.Send([]byte("{},"), 1)
	}
	if len(*logged) != 2 || !strings.Contains((*logged)[0], "400 Bad Request") || (*logged)[1] != "spans arrive again" {
		t.Errorf("%q", *logged)
	}
	gone := New("http://127.0.0.1:1/v1/traces", "gateway", func(string) {})
	gone.wait = time.Millisecond
	if lost := gone.Send([]byte("{},"), 1); lost != 1 {
		t.Errorf("%d lost without a collector", lost)
	}
}
