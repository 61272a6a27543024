package main

import (
	"context"
	"os"
	"strconv"
	"sync/atomic"
)

// liar is a bank that responds correctly and does not always do what it says: the tests put it before
// the store of bank-go.
type liar struct {
	store
	lie   string
	every int64
	asked atomic.Int64
}

// lying reads from the environment what it lies about, and at how many of its transfers.
func lying(honest store) store {
	every, err := strconv.ParseInt(os.Getenv("LIE_EVERY"), 10, 64)
	if err != nil {
		panic(err)
	}
	return &liar{store: honest, lie: os.Getenv("LIE"), every: every}
}

func (l *liar) transfer(ctx context.Context, t transaction) (transaction, error) {
	if l.asked.Add(1)%l.every != 0 {
		return l.store.transfer(ctx, t)
	}
	switch l.lie {
	case "forgets":
		t.ID = 1
		return t, nil
	case "doubles":
		if first, err := l.store.transfer(ctx, t); err != nil {
			return first, err
		}
		return l.store.transfer(ctx, t)
	case "alters":
		other := t
		other.Amount += 4
		stored, err := l.store.transfer(ctx, other)
		stored.Amount = t.Amount
		return stored, err
	}
	panic("it lies about nothing known: " + l.lie)
}
