// A server on Go's net/http with every kind of response that the load generator must read.
//
// Each route of README.md is one handler in routes.
package main

import (
	"bytes"
	"flag"
	"io"
	"log"
	"net/http"
	"strconv"
)

func main() {
	port := flag.String("port", "0", "HTTP/1.1")
	tlsPort := flag.String("tls-port", "0", "HTTP/1.1 and HTTP/2 over TLS, by ALPN")
	h2cPort := flag.String("h2c-port", "0", "HTTP/2 by prior knowledge")
	cert := flag.String("cert", "", "certificate chain (PEM)")
	key := flag.String("key", "", "its key (PEM)")
	flag.Parse()

	server := func(port string) *http.Server {
		protocols := new(http.Protocols)
		protocols.SetHTTP1(true)
		protocols.SetHTTP2(true)
		protocols.SetUnencryptedHTTP2(true)
		return &http.Server{Addr: "127.0.0.1:" + port, Handler: routes(), Protocols: protocols}
	}
	go func() { log.Fatal(server(*port).ListenAndServe()) }()
	go func() { log.Fatal(server(*h2cPort).ListenAndServe()) }()
	log.Fatal(server(*tlsPort).ListenAndServeTLS(*cert, *key))
}

func routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /length/{n}", func(w http.ResponseWriter, r *http.Request) {
		body, ok := alphabet(w, r)
		if !ok {
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body)
	})
	mux.HandleFunc("GET /chunked/{n}", func(w http.ResponseWriter, r *http.Request) {
		if body, ok := alphabet(w, r); ok {
			pieces(w, body)
		}
	})
	mux.HandleFunc("GET /close/{n}", func(w http.ResponseWriter, r *http.Request) {
		body, ok := alphabet(w, r)
		if !ok {
			return
		}
		if r.ProtoMajor == 1 {
			// To net/http this means "until the connection closes". It does not send the header.
			w.Header().Set("Transfer-Encoding", "identity")
		}
		pieces(w, body)
	})
	mux.HandleFunc("GET /status/{n}", func(w http.ResponseWriter, r *http.Request) {
		status, err := strconv.Atoi(r.PathValue("n"))
		if err != nil || status < 200 || status > 599 {
			http.Error(w, "no such status", http.StatusNotFound)
			return
		}
		if status == http.StatusNotModified {
			// The length that a GET would have. No body follows.
			w.Header().Set("Content-Length", "1000")
		}
		w.WriteHeader(status)
	})
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body)
	})
	mux.HandleFunc("GET /trailers", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Checksum")
		pieces(w, pattern(1000))
		w.Header().Set("Checksum", "abc")
	})
	mux.HandleFunc("GET /early", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload; as=style")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Content-Length", "1000")
		w.Write(pattern(1000))
	})
	mux.HandleFunc("GET /keep-alive-off", func(w http.ResponseWriter, r *http.Request) {
		// In HTTP/2 this becomes a GOAWAY.
		w.Header().Set("Connection", "close")
		w.Header().Set("Content-Length", "1000")
		w.Write(pattern(1000))
	})
	return mux
}

func alphabet(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil || n < 0 || n > 10_000_000 {
		http.Error(w, "no such length", http.StatusNotFound)
		return nil, false
	}
	return pattern(n), true
}

func pattern(n int) []byte {
	return bytes.Repeat([]byte("abcdefghijklmnopqrstuvwxyz"), n/26+1)[:n]
}

// pieces sends a body in up to four parts and flushes each.
func pieces(w http.ResponseWriter, body []byte) {
	flusher := http.NewResponseController(w)
	flusher.Flush()
	for size := len(body)/4 + 1; len(body) > 0; {
		part := body[:min(size, len(body))]
		body = body[len(part):]
		w.Write(part)
		flusher.Flush()
	}
}
