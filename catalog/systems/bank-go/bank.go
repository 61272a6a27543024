package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"

	"github.com/gorilla/mux"
)

// bodyMost is the maximum length of a body.
const bodyMost = 64 << 10

type client struct {
	ID    int32  `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
	Phone string `json:"phone"`
}

type transaction struct {
	ID     int32 `json:"id"`
	From   int32 `json:"from_client_id"`
	To     int32 `json:"to_client_id"`
	Amount int32 `json:"amount"`
}

// transferBody is the request. An id in it is ignored, because the database assigns one.
// encoding/json ignores case: the first three fields receive other spellings, and are ignored.
type transferBody struct {
	OtherFrom   json.RawMessage `json:"FROM_CLIENT_ID"`
	OtherTo     json.RawMessage `json:"TO_CLIENT_ID"`
	OtherAmount json.RawMessage `json:"AMOUNT"`
	From        int32           `json:"from_client_id"`
	To          int32           `json:"to_client_id"`
	Amount      int32           `json:"amount"`
}

// store has the accounts.
type store interface {
	// newClient stores a client together with its opening balance, a transaction.
	newClient(ctx context.Context, balance int32) (client, error)
	// transfer stores a transfer, or returns errOverdraft.
	transfer(ctx context.Context, t transaction) (transaction, error)
	balance(ctx context.Context, id int32) (int64, error)
	close()
}

type bank struct{ store store }

func newBank(s store) http.Handler {
	b := bank{s}
	router := mux.NewRouter()
	router.HandleFunc("/client/new/{balance}", b.newClient).Methods(http.MethodPost)
	router.HandleFunc("/transaction", b.transfer).Methods(http.MethodPost)
	router.HandleFunc("/client/{id}/balance", b.balance).Methods(http.MethodGet, http.MethodHead)
	router.NotFoundHandler = failing(http.StatusNotFound)
	router.MethodNotAllowedHandler = failing(http.StatusMethodNotAllowed)
	return router
}

func (b bank) newClient(w http.ResponseWriter, r *http.Request) {
	balance, ok := whole(mux.Vars(r)["balance"], 0)
	if !ok {
		answerError(w, http.StatusBadRequest)
		return
	}
	made, err := b.store.newClient(r.Context(), balance)
	answer(w, made, err)
}

func (b bank) transfer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, bodyMost+1))
	if err != nil || len(body) > bodyMost {
		answerError(w, http.StatusBadRequest)
		return
	}
	var asked transferBody
	if json.Unmarshal(body, &asked) != nil || asked.From < 1 || asked.To < 1 ||
		asked.From == asked.To || asked.Amount < 1 {
		answerError(w, http.StatusBadRequest)
		return
	}
	made, err := b.store.transfer(r.Context(),
		transaction{From: asked.From, To: asked.To, Amount: asked.Amount})
	answer(w, made, err)
}

func (b bank) balance(w http.ResponseWriter, r *http.Request) {
	id, ok := whole(mux.Vars(r)["id"], 1)
	if !ok {
		answerError(w, http.StatusBadRequest)
		return
	}
	balance, err := b.store.balance(r.Context(), id)
	answer(w, map[string]int64{"balance": balance}, err)
}

// whole reads a whole number of digits only, from least to the maximum of a column.
func whole(text string, least int64) (int32, bool) {
	for _, digit := range []byte(text) {
		if digit < '0' || digit > '9' {
			return 0, false
		}
	}
	number, err := strconv.ParseInt(text, 10, 64)
	return int32(number), err == nil && number >= least && number <= math.MaxInt32
}

func answer(w http.ResponseWriter, value any, err error) {
	if errors.Is(err, errOverdraft) {
		answerError(w, http.StatusConflict)
		return
	}
	if err != nil {
		answerError(w, http.StatusInternalServerError)
		return
	}
	body, err := json.Marshal(value)
	if err != nil {
		answerError(w, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

// answerError sends a status, in the form of all errors.
func answerError(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":"%s"}`, http.StatusText(status))
}

func failing(status int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answerError(w, status) })
}
