// Caching by RFC 9111; comments name the sections. All times are given, so no test waits.

package cache

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"faceoff/gateway/wire"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// at is a time after noon in the format of fields.
func at(after time.Duration) string { return noon.Add(after).Format(http.TimeFormat) }

func request(t testing.TB, method string, fields ...string) *wire.Request {
	t.Helper()
	var r wire.Request
	text := method + " /a HTTP/1.1\r\nHost: shop.example\r\n" + strings.Join(append(fields, "", ""), "\r\n")
	if n, err := r.Parse([]byte(text)); err != nil || n != len(text) {
		t.Fatalf("%q: %d, %v", text, n, err)
	}
	return &r
}

func response(t testing.TB, status int, fields ...string) *wire.Response {
	t.Helper()
	var r wire.Response
	text := fmt.Sprintf("HTTP/1.1 %d Some Reason\r\n", status) + strings.Join(append(fields, "", ""), "\r\n")
	if n, err := r.Parse([]byte(text), wire.Safe); err != nil || n != len(text) {
		t.Fatalf("%q: %d, %v", text, n, err)
	}
	return &r
}

// body is the body of the responses here.
const body = "12345"

// stored stores a response at noon, if it may be stored, to a request sent at the same time.
func stored(t testing.TB, s *Store, asked *wire.Request, status int, fields ...string) bool {
	t.Helper()
	if status != 204 {
		fields = append(fields, "Content-Length: 5")
	}
	d := s.Begin("key", asked, response(t, status, fields...), noon, noon, []string{"x-own"})
	if d == nil {
		return false
	}
	if status != 204 && (!d.Add([]byte(body[:2])) || !d.Add([]byte(body[2:]))) {
		t.Fatal("there is no room for the body")
	}
	d.Finish()
	return true
}

func roomy() *Store { return New(Limits{Size: 1 << 20, Object: 1 << 16}) }

func TestStorableResponses(t *testing.T) { // RFC 9111, 3, 3.1, 3.3, 5.2.2
	for _, c := range []struct {
		asked, answer string // fields, by "; "
		status        int
		want          bool
	}{
		{"", "Cache-Control: max-age=60", 200, true},
		{"", "Cache-Control: max-age=60", 404, true},
		{"", "Cache-Control: max-age=60", 204, true},
		{"", "Cache-Control: max-age=60", 500, false},
		{"", "Cache-Control: max-age=60; Content-Range: bytes 0-4/9", 206, false},
		{"", "Cache-Control: s-maxage=60", 200, true},
		{"", "Expires: " + at(time.Minute), 200, true},
		{"", "ETag: \"x\"", 200, true}, // it can be validated
		{"", "Last-Modified: " + at(-time.Hour), 200, true},
		{"", "Cache-Control: public", 200, false}, // it has no lifetime, and cannot be validated
		{"", "X: y", 200, false},
		{"", "Cache-Control: max-age=60, no-store", 200, false},
		{"", "Cache-Control: PRIVATE, max-age=60", 200, false},
		{"", "Cache-Control: private=\"x, y\", max-age=60", 200, false},
		// Quoted text is no directive.
		{"", "Cache-Control: ext=\"private, no-store\", max-age=60", 200, true},
		{"", "Cache-Control: max-age=60; Set-Cookie: a=b", 200, false},
		{"", "Cache-Control: max-age=60; Vary: *", 200, false},
		// The gateway sets X-Own.
		{"", "Cache-Control: max-age=60; Vary: Accept, X-Own", 200, false},
		{"", "Cache-Control: max-age=60; Vary: X-Forwarded-For", 200, false},
		{"", "Cache-Control: max-age=60; Vary: Accept,, Accept-Language", 200, true},
		{"Authorization: a", "Cache-Control: max-age=60", 200, false}, // 3.5
		{"Authorization: a", "Cache-Control: max-age=60, public", 200, true},
		{"Authorization: a", "Cache-Control: max-age=60, must-revalidate", 200, true},
		{"Authorization: a", "Cache-Control: max-age=60, proxy-revalidate", 200, false},
		{"Authorization: a", "Cache-Control: s-maxage=60", 200, true},
	} {
		var asked, answer []string
		if c.asked != "" {
			asked = append(asked, c.asked)
		}
		answer = append(answer, strings.Split(c.answer, "; ")...)
		s := roomy()
		r := request(t, "GET", asked...)
		if got := stored(t, s, r, c.status, answer...); got != c.want {
			t.Errorf("%d %s for %q: %v", c.status, c.answer, c.asked, got)
		}
		e, _ := s.Find("key", r)
		if (e != nil) != c.want || (s.Used() > 0) != c.want || s.coming != 0 {
			t.Errorf("%d %s for %q: %v, %d bytes, %d coming", c.status, c.answer, c.asked, e, s.Used(), s.coming)
		}
	}
	s := roomy()
	if stored(t, s, request(t, "HEAD"), 200, "Cache-Control: max-age=60") {
		t.Error("an answer without its body is stored")
	}
	if d := s.Begin("key", request(t, "GET"), response(t, 200, "Cache-Control: max-age=60"), noon, noon, nil); d != nil {
		t.Error("a response of unknown completeness is stored")
	}
}

