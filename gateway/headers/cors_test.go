// CORS fields for pages and preflights.

package headers

import (
	"strings"
	"testing"

	"faceoff/gateway/wire"
)

// crossed returns the fields that a response gets for a request with this method and these lines.
func crossed(t *testing.T, rules Cors, method string, lines ...string) (string, bool) {
	t.Helper()
	var r wire.Request
	text := method + " / HTTP/1.1\r\nHost: a\r\n" + strings.Join(append(lines, "", ""), "\r\n")
	if n, err := r.Parse([]byte(text)); err != nil || n != len(text) {
		t.Fatalf("%q: %d, %v", text, n, err)
	}
	var m Edits
	m.Begin(&Rules{Cors: &rules}, &r, false)
	if len(m.Answer.Drop) != len(corsFields) || len(m.Request.Drop)+len(m.Request.Lines) > 0 {
		t.Errorf("%q, %+v", m.Answer.Drop, m.Request)
	}
	return strings.ReplaceAll(strings.ReplaceAll(string(m.Answer.Lines), "\r\n", "|"), "Access-Control-", ""), m.Preflight
}

func TestCORSFields(t *testing.T) {
	const own, other = "Origin: https://shop.example", "Origin: https://evil.example"
	const asks, fields = "Access-Control-Request-Method: PUT", "Access-Control-Request-Headers: x-a, content-type"
	some := Cors{Origins: []string{"https://shop.example", "https://*.shop.example:8443"}, Methods: "GET, PUT", Expose: "X-Request-Id", Age: "600", Credentials: true}
	few := some
	few.Headers, few.Credentials, few.Age = "Content-Type", false, ""
	anybody := Cors{Any: true, Methods: "GET"}
	for _, c := range []struct {
		rules     Cors
		method    string
		lines     []string
		want      string
		preflight bool
	}{
		{some, "GET", nil, "Vary: Origin|", false},
		{some, "GET", []string{other}, "Vary: Origin|", false},
		{some, "GET", []string{own, own}, "Vary: Origin|", false},
		{some, "GET", []string{"Origin: "}, "Vary: Origin|", false},
		{some, "GET", []string{"Origin: null"}, "Vary: Origin|", false},
		{some, "GET", []string{own}, "Vary: Origin|Allow-Origin: https://shop.example|Allow-Credentials: true|Expose-Headers: X-Request-Id|", false},
		{some, "GET", []string{own, asks}, "Vary: Origin|Allow-Origin: https://shop.example|Allow-Credentials: true|Expose-Headers: X-Request-Id|", false},
		{some, "OPTIONS", []string{own}, "Vary: Origin|Allow-Origin: https://shop.example|Allow-Credentials: true|Expose-Headers: X-Request-Id|", false},
		{some, "OPTIONS", []string{asks}, "Vary: Origin|", false},
		{some, "OPTIONS", []string{other, asks}, "Vary: Origin|", true},
		{some, "OPTIONS", []string{own, asks}, "Vary: Origin|Allow-Origin: https://shop.example|Allow-Credentials: true|Allow-Methods: GET, PUT|Max-Age: 600|", true},
		{some, "OPTIONS", []string{own, asks, fields}, "Vary: Origin|Allow-Origin: https://shop.example|Allow-Credentials: true|Allow-Methods: GET, PUT|" +
			"Vary: Access-Control-Request-Headers|Allow-Headers: x-a, content-type|Max-Age: 600|", true},
		{few, "OPTIONS", []string{own, asks, fields}, "Vary: Origin|Allow-Origin: https://shop.example|Allow-Methods: GET, PUT|Allow-Headers: Content-Type|", true},
		{anybody, "GET", []string{other}, "Allow-Origin: *|", false},
		{anybody, "GET", nil, "", false},
	} {
		want := strings.ReplaceAll(c.want, "Access-Control-", "")
		if got, preflight := crossed(t, c.rules, c.method, c.lines...); got != want || preflight != c.preflight {
			t.Errorf("%s %q: %q, %v, want %q", c.method, c.lines, got, preflight, want)
		}
	}
	for _, origin := range []string{"https://a.shop.example:8443", "https://a.b.shop.example:8443"} {
		if !some.lets([]byte(origin)) {
			t.Errorf("%s is not let in", origin)
		}
	}
	for _, origin := range []string{
		"https://.shop.example:8443", "https://shop.example:8443", "http://a.shop.example:8443", "https://a.shop.example", "https://evil.example/a.shop.example:8443",
		"https://evil.example:1@a.shop.example:8443", "https://SHOP.example", "https://shop.example.evil.example",
	} {
		if some.lets([]byte(origin)) {
			t.Errorf("%s is let in", origin)
		}
	}
}
