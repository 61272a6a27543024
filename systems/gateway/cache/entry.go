package cache

import (
	"bytes"
	"container/list"
	"net/http"
	"slices"
	"time"

	"faceoff/systems/gateway/wire"
)

// Entry is a stored answer. It is never changed, so that any number of workers may send it.
type Entry struct {
	key    string
	vary   []nominated // what it depends on
	status int
	text   []byte // as HTTP/1.1 has it
	head   int    // bytes of it that are the head

	received time.Time
	initial  time.Duration // its age then (4.2.3)
	life     time.Duration // how old it may become
	validate bool          // the upstream is to be asked each time (no-cache)
	must     bool          // it may never be sent when it is older

	etag, modified []byte // validators

	place *list.Element // by when it was last used
}

// nominated is a field of the request, as Vary names it, and its value.
type nominated struct{ name, value string }

// overhead is what an entry costs beside its bytes.
const overhead = 512

func (e *Entry) size() int64 {
	n := int64(len(e.text)+len(e.key)) + overhead
	for _, one := range e.vary {
		n += int64(len(one.name) + len(one.value))
	}
	return n
}

// Age is how long ago its origin made it (4.2.3).
func (e *Entry) Age(now time.Time) time.Duration { return e.initial + max(now.Sub(e.received), 0) }

// Left is for how long it can be sent from now on; less than nothing where it is too old.
func (e *Entry) Left(now time.Time) time.Duration { return e.life - e.Age(now) }

// Serves reports whether a request may be answered with it before the upstream is asked (4, 5.2.1).
func (e *Entry) Serves(w *Wish, now time.Time) bool {
	age, left := e.Age(now), e.Left(now)
	switch {
	case e.validate || w.said.noCache:
		return false
	case w.said.maxAge != unsaid && age > time.Duration(w.said.maxAge)*time.Second:
		return false
	case w.said.minFresh != unsaid && left < time.Duration(w.said.minFresh)*time.Second:
		return false
	case left > 0:
		return true
	}
	return !e.must && w.said.maxStale != unsaid && -left <= time.Duration(w.said.maxStale)*time.Second
}

// Validators reports whether the upstream can be asked whether it still holds.
func (e *Entry) Validators() bool { return len(e.etag)+len(e.modified) > 0 }

// AppendConditions writes the fields that ask so (4.3.1).
func (e *Entry) AppendConditions(to []byte) []byte {
	if len(e.etag) > 0 {
		to = appendField(to, "If-None-Match", e.etag)
	}
	if len(e.modified) > 0 {
		to = appendField(to, "If-Modified-Since", e.modified)
	}
	return to
}

// Conditions are the names of those fields.
func Conditions() []string { return []string{"if-none-match", "if-modified-since"} }

// Answer is what a request is answered with, as HTTP/1.1 has it, and how much of that is its head: all that is stored, or that the client has it (4.3.2).
func (e *Entry) Answer(r *wire.Request) (text []byte, head int) {
	if !e.unchanged(r) {
		return e.text, e.head
	}
	text = e.notModified()
	return text, len(text)
}

func (e *Entry) notModified() []byte {
	to := []byte("HTTP/1.1 304 Not Modified\r\n")
	for line := range bytes.SplitAfterSeq(e.text[:e.head], []byte("\r\n")) {
		name, _, ok := bytes.Cut(line, []byte(":"))
		if ok && !bytes.HasPrefix(line, []byte("HTTP/")) && (len(name) < 8 || !wire.Equal(name[:8], "content-") || wire.Equal(name, "content-location")) {
			to = append(to, line...)
		}
	}
	return append(to, "\r\n"...)
}

// fits reports whether the entry is one for a request (4.1).
func (e *Entry) fits(r *wire.Request) bool {
	for _, one := range e.vary {
		if joined(&r.Fields, one.name) != one.value {
			return false
		}
	}
	return true
}

const (
	// mostFields is how many fields a stored answer may have: some are added when it is sent.
	mostFields = 100

	// mostVary is how many fields it may depend on.
	mostVary = 16
)

// storable are the final statuses that can be stored without knowing more of them (3; RFC 9110, 15.1).
var storable = []int{200, 203, 204, 300, 301, 302, 307, 308, 404, 405, 410, 414, 501}

// lifetime is how old an answer may become (4.2.1). There is no guess where nothing is said.
func lifetime(r *wire.Response, said *directives, date time.Time) (life time.Duration, explicit bool) {
	switch {
	case said.shared != unsaid:
		return time.Duration(said.shared) * time.Second, true
	case said.maxAge != unsaid:
		return time.Duration(said.maxAge) * time.Second, true
	case has(&r.Fields, "expires"):
		expires, ok := moment(&r.Fields, "expires")
		if !ok {
			return 0, true // what is no time has passed (5.3)
		}
		return max(expires.Sub(date), 0), true
	}
	return 0, false
}

