package main

import "errors"

const (
	maxSize = 64 << 10 // letters that are generated at most
	maxWork = 1000     // rounds of the checksum at most
)

// stringService is the service without its transport.
type stringService interface {
	Uppercase(text string) (string, error)
	Count(text string) (int, error)
	Generate(size, work int) (text string, crc uint32, err error)
}

// errBadRequest is the caller's fault.
var errBadRequest = errors.New("bad request")

type plainService struct{}

func (plainService) Uppercase(text string) (string, error) {
	if text == "" || !isWellFormed(text) {
		return "", errBadRequest
	}
	return uppercase(text), nil
}

func (plainService) Count(text string) (int, error) {
	if !isWellFormed(text) {
		return 0, errBadRequest
	}
	return count(text), nil
}

func (plainService) Generate(size, work int) (string, uint32, error) {
	if size < 0 || size > maxSize || work < 1 || work > maxWork {
		return "", 0, errBadRequest
	}
	text := generate(size)
	return text, checksum(text, work), nil
}
