package faceoff.relay;

import java.util.regex.Pattern;

/**
 * How long the upstream is to take, as the path says it.
 *
 * @param ms a whole number of milliseconds, a minute at most
 */
record Delay(int ms) {

    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,5}");
    private static final int MOST_MS = 60_000;

    /** Converts a path variable; Spring calls it. */
    public static Delay valueOf(String text) {
        if (!NUMBER.matcher(text).matches() || Integer.parseInt(text) > MOST_MS) {
            throw new IllegalArgumentException("not a whole number from 0 to " + MOST_MS + ": "
                    + text);
        }
        return new Delay(Integer.parseInt(text));
    }
}
