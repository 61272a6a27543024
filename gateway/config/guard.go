// Reads the checks of a route: `allow`, `deny`, `body`, `rate`, `token` and `fault`.

package config

import (
	"math"
	"net/url"
	"strings"
	"time"

	"faceoff/gateway/guard"
)

// guard reads the checks of a route; nil if there are none.
func (r table) guard() *guard.Guard {
	g := &guard.Guard{
		Allow: r.networks("allow"),
		Deny:  r.networks("deny"),
		Body:  int64(r.size("body", 0, 1, math.MaxInt)),
		Rate:  r.rate(),
		Token: r.token(),
	}
	if g.Allow == nil && g.Deny == nil && g.Body == 0 && g.Rate == nil && g.Token == nil {
		return nil
	}
	return g
}

// rate reads `rate: {requests: 100, per: 1s, burst: 200, key: X-Api-Key}`.
func (r table) rate() *guard.Rate {
	if !r.has("rate") {
		return nil
	}
	t := r.table("rate", "requests", "per", "burst", "key")
	if !t.has("requests") {
		t.problem(t.node, "write for example `rate: {requests: 100, per: 1s}`",
			"`%s.requests` is missing", t.path)
	}
	requests := t.count("requests", 100, 1, 1<<30)
	key := t.text("key", "", "X-Api-Key")
	if key != "" && !word.MatchString(key) {
		t.problem(t.nodeOf("key"),
			"name the field whose value tells clients apart, such as `key: X-Api-Key`",
			"`%s` is %q", t.join("key"), key)
	}
	per := t.duration("per", time.Second, time.Millisecond, longest)
	limits := guard.Limits{
		Each:  float64(requests) / per.Seconds(),
		Burst: float64(t.count("burst", requests, 1, 1<<30)),
		Key:   strings.ToLower(key),
	}
	return guard.NewRate(limits)
}

// token reads `token: {keys: keys.json, issuer: NAME, audience: NAME}`; for keys at a URL also
// `every: 5m`.
func (r table) token() *guard.Token {
	if !r.has("token") {
		return nil
	}
	t := r.table("token", "keys", "every", "issuer", "audience")
	name := t.text("keys", "", "keys.json")
	token := &guard.Token{
		Issuer:   t.text("issuer", "", "https://shop.example"),
		Audience: t.text("audience", "", "shop"),
	}
	every := t.duration("every", 5*time.Minute, time.Second, longest)
	var text []byte
	var err error
	shown := name
	if strings.Contains(name, "://") {
		token.URL, token.Every = name, every
		if at, invalid := url.Parse(name); invalid != nil {
			err = errNoURL
		} else if shown, err = at.Redacted(), Trustworthy(at); err == nil {
			text, err = r.get(name)
		}
	} else {
		if t.has("every") {
			t.problem(t.nodeOf("every"), "remove it: `watch` sets how often files are checked",
				"`%s` is for keys at a URL", t.join("every"))
		}
		text, err = r.open(name)
	}
	if err == nil {
		token.Keys, err = guard.ParseKeys(text)
	}
	if err != nil {
		t.problem(
			t.nodeOf("keys"),
			"name a file with a JSON Web Key Set, such as `keys: keys.json`, or the https URL of one",
			"cannot use the keys of `%s`: %v",
			shown,
			err,
		)
	}
	return token
}

// fault reads `fault: {share: 5%, delay: 200ms, status: 503}`, or `{share: 1%, break: true}`.
func (r table) fault() *guard.Fault {
	if !r.has("fault") {
		return nil
	}
	t := r.table("fault", "share", "delay", "status", "break")
	f := &guard.Fault{
		Share: 1,
		Delay: t.duration("delay", 0, 0, time.Hour),
		Break: t.boolean("break", false),
	}
	if share, ok := t.share("share", 0); ok {
		f.Share = share
	}
	if t.has("status") {
		f.Status = t.count("status", 503, 400, 599)
	}
	switch {
	case f.Delay == 0 && f.Status == 0 && !f.Break:
		t.problem(t.node, "write for example `fault: {share: 5%, status: 503}`",
			"`%s` does nothing", t.path)
	case f.Status != 0 && f.Break:
		t.problem(t.node, "keep one of them", "`%s` has a `status` and a `break`", t.path)
	}
	return f
}
