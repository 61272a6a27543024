// Refreshing of token keys from a server that rotates them.

package main

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"faceoff/gateway/guard"
	"faceoff/gateway/route"
)

func TestKeysAreRefreshed(t *testing.T) {
	var now atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, now.Load()) }))
	defer server.Close()
	set := func(x string) string { return `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + x + `"}]}` }
	now.Store(set("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"))
	token, same := &guard.Token{URL: server.URL, Every: 5 * time.Millisecond}, &guard.Token{URL: server.URL, Every: 5 * time.Millisecond}
	var logged syncBuffer
	k := &keyRefresher{logger: log.New(&logged, "", 0)}
	// fetched once
	k.follow([]*route.Route{{}, {Guard: &guard.Guard{Token: &guard.Token{}}}, {Guard: &guard.Guard{Token: token}}, {Guard: &guard.Guard{Token: same}}})
	others := func(n int) func() bool {
		return func() bool { return strings.Count(logged.String(), "have changed") == n }
	}
	until(t, "the first keys", others(1))
	now.Store("nonsense")
	until(t, "the log line", func() bool {
		return strings.Contains(logged.String(), "stay as they were: it is not a JSON Web Key Set")
	})
	now.Store(set("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"))
	until(t, "other keys", others(2))
	if keys, err := guard.ParseKeys([]byte(set("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"))); err != nil || token.Rotate(keys) || same.Rotate(keys) {
		t.Errorf("not for both: %v", err)
	}

	next := &guard.Token{URL: server.URL, Every: 5 * time.Millisecond}
	k.follow([]*route.Route{{Guard: &guard.Guard{Token: next}}})
	until(t, "those of other routes", others(3))
	now.Store(set("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"))
	until(t, "the fetch", func() bool { return strings.Count(logged.String(), "have changed") >= 4 })
	time.Sleep(100 * time.Millisecond)
	if !others(4)() {
		t.Errorf("keys of removed routes are still fetched: %s", logged.String())
	}
	k.stop()
}
