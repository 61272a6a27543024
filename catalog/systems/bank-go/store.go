package main

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/lib/pq"
)

const (
	insertClient      = `INSERT INTO client (name, email, phone) VALUES ('', '', '') RETURNING id`
	insertTransaction = `INSERT INTO transaction (from_client_id, to_client_id, amount) VALUES ($1, $2, $3) RETURNING id`
	selectBalance     = `SELECT (SELECT coalesce(sum(amount), 0) FROM transaction WHERE to_client_id = $1)
	                          - (SELECT coalesce(sum(amount), 0) FROM transaction WHERE from_client_id = $1)`
	lockClient = `SELECT count(*) FROM (SELECT id FROM client WHERE id = $1 FOR UPDATE) AS payer`
)

// errOverdraft means that the payer has less than the amount, or does not exist.
var errOverdraft = errors.New("overdraft")

// pay stores a transfer that its payer can afford, within a transaction. ask runs its statements,
// each for one row.
func pay(t *transaction,
	ask func(statement string, values ...any) interface{ Scan(...any) error }) error {
	// The lock comes before the query of the balance: a statement that waits for a lock would still
	// see the earlier balance.
	var clients, balance int64
	if err := ask(lockClient, t.From).Scan(&clients); err != nil {
		return err
	}
	if clients == 0 {
		// Nothing was locked: two transfers could spend the same money.
		return errOverdraft
	}
	if err := ask(selectBalance, t.From).Scan(&balance); err != nil {
		return err
	}
	if balance < int64(t.Amount) {
		return errOverdraft
	}
	return ask(insertTransaction, t.From, t.To, t.Amount).Scan(&t.ID)
}

// open makes the store for the settings.
func open(ctx context.Context, s settings) (store, error) {
	if s.keep == keepPgx {
		pool, err := pgxpool.New(ctx, s.database)
		return pgxStore{pool, s.noOverdraft}, err
	}
	if s.keep == keepPerCall {
		return sqlStore{url: s.database, noOverdraft: s.noOverdraft}, nil
	}
	db, err := sql.Open("postgres", s.database)
	if err != nil {
		return nil, err
	}
	if s.keep == keepPool {
		db.SetMaxOpenConns(s.pool)
		db.SetMaxIdleConns(s.pool)
	}
	return sqlStore{db: db, noOverdraft: s.noOverdraft}, nil
}

// sqlStore uses database/sql and lib/pq; without a db it opens one for each call.
type sqlStore struct {
	db          *sql.DB
	url         string
	noOverdraft bool
}

// with lends a db for one call.
func (s sqlStore) with(call func(*sql.DB) error) error {
	if s.db != nil {
		return call(s.db)
	}
	db, err := sql.Open("postgres", s.url)
	if err != nil {
		return err
	}
	return errors.Join(call(db), db.Close())
}

// together runs statements in one transaction, which is stored if none of them fails.
func (s sqlStore) together(ctx context.Context, statements func(*sql.Tx) error) error {
	return s.with(func(db *sql.DB) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // does nothing once it is committed
		if err := statements(tx); err != nil {
			return err
		}
		return tx.Commit()
	})
}

func (s sqlStore) newClient(ctx context.Context, balance int32) (client, error) {
	var made client
	err := s.together(ctx, func(tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, insertClient).Scan(&made.ID); err != nil {
			return err
		}
		// The opening balance comes from client 0, the bank itself.
		var id int32
		return tx.QueryRowContext(ctx, insertTransaction, 0, made.ID, balance).Scan(&id)
	})
	return made, err
}

func (s sqlStore) transfer(ctx context.Context, t transaction) (transaction, error) {
	if s.noOverdraft {
		err := s.together(ctx, func(tx *sql.Tx) error {
			return pay(&t, func(statement string, values ...any) interface{ Scan(...any) error } {
				return tx.QueryRowContext(ctx, statement, values...)
			})
		})
		return t, err
	}
	err := s.with(func(db *sql.DB) error {
		return db.QueryRowContext(ctx, insertTransaction, t.From, t.To, t.Amount).Scan(&t.ID)
	})
	return t, err
}

func (s sqlStore) balance(ctx context.Context, id int32) (int64, error) {
	var balance int64
	err := s.with(
		func(db *sql.DB) error { return db.QueryRowContext(ctx, selectBalance, id).Scan(&balance) })
	return balance, err
}

func (s sqlStore) close() {
	if s.db != nil {
		_ = s.db.Close()
	}
}

// pgxStore uses pgx and its own pool.
type pgxStore struct {
	pool        *pgxpool.Pool
	noOverdraft bool
}

func (s pgxStore) newClient(ctx context.Context, balance int32) (client, error) {
	var made client
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, insertClient).Scan(&made.ID); err != nil {
			return err
		}
		var id int32
		return tx.QueryRow(ctx, insertTransaction, 0, made.ID, balance).Scan(&id)
	})
	return made, err
}

func (s pgxStore) transfer(ctx context.Context, t transaction) (transaction, error) {
	if s.noOverdraft {
		err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			return pay(&t, func(statement string, values ...any) interface{ Scan(...any) error } {
				return tx.QueryRow(ctx, statement, values...)
			})
		})
		return t, err
	}
	err := s.pool.QueryRow(ctx, insertTransaction, t.From, t.To, t.Amount).Scan(&t.ID)
	return t, err
}

func (s pgxStore) balance(ctx context.Context, id int32) (int64, error) {
	var balance int64
	err := s.pool.QueryRow(ctx, selectBalance, id).Scan(&balance)
	return balance, err
}

func (s pgxStore) close() { s.pool.Close() }