func TestFieldsOfStoredResponses(t *testing.T) { // 3.1, 5.1
	s := roomy()
	if !stored(t, s, request(t, "GET"), 200, "Cache-Control: max-age=60", "Content-Type: text/plain", "Age: 5", "Cache-Status: other; hit", "Connection: X-Hop", "X-Hop: 1", "Keep-Alive: 5") {
		t.Fatal("it is not stored")
	}
	e, _ := s.Find("key", request(t, "GET"))
	text, head := e.Answer(request(t, "GET"))
	const want = "HTTP/1.1 200 Some Reason\r\nCache-Control: max-age=60\r\nContent-Type: text/plain\r\nDate: Sun, 22 Nov 2026 12:00:00 GMT\r\nContent-Length: 5\r\n\r\n"
	if string(text) != want+body || head != len(want) {
		t.Errorf("%q, %d", text, head)
	}
}

func TestFreshness(t *testing.T) { // 4.2, 5.2.1, 5.2.2
	for _, c := range []struct {
		answer, asked string
		after         time.Duration
		want          bool
	}{
		{"Cache-Control: max-age=60", "", 59 * time.Second, true},
		{"Cache-Control: max-age=60", "", 60 * time.Second, false},
		{"Cache-Control: max-age=60; Age: 50", "", 9 * time.Second, true},
		{"Cache-Control: max-age=60; Age: 50", "", 10 * time.Second, false},
		// 4.2.3
		{"Cache-Control: max-age=60; Date: " + at(-50*time.Second), "", 9 * time.Second, true},
		{"Cache-Control: max-age=60; Date: " + at(-50*time.Second), "", 10 * time.Second, false},
		{"Cache-Control: max-age=60, max-age=10", "", 30 * time.Second, false}, // the stricter one
		{"Cache-Control: max-age=60; Date: Mon, 01 Jan 0001 00:00:00 GMT", "", time.Hour, false},
		{"Cache-Control: max-age=\"60\"", "", 30 * time.Second, true},
		{"Cache-Control: max-age=sixty; ETag: \"x\"", "", 0, false},
		{"Cache-Control: max-age=99999999999999999999", "", 24 * time.Hour, true},
		{"Cache-Control: s-maxage=10, max-age=60", "", 30 * time.Second, false},
		{"Cache-Control: s-maxage=60, max-age=10", "", 30 * time.Second, true},
		// 5.3
		{"Cache-Control: max-age=60; Expires: " + at(-time.Hour), "", 30 * time.Second, true},
		{"Expires: " + at(time.Minute), "", 30 * time.Second, true},
		{"Expires: " + at(time.Minute), "", 90 * time.Second, false},
		{"Expires: 0; ETag: \"x\"", "", 0, false},
		{"Cache-Control: no-cache; ETag: \"x\"", "", 0, false},
		{"Cache-Control: no-cache=\"x\", max-age=60", "", 0, false},
		{"ETag: \"x\"", "", 0, false}, // no heuristic lifetime
		{"Cache-Control: max-age=60", "Cache-Control: no-cache", 0, false},
		{"Cache-Control: max-age=60", "Pragma: no-cache", 0, false}, // 5.4
		{"Cache-Control: max-age=60", "Cache-Control: max-age=20", 19 * time.Second, true},
		{"Cache-Control: max-age=60", "Cache-Control: max-age=20", 30 * time.Second, false},
		{"Cache-Control: max-age=60", "Cache-Control: min-fresh=20", 30 * time.Second, true},
		{"Cache-Control: max-age=60", "Cache-Control: min-fresh=20", 50 * time.Second, false},
		{"Cache-Control: max-age=60", "Cache-Control: max-stale", time.Hour, true},
		{"Cache-Control: max-age=60", "Cache-Control: max-stale=20", 80 * time.Second, true},
		{"Cache-Control: max-age=60", "Cache-Control: max-stale=20", 81 * time.Second, false},
		{"Cache-Control: max-age=60, must-revalidate", "Cache-Control: max-stale", 61 * time.Second, false},
		{"Cache-Control: max-age=60, proxy-revalidate", "Cache-Control: max-stale", 61 * time.Second, false},
		{"Cache-Control: s-maxage=60", "Cache-Control: max-stale", 61 * time.Second, false},
	} {
		s := roomy()
		if !stored(t, s, request(t, "GET"), 200, strings.Split(c.answer, "; ")...) {
			t.Errorf("%s is not stored", c.answer)
			continue
		}
		var fields []string
		if c.asked != "" {
			fields = append(fields, c.asked)
		}
		r := request(t, "GET", fields...)
		e, _ := s.Find("key", r)
		wish := ReadRequestDirectives(r)
		if got := e.Serves(&wish, noon.Add(c.after)); got != c.want {
			t.Errorf("%s for %q after %v: %v", c.answer, c.asked, c.after, got)
		}
	}
	s := roomy()
	d := s.Begin("key", request(t, "GET"), response(t, 200, "Cache-Control: max-age=60", "Age: 10", "Content-Length: 0"), noon.Add(-5*time.Second), noon, nil)
	d.Finish()
	e, _ := s.Find("key", request(t, "GET"))
	// The time in transit counts.
	if age, left := e.Age(noon.Add(time.Second)), e.Remaining(noon.Add(time.Second)); age != 16*time.Second || left != 44*time.Second {
		t.Errorf("%v, %v", age, left)
	}
}

