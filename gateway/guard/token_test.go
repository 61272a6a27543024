// JSON Web Tokens: valid, invalid and remembered ones, and fuzzing.

package guard

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"
)

// signer issues tokens.
type signer struct {
	algorithm string
	key       map[string]any // a JSON Web Key
	sign      func(text []byte) []byte
}

func encode(bytes []byte) string { return base64.RawURLEncoding.EncodeToString(bytes) }

func object(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func signers(t *testing.T) []signer {
	t.Helper()
	strong, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := curve.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return []signer{
		{"RS256", map[string]any{"kty": "RSA", "kid": "r", "use": "sig", "n": encode(strong.N.Bytes()), "e": encode(big.NewInt(int64(strong.E)).Bytes())}, func(text []byte) []byte {
			sum := sha256.Sum256(text)
			signature, err := rsa.SignPKCS1v15(rand.Reader, strong, crypto.SHA256, sum[:])
			if err != nil {
				t.Fatal(err)
			}
			return signature
		}},
		{"ES256", map[string]any{"kty": "EC", "kid": "e", "crv": "P-256", "x": encode(point[1:33]), "y": encode(point[33:])}, func(text []byte) []byte {
			sum := sha256.Sum256(text)
			r, s, err := ecdsa.Sign(rand.Reader, curve, sum[:])
			if err != nil {
				t.Fatal(err)
			}
			return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
		}},
		{"EdDSA", map[string]any{"kty": "OKP", "crv": "Ed25519", "x": encode(public)}, func(text []byte) []byte { return ed25519.Sign(edwards, text) }},
	}
}

func (s *signer) token(t *testing.T, header, claims map[string]any) string {
	t.Helper()
	text := encode([]byte(object(t, header))) + "." + encode([]byte(object(t, claims)))
	return text + "." + encode(s.sign([]byte(text)))
}

func TestTokens(t *testing.T) {
	all := signers(t)
	keys := []any{map[string]any{"kty": "oct", "k": "AAAA"}, map[string]any{"kty": "RSA", "use": "enc"}}
	for _, s := range all {
		keys = append(keys, s.key)
	}
	set, err := ParseKeys([]byte(object(t, map[string]any{"keys": keys})))
	if err != nil || len(set) != 3 {
		t.Fatalf("%d keys, %v", len(set), err)
	}
	good := map[string]any{"iss": "us", "aud": []string{"them", "shop"}, "exp": noon.Add(time.Hour).Unix(), "nbf": noon.Unix()}
	but := func(name string, value any) map[string]any {
		changed := map[string]any{}
		for k, v := range good {
			changed[k] = v
		}
		if changed[name] = value; value == nil {
			delete(changed, name)
		}
		return changed
	}
	for i, s := range all {
		header := map[string]any{"alg": s.algorithm, "typ": "JWT"}
		g := &Guard{Token: &Token{Keys: set, Issuer: "us", Audience: "shop"}}
		right := s.token(t, header, good)
		for name, c := range map[string]struct {
			token string
			want  string
		}{
			"right":              {right, ""},
			"one audience":       {s.token(t, header, but("aud", "shop")), ""},
			"by its key's name":  {s.token(t, map[string]any{"alg": s.algorithm, "kid": []string{"r", "e", "any"}[i]}, good), ""},
			"just expired":       {s.token(t, header, but("exp", noon.Add(-59*time.Second).Unix())), ""},
			"expired":            {s.token(t, header, but("exp", noon.Add(-time.Minute).Unix())), "the token has expired"},
			"not yet":            {s.token(t, header, but("nbf", noon.Add(61*time.Second).Unix())), "the token is not valid yet"},
			"for ever":           {s.token(t, header, but("exp", nil)), "the token has no expiry"},
			"far":                {s.token(t, header, but("exp", 1e300)), "the token has no expiry"},
			"another issuer":     {s.token(t, header, but("iss", "you")), "the token has another issuer"},
			"another audience":   {s.token(t, header, but("aud", "them")), "the token is for another audience"},
			"no audience":        {s.token(t, header, but("aud", nil)), "the token is for another audience"},
			"no algorithm":       {s.token(t, map[string]any{"alg": "none"}, good), notRight},
			"another algorithm":  {s.token(t, map[string]any{"alg": "HS256"}, good), notRight},
			"critical":           {s.token(t, map[string]any{"alg": s.algorithm, "crit": []string{"b64"}}, good), notRight},
			"another key's name": {s.token(t, map[string]any{"alg": s.algorithm, "kid": "x"}, good), map[bool]string{true: "", false: notRight}[i == 2]},
			"another key":        {all[(i+1)%3].token(t, header, good), notRight},
			"no signature":       {right[:strings.LastIndexByte(right, '.')+1], notRight},
			"other claims":       {right[:strings.IndexByte(right, '.')+1] + encode([]byte(object(t, but("iss", "me")))) + right[strings.LastIndexByte(right, '.'):], notRight},
			"half":               {right[:len(right)/2], notRight},
			"nothing":            {"", "a bearer token is missing"},
			"long":               {right + strings.Repeat("A", maxToken), notRight},
		} {
			for range 2 { // the second time from the cache
				r := request(t, "Authorization: Bearer "+c.token)
				got := g.Check(r, home, noon)
				if got.Reason != c.want || (got.Status == 401) != (c.want != "") {
					t.Errorf("%s, %s: %+v, want %q", s.algorithm, name, got, c.want)
				}
			}
		}
		for _, lines := range [][]string{nil, {"Authorization: Basic x"}, {"Authorization: Bearer " + right, "Authorization: Bearer " + right}} {
			if got := g.Check(request(t, lines...), home, noon); got.Status != 401 {
				t.Errorf("%.30q: %+v", lines, got)
			}
		}
		if got := g.Check(request(t, "authorization: bearer  "+right), home, noon.Add(2*time.Hour)); got.Reason != "the token has expired" {
			t.Errorf("a known token later: %+v", got)
		}
	}
}

func TestRememberedTokensAreLimited(t *testing.T) {
	token := &Token{}
	for i := range 3 * maxTokens {
		token.remember(fmt.Sprint(i), span{}, 0)
		if len(token.known) > maxTokens {
			t.Fatalf("%d are known", len(token.known))
		}
	}
}

func TestInvalidKeysAreRefused(t *testing.T) {
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Skip(err) // it cannot even be created
	}
	for _, text := range []string{
		"", "[]", "{}", `{"keys":[]}`, `{"keys":[{"kty":"oct","k":"AAAA"}]}`, `{"keys":[{"kty":"RSA","n":"!","e":"AQAB"}]}`, `{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}`,
		`{"keys":[{"kty":"EC","crv":"P-256","x":"AQAB","y":"AQAB"}]}`, `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AQAB"}]}`,
		object(t, map[string]any{"keys": []any{map[string]any{"kty": "RSA", "n": encode(short.N.Bytes()), "e": "AQAB"}}}),
	} {
		if keys, err := ParseKeys([]byte(text)); err == nil {
			t.Errorf("%s has %v", text, keys)
		}
	}
}

// FuzzToken checks that no token is accepted that no key has signed, and that no token makes the
// gateway panic.
func FuzzToken(f *testing.F) {
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("eyJhbGciOiJFZERTQSJ9.eyJleHAiOjF9.AAAA"))
	f.Add([]byte(encode([]byte(`{"alg":"none"}`)) + "." + encode([]byte(`{"exp":4102444800,"aud":["a"]}`)) + "."))
	token := &Token{Keys: []Key{{Public: public}}}
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, reason := token.verify(text); reason == "" {
			t.Fatalf("%q is right", text)
		}
	})
}
