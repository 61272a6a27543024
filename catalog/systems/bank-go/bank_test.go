package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// memory keeps accounts without a database; `faceoff check` tests the statements with PostgreSQL.
type memory struct {
	mutex        sync.Mutex
	clients      int32
	transactions []transaction
	broken       bool
	noOverdraft  bool
}

var errBroken = errors.New("no connection")

func (m *memory) add(t transaction) transaction {
	t.ID = int32(len(m.transactions)) + 1
	m.transactions = append(m.transactions, t)
	return t
}

func (m *memory) newClient(_ context.Context, balance int32) (client, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.broken {
		return client{}, errBroken
	}
	m.clients++
	m.add(transaction{To: m.clients, Amount: balance})
	return client{ID: m.clients}, nil
}

func (m *memory) transfer(_ context.Context, t transaction) (transaction, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.broken {
		return t, errBroken
	}
	if m.noOverdraft && (t.From > m.clients || m.sum(t.From) < int64(t.Amount)) {
		return t, errOverdraft
	}
	return m.add(t), nil
}

func (m *memory) balance(_ context.Context, id int32) (int64, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.sum(id), nil
}

func (m *memory) sum(id int32) (sum int64) {
	for _, t := range m.transactions {
		if t.To == id {
			sum += int64(t.Amount)
		}
		if t.From == id {
			sum -= int64(t.Amount)
		}
	}
	return sum
}

func (m *memory) close() {}

func ask(t *testing.T, bank http.Handler, method, path, body string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	bank.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	if kind := w.Header().Get("Content-Type"); kind != "application/json" {
		t.Errorf("%s %s: content-type %q", method, path, kind)
	}
	return w.Code, w.Body.String()
}

func want(t *testing.T, bank http.Handler, method, path, body string, status int, answer string) {
	t.Helper()
	if code, got := ask(t, bank, method, path, body); code != status || got != answer {
		t.Errorf("%s %s %s: %d %s; want %d %s", method, path, body, code, got, status, answer)
	}
}

func TestTransfersChangeBalances(t *testing.T) {
	bank := newBank(&memory{})
	want(t, bank, "POST", "/client/new/100", "", 200, `{"id":1,"name":"","email":"","phone":""}`)
	want(t, bank, "POST", "/client/new/0", "", 200, `{"id":2,"name":"","email":"","phone":""}`)
	want(t, bank, "POST", "/transaction", `{"from_client_id":1,"to_client_id":2,"amount":130}`, 200,
		`{"id":3,"from_client_id":1,"to_client_id":2,"amount":130}`)
	want(t, bank, "GET", "/client/1/balance", "", 200, `{"balance":-30}`)
	want(t, bank, "GET", "/client/2/balance", "", 200, `{"balance":130}`)
	want(t, bank, "GET", "/client/3/balance", "", 200, `{"balance":0}`)
}

func TestBadInputChangesNothing(t *testing.T) {
	accounts := &memory{}
	bank := newBank(accounts)
	for _, path := range []string{"/client/new/-1", "/client/new/1.5", "/client/new/x",
		"/client/new/+1", "/client/new/2147483648", "/client/new/99999999999999999999"} {
		want(t, bank, "POST", path, "", 400, `{"error":"Bad Request"}`)
	}
	for _, body := range []string{
		"", "x", "[]", "{}", "null",
		`{"from_client_id":1,"to_client_id":2}`,
		`{"from_client_id":1,"to_client_id":2,"amount":0}`,
		`{"from_client_id":1,"to_client_id":2,"amount":-5}`,
		`{"from_client_id":1,"to_client_id":2,"amount":1.5}`,
		`{"from_client_id":1,"to_client_id":2,"amount":"5"}`,
		`{"from_client_id":1,"to_client_id":2,"amount":2147483648}`,
		`{"from_client_id":0,"to_client_id":2,"amount":5}`,
		`{"from_client_id":1,"to_client_id":0,"amount":5}`,
		`{"from_client_id":1,"to_client_id":1,"amount":5}`,
		`{"from_client_id":1,"to_client_id":2,"amount":5} more`,
		`{"from_client_id":1,"to_client_id":2,"amount":5}}`,
		`{"from_client_id":1,"to_client_id":2,"amount":5}]`,
		`{"from_client_id":1,"to_client_id":2,"Amount":5}`,
		`{"from_client_id":1,"to_client_id":2,"amount":5` + strings.Repeat(" ", bodyMost) + `}`,
	} {
		want(t, bank, "POST", "/transaction", body, 400, `{"error":"Bad Request"}`)
	}
	for _, path := range []string{"/client/0/balance", "/client/x/balance", "/client/-1/balance"} {
		want(t, bank, "GET", path, "", 400, `{"error":"Bad Request"}`)
	}
	want(t, bank, "GET", "/transaction", "", 405, `{"error":"Method Not Allowed"}`)
	want(t, bank, "GET", "/", "", 404, `{"error":"Not Found"}`)
	if accounts.clients != 0 || len(accounts.transactions) != 0 {
		t.Errorf("something was stored: %+v", accounts)
	}
}