func TestRequestsServedFromStore(t *testing.T) { // 4, 4.4, 5.2.1
	for _, c := range []struct {
		method, field        string
		bypass, unsafe, only bool
	}{
		{"GET", "X: y", false, false, false},
		{"HEAD", "X: y", false, false, false},
		{"GET", "Range: bytes=0-1", true, false, false},
		{"GET", "If-Match: \"x\"", true, false, false},
		{"GET", "If-None-Match: \"x\"", false, false, false},
		{"GET", "Content-Length: 5", true, false, false},
		{"GET", "Cache-Control: no-store", true, false, false},
		{"GET", "Cache-Control: only-if-cached", false, false, true},
		{"OPTIONS", "X: y", true, false, false},
		{"POST", "Content-Length: 5", true, true, false},
		{"DELETE", "X: y", true, true, false},
		{"BREW", "X: y", true, true, false},
	} {
		if w := ReadRequestDirectives(request(t, c.method, c.field)); w.Bypass != c.bypass || w.Unsafe != c.unsafe || w.Only != c.only {
			t.Errorf("%s %s: %+v", c.method, c.field, w)
		}
	}
}

func TestVariants(t *testing.T) { // 4.1
	s := roomy()
	for _, language := range []string{"de", "en"} {
		if !stored(t, s, request(t, "GET", "Accept-Language: "+language), 200, "Cache-Control: max-age=60", "Vary: Accept-Language", "X: "+language) {
			t.Fatal("it is not stored")
		}
	}
	for _, c := range []struct {
		field, want  string
		found, other bool
	}{{"Accept-Language: de", "X: de", true, true}, {"accept-language:  en ", "X: en", true, true}, {"Accept-Language: fr", "", false, true}, {"X: y", "", false, true}} {
		e, other := s.Find("key", request(t, "GET", c.field))
		if (e != nil) != c.found || other != c.other || (e != nil && !strings.Contains(string(e.text), c.want)) {
			t.Errorf("%s: %v, %v", c.field, e, other)
		}
	}
	if e, other := s.Find("key", request(t, "GET", "Connection: Accept-Language", "Accept-Language: de")); e != nil || !other {
		t.Errorf("the upstream would not see that: %v, %v", e, other)
	}
	stored(t, s, request(t, "GET", "Connection: Accept-Language", "Accept-Language: fr"), 200, "Cache-Control: max-age=60", "Vary: Accept-Language", "X: none")
	if e, _ := s.Find("key", request(t, "GET", "Accept-Language: fr")); e != nil {
		t.Errorf("it was not asked for in that language: %v", e)
	}
	if e, other := s.Find("another", request(t, "GET")); e != nil || other {
		t.Errorf("%v, %v", e, other)
	}
	for i := range 2 * maxVariants {
		stored(t, s, request(t, "GET", fmt.Sprintf("Accept-Language: %d", i)), 200, "Cache-Control: max-age=60", "Vary: Accept-Language")
	}
	if n := len(s.entries["key"]); n != maxVariants {
		t.Errorf("%d variants", n)
	}
	s.Drop("key")
	if s.Used() != 0 || s.recent.Len() != 0 || len(s.entries) != 0 {
		t.Errorf("%d bytes of %d are left", s.Used(), s.recent.Len())
	}
}

