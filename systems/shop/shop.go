package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"time"
)

const (
	// fromHere on, the failing server of reviews has lost what it knew.
	fromHere = 100

	stockTimeout = time.Second
	stockMost    = 1 << 10 // bytes that stock may say
)

// services are orders, stock, and both servers of reviews, in the order of their addresses. When ending is done, what
// hangs lets go.
func services(first netip.AddrPort, ending context.Context) []http.Handler {
	stock := netip.AddrPortFrom(first.Addr().Next(), first.Port())
	return []http.Handler{newOrders("http://" + stock.String()), newStock(), newReviews(false, ending), newReviews(true, ending)}
}

// newOrders answers with what stock says, whose URL it is given.
func newOrders(stock string) http.Handler {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.MaxIdleConns = 0 // no limit
	transport.MaxIdleConnsPerHost = math.MaxInt
	client := &http.Client{Transport: transport, Timeout: stockTimeout}
	return serve("/orders/{n}", func(w http.ResponseWriter, r *http.Request, n uint64) {
		article, err := ask(r.Context(), client, fmt.Sprintf("%s/stock/%d", stock, n))
		if err != nil {
			answerError(w, http.StatusBadGateway)
			return
		}
		answer(w, `{"order":%d,"stock":%s}`, n, article)
	})
}

// ask returns what a service says, unless it is at a loss.
func ask(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", response.StatusCode)
	}
	said, err := io.ReadAll(io.LimitReader(response.Body, stockMost+1))
	if err == nil && len(said) > stockMost {
		err = fmt.Errorf("more than %d bytes", stockMost)
	}
	return said, err
}

func newStock() http.Handler {
	return serve("/stock/{n}", func(w http.ResponseWriter, r *http.Request, n uint64) { answer(w, `{"article":%d}`, n) })
}

// newReviews answers, as the path says, always (`well`), or in a server that fails only what comes before fromHere: from
// there on it ends the connection (`breaks-off`), or says nothing (`hangs`).
func newReviews(fails bool, ending context.Context) http.Handler {
	return serve("/reviews/{how}/{n}", func(w http.ResponseWriter, r *http.Request, n uint64) {
		how := r.PathValue("how")
		switch {
		case how != "well" && how != "breaks-off" && how != "hangs":
			answerError(w, http.StatusNotFound)
			return
		case !fails || how == "well" || n < fromHere:
			answer(w, `{"review":%d}`, n)
			return
		case how == "hangs":
			select {
			case <-r.Context().Done(): // whoever asked is gone
			case <-ending.Done():
			}
		}
		panic(http.ErrAbortHandler) // which ends the connection, and says so to nobody
	})
}

// serve answers GET at a path whose {n} is a number.
func serve(path string, handle func(w http.ResponseWriter, r *http.Request, n uint64)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.ParseUint(r.PathValue("n"), 10, 64)
		if err != nil {
			answerError(w, http.StatusBadRequest)
			return
		}
		handle(w, r, n)
	})
	mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", "GET, HEAD")
		answerError(w, http.StatusMethodNotAllowed)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { answerError(w, http.StatusNotFound) })
	return mux
}

func answer(w http.ResponseWriter, format string, values ...any) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, format, values...)
}

// answerError answers with a status, in the one form that errors have.
func answerError(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":"%s"}`, http.StatusText(status))
}
