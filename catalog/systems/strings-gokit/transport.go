package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/go-kit/kit/endpoint"
	httptransport "github.com/go-kit/kit/transport/http"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const maxBody = 64 << 10 // bytes of a request's body

type (
	textRequest       struct{ text string }
	generateRequest   struct{ size, work int }
	uppercaseResponse struct {
		V string `json:"v"`
	}
	countResponse struct {
		V int `json:"v"`
	}
	generateResponse struct {
		S   string `json:"s"`
		CRC string `json:"crc"`
	}
	healthResponse struct {
		Status string `json:"status"`
	}
	errorResponse struct {
		Error string `json:"error"`
	}
)

func uppercaseEndpoint(service stringService) endpoint.Endpoint {
	return func(_ context.Context, request any) (any, error) {
		v, err := service.Uppercase(request.(textRequest).text)
		return uppercaseResponse{v}, err
	}
}

func countEndpoint(service stringService) endpoint.Endpoint {
	return func(_ context.Context, request any) (any, error) {
		v, err := service.Count(request.(textRequest).text)
		return countResponse{v}, err
	}
}

func generateEndpoint(service stringService) endpoint.Endpoint {
	return func(_ context.Context, request any) (any, error) {
		asked := request.(generateRequest)
		text, crc, err := service.Generate(asked.size, asked.work)
		return generateResponse{text, fmt.Sprintf("%08x", crc)}, err
	}
}

func healthEndpoint(context.Context, any) (any, error) {
	return healthResponse{"UP"}, nil
}

// newHandler gives the service its paths.
func newHandler(service stringService, registry *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	route := func(method, path string, handler http.Handler) {
		mux.Handle(method+" "+path, handler)
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", method)
			_ = writeJSON(w, http.StatusMethodNotAllowed, errorResponse{"method not allowed"})
		})
	}
	server := func(e endpoint.Endpoint, decode httptransport.DecodeRequestFunc) http.Handler {
		return httptransport.NewServer(e, decode, encodeResponse,
			httptransport.ServerErrorEncoder(encodeError))
	}
	route("POST", "/uppercase", server(uppercaseEndpoint(service), decodeText))
	route("POST", "/count", server(countEndpoint(service), decodeText))
	route("GET", "/api/generated/{size}", server(generateEndpoint(service), decodeGenerate))
	route("GET", "/health", server(healthEndpoint, httptransport.NopRequestDecoder))
	route("GET", "/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		_ = writeJSON(w, http.StatusNotFound, errorResponse{"not found"})
	})
	return http.MaxBytesHandler(mux, maxBody)
}

// errNotJSON refuses a body that does not say it is JSON.
var errNotJSON = errors.New("unsupported media type")

// textBody is the body {"s": "..."}. encoding/json ignores case: other spellings than "s" go into
// the first field, which is ignored.
type textBody struct {
	Other json.RawMessage `json:"S"`
	S     *string         `json:"s"`
}

// decodeText reads the text from a body.
func decodeText(_ context.Context, r *http.Request) (any, error) {
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
		mediaType != "application/json" {
		return nil, errNotJSON
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var request textBody
	if json.Unmarshal(body, &request) != nil || request.S == nil {
		return nil, errBadRequest
	}
	return textRequest{*request.S}, nil
}

func decodeGenerate(_ context.Context, r *http.Request) (any, error) {
	size, err := strconv.Atoi(r.PathValue("size"))
	if err != nil {
		return nil, errBadRequest
	}
	work := 1
	if text := r.FormValue("work"); text != "" {
		if work, err = strconv.Atoi(text); err != nil {
			return nil, errBadRequest
		}
	}
	return generateRequest{size, work}, nil
}

func encodeResponse(_ context.Context, w http.ResponseWriter, response any) error {
	return writeJSON(w, http.StatusOK, response)
}

// encodeError responds to requests that endpoints and decoders refuse: the body is too large or of
// another type, or the request is bad.
func encodeError(_ context.Context, err error, w http.ResponseWriter) {
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		_ = writeJSON(w, http.StatusRequestEntityTooLarge, errorResponse{"too large"})
		return
	}
	if errors.Is(err, errNotJSON) {
		_ = writeJSON(w, http.StatusUnsupportedMediaType, errorResponse{errNotJSON.Error()})
		return
	}
	_ = writeJSON(w, http.StatusBadRequest, errorResponse{"bad request"})
}

func writeJSON(w http.ResponseWriter, status int, value any) error {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	body.Truncate(body.Len() - 1) // the encoder ends a line
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	_, err := w.Write(body.Bytes())
	return err
}