func TestConditionsOfClients(t *testing.T) { // 4.3.2
	s := roomy()
	if !stored(t, s, request(t, "GET"), 200, "Cache-Control: max-age=60", "ETag: \"x\"", "Last-Modified: "+at(-time.Hour), "Content-Type: text/plain", "Content-Location: /b", "Vary: Accept") {
		t.Fatal("it is not stored")
	}
	for _, c := range []struct {
		fields []string
		has    bool
	}{
		{nil, false},
		{[]string{"If-None-Match: \"x\""}, true},
		{[]string{"If-None-Match: \"a,b\", W/\"x\""}, true},
		{[]string{"If-None-Match: *"}, true},
		{[]string{"If-None-Match: \"y\""}, false},
		{[]string{"If-None-Match: \"y\"", "If-Modified-Since: " + at(0)}, false}, // the tag decides
		{[]string{"If-Modified-Since: " + at(-time.Hour)}, true},
		{[]string{"If-Modified-Since: " + at(-2*time.Hour)}, false},
		{[]string{"If-Modified-Since: yesterday"}, false},
	} {
		r := request(t, "GET", c.fields...)
		e, _ := s.Find("key", r)
		text, head := e.Answer(r)
		if has := strings.HasPrefix(string(text), "HTTP/1.1 304 Not Modified\r\n"); has != c.has || (has && head != len(text)) {
			t.Errorf("%v: %q", c.fields, text)
		}
		if c.has {
			for field, there := range map[string]bool{"ETag: ": true, "Cache-Control: ": true, "Vary: ": true, "Content-Location: ": true, "Content-Type: ": false, "Content-Length: ": false} {
				if strings.Contains(string(text), field) != there {
					t.Errorf("%s: %q", field, text)
				}
			}
		}
	}
}

