// Limits on clients and slow readers.

package config

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"faceoff/gateway/proxy"
	"faceoff/gateway/wire"
)

// with parses a minimal file with additional lines.
func with(more string) (*Config, error) {
	return parse("f", []byte("listen: 127.0.0.1:8080\nupstreams: {a: {servers: [127.0.0.1:8081]}}\nroutes: [{upstream: a}]\n"+more), 1000, 1, known)
}

func TestSlowReaderLimitsAreRead(t *testing.T) {
	folder := t.TempDir()
	type limits struct {
		fields, answerFields int
		separators           bool
		busy, buffer, spill  int64
		folder               string
		shares               proxy.Shares
	}
	usual := limits{wire.DefaultFields, wire.DefaultFields, false, 16 << 10, 32 << 20, 0, "", proxy.Shares{Client: 0.875, Connection: 0.25}}
	for more, want := range map[string]limits{
		"":              usual,
		"paths: strict": usual,
		"limits: {busy: 0, buffer: 0, share: {client: 100%}}": {wire.DefaultFields, wire.DefaultFields, false, 0, 0, 0, "", proxy.Shares{Client: 1, Connection: 0.25}},
		"paths: separators\nlimits: {fields: {request: 8, answer: 10000}, spill: {folder: " + folder + ", size: 2GB}, share: {connection: 10%, client: 50%}}": {
			8, 10000, true, 16 << 10, 32 << 20, 2 << 30, folder, proxy.Shares{Client: 0.5, Connection: 0.1}},
	} {
		c, err := with(more)
		if err != nil {
			t.Errorf("%s: %v", more, err)
			continue
		}
		s := &c.Server
		if got := (limits{s.Fields, s.AnswerFields, s.Separators, s.Busy, s.Buffer, s.SpillSize, s.SpillFolder, c.Upstreams[0].Shares}); got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", more, got, want)
		}
	}
}

func TestInvalidLimitsHaveLineAndHint(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for more, want := range map[string]string{
		"paths: loose":                            "`paths` is \"loose\"\n  hint: write `strict` to refuse encoded slashes, or `separators`",
		"limits: {fields: {request: 7}}":          "`limits.fields.request` is \"7\"\n  hint: write a whole number from 8 to 10000",
		"limits: {fields: {answer: x}}":           "`limits.fields.answer` is \"x\"",
		"limits: {fields: 5}":                     "`limits.fields` is not a table",
		"limits: {busy: fast}":                    "`limits.busy` is \"fast\"",
		"limits: {buffer: -1}":                    "`limits.buffer` is \"-1\"",
		"limits: {spill: {size: 1KB}}":            "`limits.spill.size` is \"1KB\"",
		"limits: {spill: {folder: /no/such}}":     "`limits.spill.folder` is \"/no/such\", which is not a folder\n  hint: name an existing folder",
		"limits: {spill: {folder: " + file + "}}": "which is not a folder",
		"limits: {share: {client: 0%}}":           "`limits.share.client` is \"0%\"",
		"limits: {share: {connection: 2}}":        "`limits.share.connection` is \"2\"",
		"limits: {share: {address: 5%}}":          "`address` is not a key of `limits.share`",
	} {
		_, err := with(more)
		problems, ok := errors.AsType[*Problems](err)
		if !ok || len(problems.List) != 1 || problems.List[0].Line != 4 || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v", more, err)
		}
	}
}

func TestNetworksThatMapIPv4MatchIPv4(t *testing.T) {
	c, err := with("trusted: [\"::ffff:10.0.0.0/104\", \"::ffff:127.0.0.1\", \"::/0\", \"fe80::1%eth0\"]")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"10.0.0.0/8", "127.0.0.1/32", "::/0", "fe80::1/128"} {
		if got := c.Server.Trusted[i]; got != netip.MustParsePrefix(want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
