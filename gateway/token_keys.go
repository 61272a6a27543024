// Keys for JSON Web Tokens that come from a URL are fetched again at an interval, so that an issuer
// can rotate them without a reload. Start reading at keyRefresher.follow.

package main

import (
	"context"
	"log"
	"time"

	"faceoff/gateway/config"
	"faceoff/gateway/guard"
	"faceoff/gateway/route"
)

// keyRefresher fetches the keys for tokens again, for the routes in force.
type keyRefresher struct {
	logger *log.Logger
	end    context.CancelFunc // stops the fetching for earlier routes
}

// keySource is a URL with keys, and how often it is fetched.
type keySource struct {
	url   string
	every time.Duration
}

// follow fetches the keys of these routes from now on, and no others.
func (k *keyRefresher) follow(routes []*route.Route) {
	k.stop()
	var ctx context.Context
	ctx, k.end = context.WithCancel(context.Background())
	all := map[keySource][]*guard.Token{}
	for _, one := range routes {
		if g := one.Guard; g != nil && g.Token != nil && g.Token.URL != "" {
			from := keySource{g.Token.URL, g.Token.Every}
			all[from] = append(all[from], g.Token)
		}
	}
	for from, tokens := range all {
		go k.refresh(ctx, from, tokens)
	}
}

func (k *keyRefresher) stop() {
	if k.end != nil {
		k.end()
	}
}

// refresh updates the keys of tokens. If fetching or parsing fails, the current keys stay.
func (k *keyRefresher) refresh(ctx context.Context, from keySource, tokens []*guard.Token) {
	ticker := time.NewTicker(from.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if ctx.Err() != nil { // both channels were ready
			return
		}
		text, err := config.Fetch(ctx, from.url)
		if ctx.Err() != nil {
			return
		}
		var keys []guard.Key
		if err == nil {
			keys, err = guard.ParseKeys(text)
		}
		if err != nil {
			k.logger.Printf("the keys of %s stay as they were: %v", from.url, err)
			continue
		}
		others := false
		for _, token := range tokens {
			others = token.Rotate(keys) || others
		}
		if others {
			k.logger.Printf("the keys of %s have changed", from.url)
		}
	}
}