func TestValidation(t *testing.T) { // 3.2, 4.3.1, 4.3.4
	s := roomy()
	asked := request(t, "GET", "Accept: a")
	if !stored(t, s, asked, 200, "Cache-Control: max-age=60", "ETag: \"x\"", "Last-Modified: "+at(-time.Hour), "X-Count: 1", "Content-Type: text/plain", "Vary: Accept") {
		t.Fatal("it is not stored")
	}
	e, _ := s.Find("key", asked)
	if got, want := string(e.AppendConditions(nil)), "If-None-Match: \"x\"\r\nIf-Modified-Since: "+at(-time.Hour)+"\r\n"; got != want || !e.Validators() {
		t.Errorf("%q", got)
	}
	later := noon.Add(time.Hour)
	after := s.Renew(e, response(t, 304, "Cache-Control: max-age=120", "ETag: \"x\"", "X-Count: 2", "Content-Type: text/html", "Content-Length: 9", "Date: "+at(time.Hour)), later, later)
	if after == nil || after.life != 2*time.Minute || after.Age(later) != 0 || string(after.etag) != `"x"` || !strings.HasSuffix(string(after.text), "\r\n\r\n"+body) {
		t.Fatalf("%+v", after)
	}
	text := string(after.text)
	for field, n := range map[string]int{"X-Count: 2": 1, "X-Count": 1, "Content-Type: text/plain": 1, "Content-Type": 1, "Content-Length: 5": 1, "Content-Length": 1, "Cache-Control": 1, "Date: " + at(time.Hour): 1, "Date": 1, "Vary: Accept": 1} {
		if got := strings.Count(text, field); got != n {
			t.Errorf("%s: %d in %q", field, got, text)
		}
	}
	if found, _ := s.Find("key", asked); found != after || s.recent.Len() != 1 {
		t.Errorf("%+v", found)
	}
	if other := s.Renew(after, response(t, 304, "ETag: \"y\""), later, later); other != nil || s.Used() != 0 {
		t.Errorf("%+v, %d bytes", other, s.Used())
	}
	stored(t, s, asked, 200, "ETag: \"x\"")
	e, _ = s.Find("key", asked)
	if after := s.Renew(e, response(t, 304, "Cache-Control: no-store"), later, later); after == nil || s.Used() != 0 {
		t.Errorf("%+v, %d bytes", after, s.Used())
	}
}

func TestCacheSizeIsBounded(t *testing.T) {
	const size = 20_000
	s := New(Limits{Size: size, Object: 5_000})
	keep := func(key string, n int) bool {
		d := s.Begin(key, request(t, "GET"), response(t, 200, "Cache-Control: max-age=60", fmt.Sprintf("Content-Length: %d", n)), noon, noon, nil)
		if d == nil {
			return false
		}
		if !d.Add(make([]byte, n)) || d.Add([]byte("more")) {
			t.Fatal("the limit of the body differs")
		}
		d.Finish()
		if s.Used()+s.coming > size {
			t.Errorf("%d bytes and %d that come", s.Used(), s.coming)
		}
		return true
	}
	if keep("large", 5_001) {
		t.Error("it is too large")
	}
	for i := range 10 {
		if !keep(fmt.Sprint(i), 4_000) {
			t.Errorf("%d is not stored", i)
		}
		s.Find("0", request(t, "GET")) // makes it the most recently used
	}
	for key, want := range map[string]bool{"0": true, "1": false, "9": true} {
		if e, _ := s.Find(key, request(t, "GET")); (e != nil) != want {
			t.Errorf("%s: %v", key, e)
		}
	}
	var coming []*Draft
	for range 10 {
		if d := s.Begin("key", request(t, "GET"), response(t, 200, "Cache-Control: max-age=60", "Transfer-Encoding: chunked"), noon, noon, nil); d != nil {
			coming = append(coming, d)
		}
	}
	if len(coming) != 1 { // a response may take a quarter of half the room, and its head
		t.Errorf("%d are about to be stored", len(coming))
	}
	for _, d := range coming {
		d.Cancel()
	}
	if s.coming != 0 || s.Used() > size {
		t.Errorf("%d bytes and %d that come", s.Used(), s.coming)
	}
}

func FuzzDirectives(f *testing.F) {
	f.Add("max-age=60, private=\"a, b\",,no-cache", "a, \"b\"")
	f.Add("max-age=\"6\\\"0\"; s-maxage", "*")
	f.Fuzz(func(t *testing.T, control, vary string) {
		var r wire.Response
		text := "HTTP/1.1 200 OK\r\nCache-Control: " + control + "\r\nVary: " + vary + "\r\nContent-Length: 5\r\n\r\n"
		if n, err := r.Parse([]byte(text), wire.Safe); err != nil || n == 0 {
			return
		}
		s := roomy()
		d := s.Begin("key", request(t, "GET"), &r, noon, noon, nil)
		if d == nil {
			return
		}
		if !d.Add([]byte(body)) {
			d.Cancel()
			return
		}
		d.Finish()
		e, _ := s.Find("key", request(t, "GET"))
		if e == nil {
			t.Fatal("what was stored is not found")
		}
		stored, head := e.Answer(request(t, "GET"))
		if n, err := r.Parse(stored, wire.Safe); err != nil || n != head || r.Body.Length != 5 {
			t.Errorf("%q: %d, %v", stored, n, err)
		}
	})
}
