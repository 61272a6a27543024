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

	"faceoff/systems/gateway/wire"
)

// Token asks for a JSON Web Token (RFC 7519) that one of these keys has signed. Which algorithm that is, the key decides
// and not the token: RS256 for RSA, ES256 for P-256, EdDSA for Ed25519.
type Token struct {
	Keys     []Key
	Issuer   string // empty: any
	Audience string // the same

	URL   string        // where the keys come from, empty where they are those of a file
	Every time.Duration // how often they are asked for there

	mu    sync.Mutex
	turn  int             // how often the keys were exchanged
	known map[string]span // tokens that were right, so that a signature is verified once
}

// Rotate puts other keys in place of those before, and forgets which tokens were right by those. It reports whether there was
// anything to exchange.
func (t *Token) Rotate(keys []Key) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if reflect.DeepEqual(t.Keys, keys) {
		return false
	}
	t.Keys, t.known = keys, nil
	t.turn++
	return true
}

// Key is one that tokens are signed with.
type Key struct {
	ID     string
	Public crypto.PublicKey
}

// span is when a token counts.
type span struct{ from, until time.Time }

const (
	// leeway is how far the clocks of who issues tokens and of this machine may differ.
	leeway = time.Minute

	// mostTokens is how many of the tokens that were right are known again.
	mostTokens = 1024

	// longestToken is how long one may be.
	longestToken = 8 << 10
)

// check is why a request's token does not count, empty where it does.
func (t *Token) check(r *wire.Request, now time.Time) string {
	value := r.Only("authorization")
	const bearer = "bearer "
	if len(value) <= len(bearer) || !wire.Equal(value[:len(bearer)], bearer) {
		return "a bearer token is missing"
	}
	token := bytes.TrimLeft(value[len(bearer):], " ")
	t.mu.Lock()
	counts, known := t.known[string(token)]
	turn := t.turn
	t.mu.Unlock()
	if !known {
		var reason string
		if counts, reason = t.verify(token); reason != "" {
			return reason
		}
		t.remember(string(token), counts, turn)
	}
	switch {
	case now.Before(counts.from.Add(-leeway)):
		return "the token does not count yet"
	case !now.Before(counts.until.Add(leeway)):
		return "the token has expired"
	}
	return ""
}

// remember knows a token again that was right by the keys of a turn, unless there are others by now.
func (t *Token) remember(token string, counts span, turn int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turn != turn {
		return
	}
	if t.known == nil || len(t.known) >= mostTokens {
		t.known = map[string]span{}
	}
	t.known[token] = counts
}

const notRight = "the token is not right"

// verify looks at everything but the time.
func (t *Token) verify(token []byte) (span, string) {
	if len(token) > longestToken {
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
	if err != nil || !decode(parts[0], &header) || !decode(parts[1], &claims) || len(header.Critical) > 0 {
		return span{}, notRight
	}
	signed := token[:len(token)-len(parts[2])-1]
	t.mu.Lock()
	keys := t.Keys
	t.mu.Unlock()
	if !slices.ContainsFunc(keys, func(key Key) bool {
		return (header.Key == "" || key.ID == "" || key.ID == header.Key) && signedBy(key.Public, header.Algorithm, signed, signature)
	}) {
		return span{}, notRight
	}
	switch {
	case claims.Expires == nil || *claims.Expires < 0 || *claims.Expires > 1<<40 || claims.NotBefore < 0 || claims.NotBefore > 1<<40:
		return span{}, "the token does not say when it expires"
	case t.Issuer != "" && claims.Issuer != t.Issuer:
		return span{}, "the token is of another issuer"
	case t.Audience != "" && !slices.Contains(claims.Audience, t.Audience):
		return span{}, "the token is for another audience"
	}
	return span{time.Unix(int64(claims.NotBefore), 0), time.Unix(int64(*claims.Expires), 0)}, ""
}

func decode(part []byte, into any) bool {
	text, err := base64.RawURLEncoding.AppendDecode(nil, part)
	return err == nil && json.Unmarshal(text, into) == nil
}

// audiences are one, or a list (RFC 7519, 4.1.3).
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
		return algorithm == "RS256" && rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) == nil
	case *ecdsa.PublicKey:
		if algorithm != "ES256" || len(signature) != 64 {
			return false
		}
		sum := sha256.Sum256(signed)
		return ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
	case ed25519.PublicKey:
		return algorithm == "EdDSA" && ed25519.Verify(key, signed, signature)
	}
	return false
}
