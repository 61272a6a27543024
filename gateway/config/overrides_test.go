// `-set` on the command line.

package config

import (
	"strings"
	"testing"
	"time"
)

func TestCommandLineOverridesFile(t *testing.T) {
	c, err := parse("f", []byte(whole), 1000, 1, known,
		"upstreams.products.retries=0%", "upstreams.products.eject={after: 0}", "upstreams.others.timeouts.answer=7s", "upstreams.others.http2=true", "routes.0.path=/else", "routes.0.compress={above: 2KB}", "routes.1.compress={types: [Text/*]}", "via=", "workers=3")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := c.Text(); err != nil || !strings.Contains(string(text), "retries: 0%") || !strings.Contains(string(text), "path: /else") {
		t.Errorf("the configuration in force is shown as %s, %v", text, err)
	}
	products, others := c.Upstreams[0], c.Upstreams[1]
	if products.Retries != 0 || products.Failures != 0 || products.Shed || products.Queue != 7 {
		t.Errorf("%+v", products)
	}
	if one, other := c.Routes[0].Compress, c.Routes[1].Compress; one.Above != 2<<10 || len(one.Types) < 2 || other.Above != 1<<10 || len(other.Types) != 1 || other.Types[0] != "text/*" || c.Routes[2].Compress != nil {
		t.Errorf("%+v, %+v", one, other)
	}
	if !others.HTTP2 || products.HTTP2 || others.Answer != 7*time.Second || others.Connect != 10*time.Second || c.Routes[0].Path != "/else" || c.Server.Via != "" || c.Server.Workers != 3 {
		t.Errorf("%+v, %+v", others, c)
	}
}

func TestInvalidOverridesAreReported(t *testing.T) {
	for _, c := range []struct{ setting, want string }{
		{"workers", "f:1: the setting \"workers\" is not of the form"},
		{"=3", "the setting \"=3\" is not of the form"},
		{"workers=[", "the value of the setting \"workers=[\""},
		{"workers=x", "f:3: `workers` is \"x\""},
		{"upstreams.products.timeouts=1s", "f:18: `upstreams.products.timeouts` is not a table"},
		{"upstreams.products.balance.x=1", "f:12: nothing can be set at \"upstreams.products.balance.x\": there is no `x`"},
		{"upstreams.product.retries=0%", "`upstreams.product.servers` is missing"},
		{"upstreams.products.queu=1", "hint: did you mean `queue`?"},
		{"routes.3.path=/", "there is no `3`"},
		{"routes.-1.path=/", "there is no `-1`"},
		{"upstreams.products.servers.0=here", "f:11: \"here\" is not a server"},
	} {
		_, err := parse("f", []byte(whole), 1000, 1, known, c.setting)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "hint: ") {
			t.Errorf("%s: %v\nwant %s", c.setting, err, c.want)
		}
	}
}
