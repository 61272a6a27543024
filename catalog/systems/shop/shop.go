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
	// fromHere on, the failing server of reviews has lost its data.
	fromHere = 100

	stockTimeout = time.Second
	stockMost    = 1 << 10 // maximum bytes of a response of stock
)

// services are orders, stock, and both servers of reviews, in the order of their addresses. When
// ending is done, requests that hang are aborted.
func services(first netip.AddrPort, ending context.Context) []http.Handler {
	stock := netip.AddrPortFrom(first.Addr().Next(), first.Port())
	return []http.Handler{newOrders("http://" + stock.String()), newStock(),
		newReviews(false, ending), newReviews(true, ending)}
}

// newOrders responds with the response of stock, at this URL.
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

// ask returns the response of a service, unless it fails.
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
	return serve("/stock/{n}",
		func(w http.ResponseWriter, r *http.Request, n uint64) { answer(w, `{"article":%d}`, n) })
}

// newReviews responds as the path says: always (`well`), or, in a server that fails, only before
// fromHere. From there on it closes the connection (`breaks-off`) or sends nothing (`hangs`).
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
			case <-r.Context().Done(): // the client is gone
			case <-ending.Done():
			}
		}
		panic(http.ErrAbortHandler) // ends the connection without a log line
	})
}

// serve responds to GET at a path whose {n} is a number.
func serve(path string,
	handle func(w http.ResponseWriter, r *http.Request, n uint64)) http.Handler {
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
	mux.HandleFunc("/",
		func(w http.ResponseWriter, _ *http.Request) { answerError(w, http.StatusNotFound) })
	return mux
}

func answer(w http.ResponseWriter, format string, values ...any) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, format, values...)
}

// answerError sends a status, in the form of all errors.
func answerError(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":"%s"}`, http.StatusText(status))
}