// newEntry is an answer without its body, nil where it may not be stored (3). own are fields of requests that the gateway writes itself.
func newEntry(key string, asked *wire.Request, r *wire.Response, sent, now time.Time, own []string) *Entry {
	said := read(&r.Fields)
	date, dated := moment(&r.Fields, "date")
	if !dated {
		date = now
	}
	life, explicit := lifetime(r, &said, date)
	e := &Entry{
		key: key, status: r.Status, received: now, life: life, validate: said.noCache, must: said.neverStale(),
		etag: bytes.Clone(r.Only("etag")), modified: bytes.Clone(r.Only("last-modified")),
	}
	switch {
	case string(asked.Method) != "GET" || !slices.Contains(storable, r.Status) || len(r.List) > mostFields:
		return nil
	case said.noStore || said.private || has(&r.Fields, "set-cookie") || has(&r.Fields, "content-range") || r.Has(wire.Trailer):
		return nil
	case has(&asked.Fields, "authorization") && !said.must && !said.public && said.shared == unsaid: // 3.5
		return nil
	case !explicit && !e.Validators(): // it could never be used
		return nil
	}
	if !e.depend(asked, r, own) {
		return nil
	}
	e.initial = initialAge(r, date, sent, now)
	return e
}

// initialAge is how old an answer is when it comes (4.2.3), forever at most: a Date of centuries ago is one that was never set, and what is added to it is to
// be no less.
func initialAge(r *wire.Response, date, sent, now time.Time) time.Duration {
	told := seconds(r.Only("age"), 0)
	return min(max(now.Sub(date), time.Duration(told)*time.Second+now.Sub(sent), 0), forever*time.Second)
}

// depend notes what the answer depends on (4.1). False means that nobody knows.
func (e *Entry) depend(asked *wire.Request, r *wire.Response, own []string) bool {
	for i := range r.List {
		if !wire.Equal(r.List[i].Name, "vary") {
			continue
		}
		for name, rest := cut(r.List[i].Value); len(name)+len(rest) > 0; name, rest = cut(rest) {
			lowered := string(bytes.ToLower(name))
			switch {
			case lowered == "":
				continue
			case lowered == "*" || wire.Own(lowered) || slices.Contains(own, lowered) || len(e.vary) == mostVary:
				return false
			}
			e.vary = append(e.vary, nominated{lowered, joined(&asked.Fields, lowered)})
		}
	}
	return true
}

// dropped are fields that are not stored: they are told anew of each answer.
var dropped = []string{"age", "cache-status", "content-length"}

// compose writes the head of an answer as it is stored, but for its end: with the time at which it was made.
func (e *Entry) compose(r *wire.Response) []byte {
	to := append([]byte("HTTP/1.1 "), wire.AppendDecimal(nil, int64(r.Status))...)
	to = append(append(append(to, ' '), r.Reason...), "\r\n"...)
	for i := range r.List {
		if field := &r.List[i]; r.GoesOn(field, wire.Sized, dropped) && !wire.Equal(field.Name, "content-length") {
			to = appendField(to, string(field.Name), field.Value)
		}
	}
	if !r.Has(wire.Date) {
		to = appendField(to, "Date", e.received.UTC().AppendFormat(nil, http.TimeFormat))
	}
	return to
}

// seal ends the head, by the length of the body, and adds that.
func (e *Entry) seal(to, body []byte) {
	if e.status != 204 {
		to = appendField(to, "Content-Length", wire.AppendDecimal(nil, int64(len(body))))
	}
	to = append(to, "\r\n"...)
	e.head = len(to)
	e.text = slices.Concat(to, body)
}

// renewed is the entry after the upstream has said that it still holds (3.2, 4.3.4); nil where that was said of another.
func (e *Entry) renewed(r *wire.Response, sent, now time.Time) *Entry {
	if tag := r.Only("etag"); len(tag) > 0 && len(e.etag) > 0 && !sameTag(tag, e.etag) {
		return nil
	}
	var fresh []byte
	names := []string{"content-length"}
	for i := range r.List {
		field := &r.List[i]
		name := string(bytes.ToLower(field.Name))
		if !r.GoesOn(field, wire.Sized, dropped) || slices.Contains([]string{"content-length", "content-encoding", "content-type", "content-range", "set-cookie"}, name) {
			continue
		}
		names = append(names, name)
		fresh = appendField(fresh, string(field.Name), field.Value)
	}
	if !r.Has(wire.Date) {
		names = append(names, "date")
		fresh = appendField(fresh, "Date", now.UTC().AppendFormat(nil, http.TimeFormat))
	}
	var to []byte
	for line := range bytes.SplitAfterSeq(e.text[:e.head-2], []byte("\r\n")) {
		name, _, _ := bytes.Cut(line, []byte(":"))
		if to == nil || !slices.Contains(names, string(bytes.ToLower(name))) { // the first is that of the status
			to = append(to, line...)
		}
	}
	body := e.text[e.head:]
	var head wire.Response
	lines := append(append(bytes.Clone(to), fresh...), "\r\n"...)
	if n, err := head.Parse(lines, wire.Head); err != nil || n == 0 {
		return nil
	}
	said := read(&head.Fields)
	date, dated := moment(&head.Fields, "date")
	if !dated {
		date = now
	}
	life, _ := lifetime(&head, &said, date)
	after := &Entry{
		key: e.key, vary: e.vary, status: e.status, received: now, initial: initialAge(r, date, sent, now), life: life, validate: said.noCache,
		must: said.neverStale(), etag: bytes.Clone(head.Only("etag")), modified: bytes.Clone(head.Only("last-modified")),
	}
	after.seal(append(to, fresh...), body)
	return after
}

func appendField(to []byte, name string, value []byte) []byte {
	to = append(to, name...)
	to = append(to, ": "...)
	to = append(to, value...)
	return append(to, "\r\n"...)
}
