package wire

import "bytes"

// ID names the fields that mean something to a proxy. All others are Other, and pass.
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
	known // how many there are
)

var names = [known]string{
	Host: "host", Connection: "connection", ContentLength: "content-length", TransferEncoding: "transfer-encoding",
	Upgrade: "upgrade", TE: "te", Trailer: "trailer", Expect: "expect", KeepAlive: "keep-alive",
	ProxyConnection: "proxy-connection", ProxyAuthenticate: "proxy-authenticate", ProxyAuthorization: "proxy-authorization",
	Forwarded: "forwarded", XForwardedFor: "x-forwarded-for", XForwardedHost: "x-forwarded-host",
	XForwardedProto: "x-forwarded-proto", Date: "date", HTTP2Settings: "http2-settings",
	MaxForwards: "max-forwards",
}

// byLength has the names of each length, as few candidates as that leaves.
var byLength = func() (table [32][]ID) {
	for id := Other + 1; id < known; id++ {
		n := len(names[id])
		table[n] = append(table[n], id)
	}
	return table
}()

func lookup(name []byte) ID {
	if len(name) < len(byLength) {
		for _, id := range byLength[len(name)] {
			if Equal(name, names[id]) {
				return id
			}
		}
	}
	return Other
}

// hop has the fields that end here whatever Connection says (RFC 9110, 7.6.1, and 11.7 for the credentials of a
// proxy). What of them is to go on is written anew.
var hop = func() (table [known]bool) {
	for _, id := range []ID{
		Connection, ContentLength, TransferEncoding, Upgrade, TE, KeepAlive, ProxyConnection, ProxyAuthenticate,
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

// EndsHere reports whether Connection names the field, so that it is for the next hop alone.
func (f *Field) EndsHere() bool { return f.dropped }

// maxFields is the most lines that a head or a trailer section may have.
const maxFields = 128

// maxOptions is the most fields that Connection may name: each is looked for among all.
const maxOptions = 32

// Fields are the lines of a head. The zero value is ready; it is reused from message to message.
type Fields struct {
	List  []Field
	count [known]uint8
	first [known]uint8 // place of the first line of each kind
}

func (f *Fields) reset() {
	f.List = f.List[:0]
	f.count = [known]uint8{}
}

// Has reports whether there is such a line.
func (f *Fields) Has(id ID) bool { return f.count[id] > 0 }

// Value is that of the first such line, nil without one.
func (f *Fields) Value(id ID) []byte {
	if f.count[id] == 0 {
		return nil
	}
	return f.List[f.first[id]].Value
}

// Only is the value of the only line of a name, in lower case; nil where there is none, or more than one.
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

// Own reports whether a field is the gateway's own business, and no route's.
func Own(name string) bool { return lookup([]byte(name)) != Other }

// HasOption reports whether any such line, all being one list, names an option.
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

// parse reads the lines of text up to the empty one. It returns how many bytes they and the empty line take, and zero
// where more is needed to tell.
func (f *Fields) parse(text []byte) (int, error) {
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
		if len(f.List) == maxFields {
			return 0, &Refusal{431, "too many header fields"}
		}
		if err := f.add(line); err != nil {
			return 0, err
		}
	}
}

// cutLine finds the line that begins at a place. next is zero where its end has not come yet.
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
	if !all(value, valueByte) {
		return bad("a field value contains a control character")
	}
	field := Field{Name: line[:colon], Value: value, ID: lookup(line[:colon])}
	if field.ID != Other {
		if f.count[field.ID] == 0 {
			f.first[field.ID] = uint8(len(f.List))
		}
		f.count[field.ID]++
	}
	f.List = append(f.List, field)
	return nil
}

// lineFault tells what is wrong with a line that is no field.
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
	return bad("a field name contains what no name may")
}

// dropNamed marks what the options of Connection name. Names that may not be nominated (RFC 9110, 7.6.1: what all
// recipients need), such as Host, stay.
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
				if len(field.Name) == len(name) && bytes.EqualFold(field.Name, name) && !needed(field.ID) {
					field.dropped = true
				}
			}
		}
	}
	return nil
}

func needed(id ID) bool {
	switch id {
	case Host, Forwarded, XForwardedFor, XForwardedHost, XForwardedProto, Date, Expect:
		return true
	}
	return false
}
