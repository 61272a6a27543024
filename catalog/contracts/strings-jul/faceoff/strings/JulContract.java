package faceoff.strings;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.http.HttpRequest.BodyPublishers;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

import org.junit.jupiter.api.Test;

/** The tests of services that log with java.util.logging. */
abstract class JulContract extends StringsContract {

    @Test
    void writesALineForEachRequestOnlyOnDemand() throws Exception {
        assertEquals(0, linesOfARequest(false));
        assertEquals(1, linesOfARequest(true));
    }

    private long linesOfARequest(boolean isLogged) throws Exception {
        List<String> lines = new CopyOnWriteArrayList<>();
        Handler handler = new Handler() {

            @Override
            public void publish(LogRecord record) {
                lines.add(record.getMessage());
            }

            @Override
            public void flush() {
            }

            @Override
            public void close() {
            }
        };
        try (Service service = start(isLogged)) {
            Logger.getLogger("").addHandler(handler);
            count(service, BodyPublishers.ofString("{\"s\":\"hello\"}"));
        } finally {
            Logger.getLogger("").removeHandler(handler);
        }
        return lines.stream().filter(line -> line.contains("/count")).count();
    }
}
