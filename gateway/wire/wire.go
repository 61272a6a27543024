// Package wire reads and writes HTTP/1.1 messages. It does no I/O, so it can be fuzzed and used
// with any transport.
//
// It is strict: a message that two recipients could understand differently is refused, never
// repaired. Start reading at Request.Parse, Reader.Next and AppendRequest.
//
// Sections in comments are those of RFC 9110 (semantics) and RFC 9112 (HTTP/1.1).
package wire

// Refusal is why a message is not passed on. Its connection is closed, because the start of the
// next message is unknown.
type Refusal struct {
	Status int    // for the client; a fault of the upstream becomes 502
	Reason string // for people
}

func (r *Refusal) Error() string { return r.Reason }

func bad(reason string) *Refusal { return &Refusal{Status: 400, Reason: reason} }

// Classes of bytes.
const (
	tokenByte  = 1 << iota // of methods and field names (RFC 9110, 5.6.2)
	valueByte              // of field values: visible, obs-text, SP, HTAB (5.5)
	targetByte             // of a path or query; stricter than common practice, wider than RFC 3986
	hostByte               // of an authority without user information
	digitByte
	hexByte
	plainByte // unreserved in RFC 3986: the same with and without percent-encoding
)

var classes = func() (table [256]uint8) {
	set := func(class uint8, bytes string) {
		for i := range len(bytes) {
			table[bytes[i]] |= class
		}
	}
	const digits, letters = "0123456789", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	set(tokenByte, digits+letters+"!#$%&'*+-.^_`|~")
	set(plainByte, digits+letters+"-._~")
	set(hostByte, digits+letters+"-._~!$&'()*+;=%:[]")
	set(digitByte, digits)
	set(hexByte, digits+"abcdefABCDEF")
	for b := 0x20; b < 0x100; b++ {
		if b != 0x7f {
			table[b] |= valueByte
		}
		if b > 0x20 && b < 0x7f && b != '#' {
			table[b] |= targetByte
		}
	}
	table['\t'] |= valueByte
	return table
}()

// allOfClass reports whether every byte of text is of the class.
func allOfClass(text []byte, class uint8) bool {
	for _, b := range text {
		if classes[b]&class == 0 {
			return false
		}
	}
	return true
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b | 0x20
	}
	return b
}

// Equal compares names without regard to the case of ASCII letters. lowered must be in lower case.
func Equal(text []byte, lowered string) bool {
	if len(text) != len(lowered) {
		return false
	}
	for i, b := range text {
		if lower(b) != lowered[i] {
			return false
		}
	}
	return true
}

// named reports whether a field has one of these names, in lower case.
func named(names []string, name []byte) bool {
	for _, one := range names {
		if Equal(name, one) {
			return true
		}
	}
	return false
}

func trimLeft(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	return text
}

// tokenEnd returns the length of the token that text begins with (RFC 9110, 5.6.2).
func tokenEnd(text []byte) int {
	end := 0
	for end < len(text) && classes[text[end]]&tokenByte != 0 {
		end++
	}
	return end
}

// quotedEnd returns the length of the quoted string that text begins with (RFC 9110, 5.6.4), or
// zero.
func quotedEnd(text []byte) int {
	if len(text) == 0 || text[0] != '"' {
		return 0
	}
	for at := 1; at < len(text) && classes[text[at]]&valueByte != 0; at++ {
		switch text[at] {
		case '"':
			return at + 1
		case '\\':
			if at++; at == len(text) || classes[text[at]]&valueByte == 0 {
				return 0
			}
		}
	}
	return 0
}

// Cut splits text at the first separator outside quotes. Without one, all of it is before.
func Cut(text []byte, separator byte) (before, after []byte) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case b == separator && !quoted:
			return text[:i], text[i+1:]
		}
	}
	return text, nil
}

func trim(text []byte) []byte {
	text = trimLeft(text)
	for len(text) > 0 && (text[len(text)-1] == ' ' || text[len(text)-1] == '\t') {
		text = text[:len(text)-1]
	}
	return text
}

// option cuts the first element off a comma-separated list. It skips empty elements (RFC 9110,
// 5.6.1.2), and returns one only at the end of the list.
func option(list []byte) (element, rest []byte) {
	for len(list) > 0 {
		end := 0
		for end < len(list) && list[end] != ',' {
			end++
		}
		element = trim(list[:end])
		if end < len(list) {
			end++
		}
		list = list[end:]
		if len(element) > 0 {
			return element, list
		}
	}
	return nil, nil
}

// HasOption reports whether a comma-separated list contains an option.
func HasOption(list []byte, lowered string) bool {
	for element, rest := option(list); len(element) > 0; element, rest = option(rest) {
		if Equal(element, lowered) {
			return true
		}
	}
	return false
}

// AppendDecimal appends n, which is not negative.
func AppendDecimal(to []byte, n int64) []byte {
	var digits [20]byte
	at := len(digits)
	for {
		at--
		digits[at] = byte('0' + n%10)
		n /= 10
		if n == 0 {
			return append(to, digits[at:]...)
		}
	}
}

const hexDigits = "0123456789abcdef"

func appendHex(to []byte, n int) []byte {
	var digits [16]byte
	at := len(digits)
	for {
		at--
		digits[at] = hexDigits[n&15]
		n >>= 4
		if n == 0 {
			return append(to, digits[at:]...)
		}
	}
}

func unhex(b byte) byte {
	if b <= '9' {
		return b - '0'
	}
	return lower(b) - 'a' + 10
}
