package main

import (
	"hash/crc32"
	"testing"
)

func TestUnicodeIsRecognised(t *testing.T) {
	for text, right := range map[string]bool{"": true, "crème 😀": true, "a\ufffd": false} {
		if isWellFormed(text) != right {
			t.Errorf("isWellFormed(%q) is %v", text, !right)
		}
	}
}

func TestTextsAreCountedByCodePoints(t *testing.T) {
	if n := count("a😀b"); n != 3 {
		t.Errorf("counted %d", n)
	}
	if upper := uppercase("crème brûlée"); upper != "CRÈME BRÛLÉE" {
		t.Errorf("%q", upper)
	}
}

func TestEachRoundContinuesTheChecksum(t *testing.T) {
	if text := generate(28); text != "abcdefghijklmnopqrstuvwxyzab" {
		t.Errorf("%q", text)
	}
	if got, whole := checksum(generate(5),
		3), crc32.ChecksumIEEE([]byte("edcbaedcbaedcba")); got != whole {
		t.Errorf("%08x instead of %08x", got, whole)
	}
	if got := checksum("", 1000); got != 0 {
		t.Errorf("%08x", got)
	}
}
