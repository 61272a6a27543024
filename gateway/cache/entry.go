// A stored response: whether it may be stored (newEntry), how long it is fresh (lifetime), which
// requests it answers (matchesVary, Serves), and how it is updated after a validation (renewed).

package cache

import (
	"bytes"
	"container/list"
	"net/http"
	"slices"
	"time"

	"faceoff/gateway/wire"
)

// Entry is a stored response. It is immutable, so all workers may send it.
type Entry struct {
	key    string
	vary   []varyField // fields that the response depends on
	status int
	text   []byte // in the form of HTTP/1.1
	head   int    // length of the head in text

	received time.Time
	initial  time.Duration // age when it was received (4.2.3)
	life     time.Duration // freshness lifetime
	validate bool          // validate every time (no-cache)
	must     bool          // never send it stale

	etag, modified []byte // validators

	position *list.Element // in Store.recent
}

// varyField is a field that Vary names, with its value in the request.
type varyField struct{ name, value string }

// overhead is the memory of an entry in addition to its bytes.
const overhead = 512

func (e *Entry) size() int64 {
	n := int64(len(e.text)+len(e.key)) + overhead
	for _, one := range e.vary {
		n += int64(len(one.name) + len(one.value))
	}
	return n
}

// Age returns the time since the origin created the response (4.2.3).
func (e *Entry) Age(now time.Time) time.Duration { return e.initial + max(now.Sub(e.received), 0) }

// Remaining returns how long the entry stays fresh. It is negative once the entry is stale.
func (e *Entry) Remaining(now time.Time) time.Duration { return e.life - e.Age(now) }

// Serves reports whether the entry may be sent without asking the upstream (4, 5.2.1).
func (e *Entry) Serves(w *RequestDirectives, now time.Time) bool {
	age, left := e.Age(now), e.Remaining(now)
	switch {
	case e.validate || w.control.noCache:
		return false
	case w.control.maxAge != unset && age > time.Duration(w.control.maxAge)*time.Second:
		return false
	case w.control.minFresh != unset && left < time.Duration(w.control.minFresh)*time.Second:
		return false
	case left > 0:
		return true
	}
	return !e.must && w.control.maxStale != unset &&
		-left <= time.Duration(w.control.maxStale)*time.Second
}

// Validators reports whether the upstream can validate the entry.
func (e *Entry) Validators() bool { return len(e.etag)+len(e.modified) > 0 }

// AppendConditions writes the fields of a validating request (4.3.1).
func (e *Entry) AppendConditions(to []byte) []byte {
	if len(e.etag) > 0 {
		to = appendField(to, "If-None-Match", e.etag)
	}
	if len(e.modified) > 0 {
		to = appendField(to, "If-Modified-Since", e.modified)
	}
	return to
}

// Conditions returns the names of those fields.
func Conditions() []string { return []string{"if-none-match", "if-modified-since"} }

// Answer returns the response to a request in the form of HTTP/1.1, with the length of its head:
// the stored response, or 304 if the client has it already (4.3.2).
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
		if ok && !bytes.HasPrefix(line, []byte("HTTP/")) &&
			(len(name) < 8 || !wire.Equal(name[:8], "content-") ||
				wire.Equal(name, "content-location")) {
			to = append(to, line...)
		}
	}
	return append(to, "\r\n"...)
}

// matchesVary reports whether the entry fits a request (4.1).
func (e *Entry) matchesVary(r *wire.Request) bool {
	for _, one := range e.vary {
		if joined(&r.Fields, one.name) != one.value {
			return false
		}
	}
	return true
}

const (
	// maxFields bounds the fields of a stored response; some are added when it is sent.
	maxFields = 100

	// maxVary bounds the fields that it may depend on.
	maxVary = 16
)

// storable lists the final statuses that may be stored (3; RFC 9110, 15.1).
var storable = []int{200, 203, 204, 300, 301, 302, 307, 308, 404, 405, 410, 414, 501}

// lifetime returns the freshness lifetime of a response (4.2.1). Without an explicit one there is
// no heuristic.
func lifetime(
	r *wire.Response,
	control *cacheControl,
	date time.Time,
) (life time.Duration, explicit bool) {
	switch {
	case control.shared != unset:
		return time.Duration(control.shared) * time.Second, true
	case control.maxAge != unset:
		return time.Duration(control.maxAge) * time.Second, true
	case has(&r.Fields, "expires"):
		expires, ok := moment(&r.Fields, "expires")
		if !ok {
			return 0, true // an invalid date counts as expired (5.3)
		}
		return max(expires.Sub(date), 0), true
	}
	return 0, false
}

