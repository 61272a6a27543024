// JSON Web Tokens. A valid token is remembered until it expires, so that its signature is verified
// once. Start reading at Token.check.

package guard

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"reflect"
	"slices"
	"sync"
	"time"

	"faceoff/gateway/wire"
)

// Token requires a JSON Web Token (RFC 7519) signed by one of these keys. The key decides the
// algorithm, not the token: RS256 for RSA, ES256 for P-256, EdDSA for Ed25519.
type Token struct {
	Keys     []Key
	Issuer   string // empty: any
	Audience string // empty: any

	URL   string        // of the keys; empty if they come from a file
	Every time.Duration // how often the keys are fetched

	mu         sync.Mutex
	generation int             // how often the keys were replaced
	known      map[string]span // valid tokens, so that each signature is verified once
}

// Rotate replaces the keys, and forgets the tokens that were valid with the old ones. It reports
// whether the keys changed.
func (t *Token) Rotate(keys []Key) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if reflect.DeepEqual(t.Keys, keys) {
		return false
	}
	t.Keys, t.known = keys, nil
	t.generation++
	return true
}

// Key verifies signatures of tokens.
type Key struct {
	ID     string
	Public crypto.PublicKey
}

// span is when a token is valid.
type span struct{ from, until time.Time }

const (
	// leeway is the tolerated difference between the clocks of the issuer and of this machine.
	leeway = time.Minute

	// maxTokens is how many valid tokens are remembered.
	maxTokens = 1024

	// maxToken is the maximum length of a token.
	maxToken = 8 << 10
)

// check returns why a request's token is refused, or "".
func (t *Token) check(r *wire.Request, now time.Time) string {
	value := r.Only("authorization")
	const bearer = "bearer "
	if len(value) <= len(bearer) || !wire.Equal(value[:len(bearer)], bearer) {
		return "a bearer token is missing"
	}
	token := bytes.TrimLeft(value[len(bearer):], " ")
	t.mu.Lock()
	counts, known := t.known[string(token)]
	generation := t.generation
	t.mu.Unlock()
	if !known {
		var reason string
		if counts, reason = t.verify(token); reason != "" {
			return reason
		}
		t.remember(string(token), counts, generation)
	}
	switch {
	case now.Before(counts.from.Add(-leeway)):
		return "the token is not valid yet"
	case !now.Before(counts.until.Add(leeway)):
		return "the token has expired"
	}
	return ""
}

// remember stores a valid token, unless the keys were replaced meanwhile.
func (t *Token) remember(token string, counts span, generation int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.generation != generation {
		return
	}
	if t.known == nil || len(t.known) >= maxTokens {
		t.known = map[string]span{}
	}
	t.known[token] = counts
}

const notRight = "the token is not right"

// verify checks everything except the time.
func (t *Token) verify(token []byte) (span, string) {
	if len(token) > maxToken {
		return span{}, notRight
	}
	parts := bytes.Split(token, []byte{'.'})
	if len(parts) != 3 {
		return span{}, notRight
	}
	var header struct {
		Algorithm string   `json:"alg"`
		Key       string   `json:"kid"`
		Critical  []string `json:"crit"`
	}
	var claims struct {
		Issuer    string    `json:"iss"`
		Audience  audiences `json:"aud"`
		Expires   *float64  `json:"exp"`
		NotBefore float64   `json:"nbf"`
	}
	signature, err := base64.RawURLEncoding.AppendDecode(nil, parts[2])
	if err != nil || !decode(parts[0], &header) || !decode(parts[1], &claims) ||
		len(header.Critical) > 0 {
		return span{}, notRight
	}
	signed := token[:len(token)-len(parts[2])-1]
	t.mu.Lock()
	keys := t.Keys
	t.mu.Unlock()
	if !slices.ContainsFunc(keys, func(key Key) bool {
		return (header.Key == "" || key.ID == "" || key.ID == header.Key) &&
			signedBy(key.Public, header.Algorithm, signed, signature)
	}) {
		return span{}, notRight
	}
	switch {
	case claims.Expires == nil || *claims.Expires < 0 || *claims.Expires > 1<<40 ||
		claims.NotBefore < 0 || claims.NotBefore > 1<<40:
		return span{}, "the token has no expiry"
	case t.Issuer != "" && claims.Issuer != t.Issuer:
		return span{}, "the token has another issuer"
	case t.Audience != "" && !slices.Contains(claims.Audience, t.Audience):
		return span{}, "the token is for another audience"
	}
	return span{time.Unix(int64(claims.NotBefore), 0), time.Unix(int64(*claims.Expires), 0)}, ""
}

func decode(part []byte, into any) bool {
	text, err := base64.RawURLEncoding.AppendDecode(nil, part)
	return err == nil && json.Unmarshal(text, into) == nil
}

// audiences is one audience or a list (RFC 7519, 4.1.3).
type audiences []string

func (a *audiences) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		return json.Unmarshal(text, (*[]string)(a))
	}
	*a = []string{""}
	return json.Unmarshal(text, &(*a)[0])
}

func signedBy(key crypto.PublicKey, algorithm string, signed, signature []byte) bool {
	switch key := key.(type) {
	case *rsa.PublicKey:
		sum := sha256.Sum256(signed)
		return algorithm == "RS256" &&
			rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) == nil
	case *ecdsa.PublicKey:
		if algorithm != "ES256" || len(signature) != 64 {
			return false
		}
		sum := sha256.Sum256(signed)
		return ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(signature[:32]),
			new(big.Int).SetBytes(signature[32:]))
	case ed25519.PublicKey:
		return algorithm == "EdDSA" && ed25519.Verify(key, signed, signature)
	}
	return false
}
