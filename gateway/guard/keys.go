// Parses JSON Web Key Sets.

package guard

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
)

// ParseKeys reads a JSON Web Key Set (RFC 7517): RSA of 2048 bits and more, P-256 and Ed25519.
// Other keys, and those that are not for signatures, are skipped.
func ParseKeys(text []byte) ([]Key, error) {
	var set struct {
		Keys []struct {
			Kind  string `json:"kty"`
			Use   string `json:"use"`
			ID    string `json:"kid"`
			Curve string `json:"crv"`
			N, E  string
			X, Y  string
		}
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("it is not a JSON Web Key Set: %w", err)
	}
	var keys []Key
	for _, k := range set.Keys {
		if k.Use != "" && k.Use != "sig" {
			continue
		}
		var err error
		one := Key{ID: k.ID}
		switch {
		case k.Kind == "RSA":
			one.Public, err = rsaKey(k.N, k.E)
		case k.Kind == "EC" && k.Curve == "P-256":
			one.Public, err = curveKey(k.X, k.Y)
		case k.Kind == "OKP" && k.Curve == "Ed25519":
			var x []byte
			if x, err = base64.RawURLEncoding.DecodeString(k.X); err == nil &&
				len(x) != ed25519.PublicKeySize {
				err = errors.New("it does not have 32 bytes")
			}
			one.Public = ed25519.PublicKey(x)
		default:
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the key %q: %w", k.ID, err)
		}
		keys = append(keys, one)
	}
	if len(keys) == 0 {
		return nil, errors.New("it has no key of RSA, P-256 or Ed25519 for signatures")
	}
	return keys, nil
}

func rsaKey(n, e string) (*rsa.PublicKey, error) {
	modulus, err := number(n)
	if err != nil {
		return nil, err
	}
	exponent, err := number(e)
	if err != nil {
		return nil, err
	}
	if modulus.BitLen() < 2048 || modulus.BitLen() > 8192 || !exponent.IsInt64() ||
		exponent.Int64() < 3 ||
		exponent.Int64() > 1<<31-1 {
		return nil, errors.New("it is not of 2048 to 8192 bits, or its exponent is out of bounds")
	}
	return &rsa.PublicKey{N: modulus, E: int(exponent.Int64())}, nil
}

func curveKey(x, y string) (*ecdsa.PublicKey, error) {
	horizontal, err := number(x)
	if err != nil {
		return nil, err
	}
	vertical, err := number(y)
	if err != nil {
		return nil, err
	}
	if horizontal.BitLen() > 256 || vertical.BitLen() > 256 {
		return nil, errors.New("it is not on the curve")
	}
	point := make([]byte, 65)
	point[0] = 4 // uncompressed
	horizontal.FillBytes(point[1:33])
	vertical.FillBytes(point[33:])
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return nil, errors.New("it is not on the curve")
	}
	return key, nil
}

func number(text string) (*big.Int, error) {
	bytes, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("a number is not base64url: %w", err)
	}
	return new(big.Int).SetBytes(bytes), nil
}