// newEntry creates an entry without its body. It returns nil if the response may not be stored (3).
// own are request fields that the gateway writes itself.
func newEntry(
	key string,
	request *wire.Request,
	r *wire.Response,
	sent, now time.Time,
	own []string,
) *Entry {
	control := readCacheControl(&r.Fields)
	date, dated := moment(&r.Fields, "date")
	if !dated {
		date = now
	}
	life, explicit := lifetime(r, &control, date)
	e := &Entry{
		key:      key,
		status:   r.Status,
		received: now,
		life:     life,
		validate: control.noCache,
		must:     control.neverStale(),
		etag:     bytes.Clone(r.Only("etag")),
		modified: bytes.Clone(r.Only("last-modified")),
	}
	switch {
	case string(request.Method) != "GET" || !slices.Contains(storable, r.Status) ||
		len(r.List) > maxFields:
		return nil
	case control.noStore || control.private || has(&r.Fields, "set-cookie") ||
		has(&r.Fields, "content-range") || r.Has(wire.Trailer):
		return nil
	// 3.5
	case has(&request.Fields, "authorization") && !control.must && !control.public &&
		control.shared == unset:
		return nil
	case !explicit && !e.Validators(): // it could never be used
		return nil
	}
	if !e.recordVary(request, r, own) {
		return nil
	}
	e.initial = initialAge(r, date, sent, now)
	return e
}

// initialAge returns the age of a response when it arrives (4.2.3). It is bounded, because a clock
// that was never set may write a Date of centuries ago.
func initialAge(r *wire.Response, date, sent, now time.Time) time.Duration {
	reported := seconds(r.Only("age"), 0)
	return min(max(now.Sub(date), time.Duration(reported)*time.Second+now.Sub(sent), 0),
		forever*time.Second)
}

// recordVary stores the fields that the response depends on (4.1). False means that the response
// depends on more than can be compared.
func (e *Entry) recordVary(request *wire.Request, r *wire.Response, own []string) bool {
	for i := range r.List {
		if !wire.Equal(r.List[i].Name, "vary") {
			continue
		}
		for name, rest := cut(r.List[i].Value); len(name)+len(rest) > 0; name, rest = cut(rest) {
			lowered := string(bytes.ToLower(name))
			switch {
			case lowered == "":
				continue
			case lowered == "*" || wire.Own(lowered) || slices.Contains(own, lowered) ||
				len(e.vary) == maxVary:
				return false
			}
			e.vary = append(e.vary, varyField{lowered, joined(&request.Fields, lowered)})
		}
	}
	return true
}

// dropped lists fields that are not stored but written for each response.
var dropped = []string{"age", "cache-status", "content-length"}

// appendHead writes the stored head of a response, without its end. It adds a Date if there is
// none.
func (e *Entry) appendHead(r *wire.Response) []byte {
	to := append([]byte("HTTP/1.1 "), wire.AppendDecimal(nil, int64(r.Status))...)
	to = append(append(append(to, ' '), r.Reason...), "\r\n"...)
	for i := range r.List {
		if field := &r.List[i]; r.GoesOn(field, wire.Sized, dropped) &&
			!wire.Equal(field.Name, "content-length") {
			to = appendField(to, string(field.Name), field.Value)
		}
	}
	if !r.Has(wire.Date) {
		to = appendField(to, "Date", e.received.UTC().AppendFormat(nil, http.TimeFormat))
	}
	return to
}

// finish completes the head with the length of the body, and adds the body.
func (e *Entry) finish(to, body []byte) {
	if e.status != 204 {
		to = appendField(to, "Content-Length", wire.AppendDecimal(nil, int64(len(body))))
	}
	to = append(to, "\r\n"...)
	e.head = len(to)
	e.text = slices.Concat(to, body)
}

// kept lists fields of the stored response that a validation does not replace.
var kept = []string{
	"content-length", "content-encoding", "content-type", "content-range", "set-cookie",
}

// renewed returns the entry after a validation (3.2, 4.3.4). It returns nil if the upstream
// validated another response.
func (e *Entry) renewed(r *wire.Response, sent, now time.Time) *Entry {
	if tag := r.Only("etag"); len(tag) > 0 && len(e.etag) > 0 && !sameTag(tag, e.etag) {
		return nil
	}
	var fresh []byte
	names := []string{"content-length"}
	for i := range r.List {
		field := &r.List[i]
		name := string(bytes.ToLower(field.Name))
		if !r.GoesOn(field, wire.Sized, dropped) || slices.Contains(kept, name) {
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
		// The first line is the status line.
		if to == nil || !slices.Contains(names, string(bytes.ToLower(name))) {
			to = append(to, line...)
		}
	}
	body := e.text[e.head:]
	var head wire.Response
	lines := append(append(bytes.Clone(to), fresh...), "\r\n"...)
	if n, err := head.Parse(lines, wire.Head); err != nil || n == 0 {
		return nil
	}
	control := readCacheControl(&head.Fields)
	date, dated := moment(&head.Fields, "date")
	if !dated {
		date = now
	}
	life, _ := lifetime(&head, &control, date)
	after := &Entry{
		key:      e.key,
		vary:     e.vary,
		status:   e.status,
		received: now,
		initial:  initialAge(r, date, sent, now),
		life:     life,
		validate: control.noCache,
		must:     control.neverStale(),
		etag:     bytes.Clone(head.Only("etag")),
		modified: bytes.Clone(head.Only("last-modified")),
	}
	after.finish(append(to, fresh...), body)
	return after
}

func appendField(to []byte, name string, value []byte) []byte {
	to = append(to, name...)
	to = append(to, ": "...)
	to = append(to, value...)
	return append(to, "\r\n"...)
}
