package main

import (
	"hash/crc32"
	"slices"
	"strings"
	"unicode/utf8"
)

// isWellFormed reports whether text is what its sender wrote: the JSON decoder replaces bytes that
// are not Unicode with U+FFFD.
func isWellFormed(text string) bool {
	return !strings.ContainsRune(text, utf8.RuneError)
}

func uppercase(text string) string { return strings.ToUpper(text) }

func count(text string) int { return utf8.RuneCountInString(text) }

// generate returns the first size letters of the alphabet, over and over.
func generate(size int) string {
	letters := make([]byte, size)
	for i := range letters {
		letters[i] = 'a' + byte(i%26)
	}
	return string(letters)
}

// checksum upper-cases, lower-cases and reverses text, and adds the result to a CRC-32 in each
// round.
func checksum(text string, rounds int) uint32 {
	result := []byte(reverse(strings.ToLower(strings.ToUpper(text))))
	var crc uint32
	for range rounds {
		crc = crc32.Update(crc, crc32.IEEETable, result)
	}
	return crc
}

func reverse(text string) string {
	runes := []rune(text)
	slices.Reverse(runes)
	return string(runes)
}
