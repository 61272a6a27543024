// Header fields: parsing lines, and finding those that a proxy must interpret. Start reading at
// Fields.parse.

package wire

import "bytes"

// ID is a field that a proxy interprets. All others are Other, and pass.
type ID uint8

const (
	Other ID = iota
	Host
	Connection
	ContentLength
	TransferEncoding
	Upgrade
	TE
	Trailer
	Expect
	KeepAlive
	ProxyConnection
	ProxyAuthenticate
	ProxyAuthorization
	Forwarded
	XForwardedFor
	XForwardedHost
	XForwardedProto
	Date
	HTTP2Settings
	MaxForwards
	ClientIP   // X-Real-IP and similar ones; X-Forwarded-For and Forwarded have IDs of their own
	ClaimedURL // X-Original-URL and similar ones; X-Forwarded-Host and -Proto have IDs of their own
	known      // the number of IDs
)

var names = [known]string{
	Host:               "host",
	Connection:         "connection",
	ContentLength:      "content-length",
	TransferEncoding:   "transfer-encoding",
	Upgrade:            "upgrade",
	TE:                 "te",
	Trailer:            "trailer",
	Expect:             "expect",
	KeepAlive:          "keep-alive",
	ProxyConnection:    "proxy-connection",
	ProxyAuthenticate:  "proxy-authenticate",
	ProxyAuthorization: "proxy-authorization",
	Forwarded:          "forwarded",
	XForwardedFor:      "x-forwarded-for",
	XForwardedHost:     "x-forwarded-host",
	XForwardedProto:    "x-forwarded-proto",
	Date:               "date",
	HTTP2Settings:      "http2-settings",
	MaxForwards:        "max-forwards",
}

// claims lists further fields in which proxies describe the client and its request. From untrusted
// clients they are dropped, like everything else that begins with "x-forwarded".
var claims = map[ID][]string{
	ClientIP: {
		"x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip", "forwarded-for",
		"x-original-forwarded-for",
	},
	ClaimedURL: {
		"x-original-url", "x-original-uri", "x-original-host", "x-original-method", "x-rewrite-url",
		"x-scheme", "x-url-scheme", "front-end-https",
	},
}

const forwardedPrefix = "x-forwarded"

// entry is a name that a proxy interprets.
type entry struct {
	name string
	id   ID
}

// byLength holds the names of each length, so that few have to be compared.
var byLength = func() (table [32][]entry) {
	add := func(id ID, name string) { table[len(name)] = append(table[len(name)], entry{name, id}) }
	for id := Other + 1; id < known; id++ {
		if names[id] != "" {
			add(id, names[id])
		}
		for _, name := range claims[id] {
			add(id, name)
		}
	}
	return table
}()

func lookup(name []byte) ID {
	if len(name) < len(byLength) {
		for _, one := range byLength[len(name)] {
			if Equal(name, one.name) {
				return one.id
			}
		}
	}
	if len(name) >= len(forwardedPrefix) && Equal(name[:len(forwardedPrefix)], forwardedPrefix) {
		return ClaimedURL
	}
	return Other
}

// hop marks the fields that are never passed on (RFC 9110, 7.6.1, and 11.7 for a proxy's
// credentials). If necessary they are written anew.
var hop = func() (table [known]bool) {
	for _, id := range []ID{
		Connection, ContentLength, TransferEncoding, Upgrade, TE, KeepAlive, ProxyConnection,
		ProxyAuthenticate,
		ProxyAuthorization, HTTP2Settings,
	} {
		table[id] = true
	}
	return table
}()

// Field is one line of a head. Both parts point into the bytes that were read.
type Field struct {
	Name, Value []byte
	ID          ID
	dropped     bool // named by Connection
}

// EndsHere reports whether Connection names the field, so that it is not passed on.
func (f *Field) EndsHere() bool { return f.dropped }

// DefaultFields is how many lines a head or a trailer section may have, unless Fields.Most is set.
const DefaultFields = 128

// maxOptions bounds the fields that Connection may name, because each is searched for.
const maxOptions = 32

// Fields are the lines of a head. The zero value is ready; it is reused for each message.
type Fields struct {
	List  []Field
	Most  int // limit of the lines, set before Parse; zero: DefaultFields
	count [known]uint16
	first [known]uint16 // index of the first line of each kind
}

func (f *Fields) reset() {
	f.List = f.List[:0]
	f.count = [known]uint16{}
}

// Has reports whether there is such a line.
func (f *Fields) Has(id ID) bool { return f.count[id] > 0 }

