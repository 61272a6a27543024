package faceoff.strings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;

import org.junit.jupiter.api.Test;

class TextTest {

    @Test
    void knowsWhatIsUnicode() {
        assertTrue(Text.isWellFormed(""));
        assertTrue(Text.isWellFormed("crème 😀"));
        assertFalse(Text.isWellFormed("a\ud800b"));
        assertFalse(Text.isWellFormed("a\udc00"));
        assertFalse(Text.isWellFormed("a\ufffd"));
    }

    @Test
    void countsCodePoints() {
        assertEquals(3, Text.count("a😀b"));
        assertEquals("CRÈME BRÛLÉE", Text.uppercase("crème brûlée"));
    }

    @Test
    void eachRoundOfTheChecksumGoesOnFromTheOneBefore() {
        assertEquals("abcdefghijklmnopqrstuvwxyzab", Text.generate(28));
        CRC32 whole = new CRC32();
        whole.update("edcbaedcbaedcba".getBytes(StandardCharsets.US_ASCII));
        assertEquals("%08x".formatted(whole.getValue()), Text.checksum(Text.generate(5), 3));
        assertEquals("00000000", Text.checksum("", 1000));
    }
}