func TestAnOverdraftIs409IfRefused(t *testing.T) {
	bank := newBank(&memory{noOverdraft: true})
	want(t, bank, "POST", "/client/new/100", "", 200, `{"id":1,"name":"","email":"","phone":""}`)
	want(t, bank, "POST", "/transaction", `{"from_client_id":1,"to_client_id":2,"amount":101}`, 409,
		`{"error":"Conflict"}`)
	want(t, bank, "POST", "/transaction", `{"from_client_id":1,"to_client_id":2,"amount":100}`, 200,
		`{"id":2,"from_client_id":1,"to_client_id":2,"amount":100}`)
	// Client 2 was paid, but never created.
	want(t, bank, "POST", "/transaction", `{"from_client_id":2,"to_client_id":1,"amount":1}`, 409,
		`{"error":"Conflict"}`)
	want(t, bank, "POST", "/transaction", `{"from_client_id":3,"to_client_id":1,"amount":1}`, 409,
		`{"error":"Conflict"}`)
}

// number is a row with one number.
type number int64

func (n number) Scan(to ...any) error {
	switch to := to[0].(type) {
	case *int64:
		*to = int64(n)
	case *int32:
		*to = int32(n)
	}
	return nil
}

func TestAPayerWithoutARowIsRefused(t *testing.T) {
	for _, c := range []struct {
		clients, balance int64
		err              error
		asked            []string
	}{
		{clients: 1, balance: 5, asked: []string{lockClient, selectBalance, insertTransaction}},
		{clients: 1, balance: 4, err: errOverdraft, asked: []string{lockClient, selectBalance}},
		{clients: 0, balance: 5, err: errOverdraft, asked: []string{lockClient}},
	} {
		var asked []string
		answers := map[string]number{lockClient: number(c.clients),
			selectBalance: number(c.balance), insertTransaction: 7}
		err := pay(&transaction{From: 1, To: 2, Amount: 5},
			func(statement string, _ ...any) interface{ Scan(...any) error } {
				asked = append(asked, statement)
				return answers[statement]
			})
		if !errors.Is(err, c.err) || !slices.Equal(asked, c.asked) {
			t.Errorf("%+v: %v after %v", c, err, asked)
		}
	}
}

func TestWithoutItsDatabaseItResponds500(t *testing.T) {
	bank := newBank(&memory{broken: true})
	want(t, bank, "POST", "/client/new/1", "", 500, `{"error":"Internal Server Error"}`)
	want(t, bank, "POST", "/transaction", `{"from_client_id":1,"to_client_id":2,"amount":1}`, 500,
		`{"error":"Internal Server Error"}`)
}

func TestAMissingDatabaseIsAnError(t *testing.T) {
	closed := "postgres://a:b@127.0.0.1:1/c?sslmode=disable"
	for _, keep := range []keep{keepDefault, keepPerCall, keepPool, keepPgx} {
		for _, noOverdraft := range []bool{false, true} {
			store, err := open(t.Context(),
				settings{database: closed, keep: keep, pool: 1, noOverdraft: noOverdraft})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := store.newClient(t.Context(), 1); err == nil {
				t.Errorf("%s: a client without a database", keep)
			}
			if _, err := store.transfer(t.Context(),
				transaction{From: 1, To: 2, Amount: 1}); err == nil ||
				errors.Is(err, errOverdraft) {
				t.Errorf("%s: a transfer without a database: %v", keep, err)
			}
			store.close()
		}
	}
}

func TestInvalidSettingsAreErrors(t *testing.T) {
	for _, args := range [][]string{{"more"}, {"-connections", "many"}, {"-connections", "pool"},
		{"-pool", "3"}, {"-connections", "pool", "-pool", "-1"}} {
		if s, err := parse(args, "postgres://a@b/c", io.Discard); err == nil {
			t.Errorf("%v: %+v", args, s)
		}
	}
	if s, err := parse(nil, "", io.Discard); err == nil {
		t.Errorf("without a database: %+v", s)
	}
}
