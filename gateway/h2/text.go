// Character classes and numbers.

package h2

import (
	"math"
	"strconv"
)

// valid reports whether a value is valid in HTTP/2 (8.2.1). Package wire checks the rest.
func valid(value string) bool {
	for i := range len(value) {
		if b := value[i]; b == 0 || b == '\r' || b == '\n' {
			return false
		}
	}
	return value == "" || !(blank(value[0]) || blank(value[len(value)-1]))
}

func blank(b byte) bool { return b == ' ' || b == '\t' }

// token reports whether text is a token (RFC 9110, 5.6.2).
func token(text string) bool {
	for i := range len(text) {
		if !tokens[text[i]] {
			return false
		}
	}
	return text != ""
}

var tokens = func() (table [256]bool) {
	for _, b := range []byte("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!#$%&'*+-.^_`|~") {
		table[b] = true
	}
	return table
}()

// decimal parses digits, at least one, as a number that fits.
func decimal(text string) (int64, bool) {
	var n int64
	for i := range len(text) {
		if b := text[i]; b < '0' || b > '9' || n > (math.MaxInt64-9)/10 {
			return 0, false
		}
		n = n*10 + int64(text[i]-'0')
	}
	return n, text != ""
}

func appendDecimal(to []byte, n int64) []byte { return strconv.AppendInt(to, n, 10) }
