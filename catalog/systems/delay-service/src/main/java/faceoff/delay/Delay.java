package faceoff.delay;

import java.time.Duration;
import java.util.regex.Pattern;

/** The delay of a response, from the path: whole milliseconds, at most a minute. */
record Delay(Duration duration) {

    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,5}");
    private static final int MOST_MS = 60_000;

    /** Converts a path variable; Spring calls it. */
    public static Delay valueOf(String text) {
        if (!NUMBER.matcher(text).matches() || Integer.parseInt(text) > MOST_MS) {
            throw new IllegalArgumentException("not a whole number from 0 to " + MOST_MS + ": "
                    + text);
        }
        return new Delay(Duration.ofMillis(Integer.parseInt(text)));
    }
}
