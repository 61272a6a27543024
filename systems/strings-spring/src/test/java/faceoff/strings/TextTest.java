package faceoff.strings;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;

import org.junit.jupiter.api.Test;

class TextTest {

    @Test
    void knowsWhatIsUnicode() {
        assertThat(Text.isWellFormed("")).isTrue();
        assertThat(Text.isWellFormed("crème 😀")).isTrue();
        assertThat(Text.isWellFormed("a\ud800b")).isFalse();
        assertThat(Text.isWellFormed("a\udc00")).isFalse();
        assertThat(Text.isWellFormed("a\ufffd")).isFalse();
    }

    @Test
    void countsCodePoints() {
        assertThat(Text.count("a😀b")).isEqualTo(3);
        assertThat(Text.uppercase("crème brûlée")).isEqualTo("CRÈME BRÛLÉE");
    }

    @Test
    void eachRoundOfTheChecksumGoesOnFromTheOneBefore() {
        assertThat(Text.generate(28)).isEqualTo("abcdefghijklmnopqrstuvwxyzab");
        CRC32 whole = new CRC32();
        whole.update("edcbaedcbaedcba".getBytes(StandardCharsets.US_ASCII));
        assertThat(Text.checksum(Text.generate(5), 3)).isEqualTo("%08x".formatted(whole.getValue()));
        assertThat(Text.checksum("", 1000)).isEqualTo("00000000");
    }
}