// Value returns the value of the first such line, or nil.
func (f *Fields) Value(id ID) []byte {
	if f.count[id] == 0 {
		return nil
	}
	return f.List[f.first[id]].Value
}

// Only returns the value of the only line of a name, in lower case. It returns nil if there is
// none, or more than one.
func (f *Fields) Only(name string) []byte {
	var value []byte
	for i := range f.List {
		if Equal(f.List[i].Name, name) {
			if value != nil {
				return nil
			}
			value = f.List[i].Value
		}
	}
	return value
}

// Own reports whether a field belongs to the gateway, so that no route may set it.
func Own(name string) bool {
	id := lookup([]byte(name))
	return id != Other && id != ClientIP && id != ClaimedURL
}

// HasOption reports whether one of these lines, read as one list, contains an option.
func (f *Fields) HasOption(id ID, lowered string) bool {
	if f.count[id] == 0 {
		return false
	}
	for i := range f.List {
		if f.List[i].ID == id && HasOption(f.List[i].Value, lowered) {
			return true
		}
	}
	return false
}

// parse reads the lines up to the empty one, and returns their length. Zero means that more is
// needed.
func (f *Fields) parse(text []byte) (int, error) {
	most := f.Most
	if most == 0 {
		most = DefaultFields
	}
	at := 0
	for {
		line, next, err := cutLine(text, at)
		if err != nil {
			return 0, err
		}
		if next == 0 {
			return 0, nil
		}
		if len(line) == 0 {
			return next, nil
		}
		at = next
		if len(f.List) == most {
			return 0, &Refusal{431, "too many header fields"}
		}
		if err := f.add(line); err != nil {
			return 0, err
		}
	}
}

// cutLine finds the line at a position. next is zero if its end has not arrived.
func cutLine(text []byte, at int) (line []byte, next int, err error) {
	length := bytes.IndexByte(text[at:], '\n')
	if length < 0 {
		return nil, 0, nil
	}
	if length == 0 || text[at+length-1] != '\r' {
		return nil, 0, bad("a line ends in a bare LF")
	}
	return text[at : at+length-1], at + length + 1, nil
}

func (f *Fields) add(line []byte) error {
	colon := 0
	for colon < len(line) && classes[line[colon]]&tokenByte != 0 {
		colon++
	}
	if colon == 0 || colon == len(line) || line[colon] != ':' {
		return lineFault(line, colon)
	}
	value := trim(line[colon+1:])
	if !allOfClass(value, valueByte) {
		return bad("a field value contains a control character")
	}
	field := Field{Name: line[:colon], Value: value, ID: lookup(line[:colon])}
	if field.ID != Other {
		if f.count[field.ID] == 0 {
			f.first[field.ID] = uint16(len(f.List))
		}
		f.count[field.ID]++
	}
	f.List = append(f.List, field)
	return nil
}

// lineFault returns what is wrong with a line that is no field.
func lineFault(line []byte, colon int) error {
	switch {
	case line[0] == ' ' || line[0] == '\t':
		return bad("a field is folded over lines (obs-fold)")
	case colon == len(line):
		return bad("a line without a colon")
	case colon == 0 && line[0] == ':':
		return bad("a field without a name")
	case line[colon] == ' ' || line[colon] == '\t':
		return bad("white space before the colon of a field")
	case line[colon] == '\r':
		return bad("a bare CR")
	}
	return bad("a field name contains an invalid character")
}

// dropNamed marks the fields that Connection names. Those that all recipients need, such as Host,
// stay (RFC 9110, 7.6.1).
func (f *Fields) dropNamed() error {
	if f.count[Connection] == 0 {
		return nil
	}
	options := 0
	for i := range f.List {
		if f.List[i].ID != Connection {
			continue
		}
		for name, rest := option(f.List[i].Value); len(name) > 0; name, rest = option(rest) {
			if Equal(name, "close") || Equal(name, "keep-alive") {
				continue
			}
			if options++; options > maxOptions {
				return bad("Connection names too many fields")
			}
			for j := range f.List {
				field := &f.List[j]
				if len(field.Name) == len(name) && bytes.EqualFold(field.Name, name) &&
					!needed(field.ID) {
					field.dropped = true
				}
			}
		}
	}
	return nil
}

func needed(id ID) bool {
	switch id {
	case Host,
		Forwarded,
		XForwardedFor,
		XForwardedHost,
		XForwardedProto,
		ClientIP,
		ClaimedURL,
		Date,
		Expect:
		return true
	}
	return false
}
