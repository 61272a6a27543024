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

// follow asks for the keys of these routes from now on, and no longer for those of others.
func (k *ring) follow(routes []*route.Route) {
	k.stop()
	var ctx context.Context
	ctx, k.end = context.WithCancel(context.Background())
	for _, one := range routes {
		if one.Guard != nil && one.Guard.Token != nil && one.Guard.Token.URL != "" {
			go k.ask(ctx, one.Guard.Token)
		}
	}
}

func (k *ring) stop() {
	if k.end != nil {
		k.end()
	}
}

// ask keeps one token's keys. What cannot be had, or is no set of keys, leaves those that there are.
func (k *ring) ask(ctx context.Context, token *guard.Token) {
	ticker := time.NewTicker(token.Every)
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
		text, err := config.Fetch(token.URL)
		var keys []guard.Key
		if err == nil {
			keys, err = guard.ParseKeys(text)
		}
		switch {
		case err != nil:
			k.logger.Printf("the keys of %s stay as they were: %v", token.URL, err)
		case token.Rotate(keys):
			k.logger.Printf("the keys of %s are others now", token.URL)
		}
	}
}
