package config

import (
	"math"
	"strings"
	"time"

	"faceoff/systems/gateway/guard"
)

// guard reads what a route asks of its requests; nil where that is nothing.
func (r table) guard() *guard.Guard {
	g := &guard.Guard{Allow: r.networks("allow"), Deny: r.networks("deny"), Body: int64(r.size("body", 0, 1, math.MaxInt)), Rate: r.rate(), Token: r.token()}
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
		t.problem(t.node, "write for example `rate: {requests: 100, per: 1s}`", "`%s.requests` is missing", t.path)
	}
	requests := t.count("requests", 100, 1, 1<<30)
	limits := guard.Limits{
		Each:  float64(requests) / t.duration("per", time.Second, time.Millisecond, longest).Seconds(),
		Burst: float64(t.count("burst", requests, 1, 1<<30)),
		Key:   strings.ToLower(t.text("key", "", "X-Api-Key")),
	}
	return guard.NewRate(limits)
}

// token reads `token: {keys: keys.json, issuer: NAME, audience: NAME}`.
func (r table) token() *guard.Token {
	if !r.has("token") {
		return nil
	}
	t := r.table("token", "keys", "issuer", "audience")
	name := t.text("keys", "", "keys.json")
	text, err := r.open(name)
	token := &guard.Token{Issuer: t.text("issuer", "", "https://shop.example"), Audience: t.text("audience", "", "shop")}
	if err == nil {
		token.Keys, err = guard.ParseKeys(text)
	}
	if err != nil {
		t.problem(t.at("keys"), "name a file with a JSON Web Key Set, such as `keys: keys.json`", "no keys of `%s`: %v", name, err)
	}
	return token
}
