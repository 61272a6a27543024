// Replacing of token keys while tokens are verified.

package guard

import (
	"crypto/ed25519"
	"encoding/base64"
	"testing"
	"time"
)

func TestTokensAreVerifiedAgainAfterRotation(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"EdDSA"}`)) + "." + encode([]byte(`{"exp":4102444800}`))
	text := signed + "." + encode(ed25519.Sign(private, []byte(signed)))
	token := &Token{Keys: []Key{{Public: public}}}
	r := request(t, "Authorization: Bearer "+text)
	for range 2 {
		if reason := token.check(r, noon); reason != "" {
			t.Fatal(reason)
		}
	}
	if token.Rotate([]Key{{Public: public}}) || len(token.known) != 1 {
		t.Error("the same keys are no others")
	}
	if !token.Rotate([]Key{{Public: other}}) {
		t.Error("other keys are the same")
	}
	if reason := token.check(r, noon); reason != notRight {
		t.Errorf("a token of a key that is gone: %q", reason)
	}
	// Verified before the keys were replaced.
	token.remember(text, span{until: noon.Add(time.Hour)}, 0)
	if reason := token.check(r, noon); reason != notRight {
		t.Errorf("it was remembered: %q", reason)
	}
	if !token.Rotate([]Key{{Public: other}, {Public: public}}) || token.check(r, noon) != "" {
		t.Error("it is not right by a key that is back")
	}
}
