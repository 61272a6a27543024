package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
)

const (
	maxBody = 64 << 10 // bytes of a request's body
	maxSize = 64 << 10 // letters that are generated at most
	maxWork = 1000     // rounds of the checksum at most
)

// refusal is the response to a request that is not served.
type refusal struct {
	status  int
	Message string `json:"error"`
}

func (r *refusal) Error() string { return r.Message }

var (
	errBadRequest = &refusal{http.StatusBadRequest, "bad request"}
	errNotFound   = &refusal{http.StatusNotFound, "not found"}
	errNotAllowed = &refusal{http.StatusMethodNotAllowed, "method not allowed"}
	errTooLarge   = &refusal{http.StatusRequestEntityTooLarge, "too large"}
	errNotJSON    = &refusal{http.StatusUnsupportedMediaType, "unsupported media type"}
)

// newHandler is the whole service.
func newHandler(measured *metrics, log *requestLog) http.Handler {
	mux := http.NewServeMux()
	route := func(method, path string, handler http.Handler) {
		mux.Handle(method+" "+path, handler)
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", method)
			refuse(w, errNotAllowed)
		})
	}
	route("POST", "/uppercase", answer(handleUppercase))
	route("POST", "/count", answer(handleCount))
	route("GET", "/api/generated/{size}", answer(handleGenerated))
	route("GET", "/health", answer(handleHealth))
	route("GET", "/metrics", measured)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { refuse(w, errNotFound) })
	return http.MaxBytesHandler(observe(mux, measured, log), maxBody)
}

// answer writes what a handler returns.
type answer func(r *http.Request) (any, error)

func (handle answer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	value, err := handle(r)
	if err != nil {
		refuse(w, err)
		return
	}
	writeJSON(w, http.StatusOK, value)
}

func handleUppercase(r *http.Request) (any, error) {
	text, err := readText(r)
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, errBadRequest
	}
	return struct {
		V string `json:"v"`
	}{uppercase(text)}, nil
}

func handleCount(r *http.Request) (any, error) {
	text, err := readText(r)
	if err != nil {
		return nil, err
	}
	return struct {
		V int `json:"v"`
	}{count(text)}, nil
}

func handleGenerated(r *http.Request) (any, error) {
	size, err := parseBetween(r.PathValue("size"), 0, maxSize)
	if err != nil {
		return nil, err
	}
	work := 1
	if text := r.FormValue("work"); text != "" {
		if work, err = parseBetween(text, 1, maxWork); err != nil {
			return nil, err
		}
	}
	text := generate(size)
	return struct {
		S   string `json:"s"`
		CRC string `json:"crc"`
	}{text, fmt.Sprintf("%08x", checksum(text, work))}, nil
}

func handleHealth(*http.Request) (any, error) {
	return struct {
		Status string `json:"status"`
	}{"UP"}, nil
}

// textBody is the body {"s": "..."}. encoding/json ignores case: other spellings than "s" go into
// the first field, which is ignored.
type textBody struct {
	Other json.RawMessage `json:"S"`
	S     *string         `json:"s"`
}

// readText reads the text from a body.
func readText(r *http.Request) (string, error) {
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
		mediaType != "application/json" {
		return "", errNotJSON
	}
	body, err := io.ReadAll(r.Body)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return "", errTooLarge
	}
	var request textBody
	if err != nil || json.Unmarshal(body, &request) != nil || request.S == nil ||
		!isWellFormed(*request.S) {
		return "", errBadRequest
	}
	return *request.S, nil
}

func parseBetween(text string, least, most int) (int, error) {
	number, err := strconv.Atoi(text)
	if err != nil || number < least || number > most {
		return 0, errBadRequest
	}
	return number, nil
}

func refuse(w http.ResponseWriter, err error) {
	refused, known := errors.AsType[*refusal](err)
	if !known {
		refused = errBadRequest
	}
	writeJSON(w, refused.status, refused)
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // only texts and numbers are written
	}
	body.Truncate(body.Len() - 1) // the encoder ends a line
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	w.Write(body.Bytes())
}
