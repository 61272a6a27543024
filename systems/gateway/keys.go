package main

import (
	"context"
	"log"
	"time"

	"faceoff/systems/gateway/config"
	"faceoff/systems/gateway/guard"
	"faceoff/systems/gateway/route"
)

// ring keeps the keys of tokens as they are where they come from, for the routes in force.
type ring struct {
	logger *log.Logger
	end    context.CancelFunc // of asking for those of the routes before
}

// source is where keys come from, for however many routes, and how often they are asked for.
type source struct {
	url   string
	every time.Duration
}

// follow asks for the keys of these routes from now on, and no longer for those of others.
func (k *ring) follow(routes []*route.Route) {
	k.stop()
	var ctx context.Context
	ctx, k.end = context.WithCancel(context.Background())
	all := map[source][]*guard.Token{}
	for _, one := range routes {
		if g := one.Guard; g != nil && g.Token != nil && g.Token.URL != "" {
			from := source{g.Token.URL, g.Token.Every}
			all[from] = append(all[from], g.Token)
		}
	}
	for from, tokens := range all {
		go k.ask(ctx, from, tokens)
	}
}

func (k *ring) stop() {
	if k.end != nil {
		k.end()
	}
}

// ask keeps the keys of the tokens that have them from there. What cannot be had, or is no set of keys, leaves those that there are.
func (k *ring) ask(ctx context.Context, from source, tokens []*guard.Token) {
	ticker := time.NewTicker(from.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if ctx.Err() != nil { // both were due
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
			k.logger.Printf("the keys of %s are others now", from.url)
		}
	}
}
