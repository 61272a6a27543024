package faceoff.strings;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Locale;
import java.util.zip.CRC32;

/** The functions of the service on texts. */
final class Text {

    private Text() {
    }

    /** Returns whether a text is what its sender wrote: some decoders replace bytes with U+FFFD. */
    static boolean isWellFormed(String text) {
        return text.codePoints()
                .noneMatch(c -> c == 0xFFFD || c >= Character.MIN_SURROGATE
                        && c <= Character.MAX_SURROGATE);
    }

    static String uppercase(String text) {
        return text.toUpperCase(Locale.ROOT);
    }

    static int count(String text) {
        return text.codePointCount(0, text.length());
    }

    /** Returns the first letters of the alphabet, over and over. */
    static String generate(int size) {
        byte[] letters = new byte[size];
        for (int i = 0; i < size; i++) {
            letters[i] = (byte) ('a' + i % 26);
        }
        return new String(letters, StandardCharsets.ISO_8859_1);
    }

    /** Upper-cases, lower-cases and reverses a text, and adds it to a CRC-32 in each round. */
    static String checksum(String text, int rounds) {
        String changed = text.toUpperCase(Locale.ROOT).toLowerCase(Locale.ROOT);
        byte[] result = new StringBuilder(changed).reverse().toString()
                .getBytes(StandardCharsets.UTF_8);
        CRC32 crc = new CRC32();
        for (int round = 0; round < rounds; round++) {
            crc.update(result);
        }
        return HexFormat.of().toHexDigits((int) crc.getValue());
    }
}
