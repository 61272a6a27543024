package faceoff.strings;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.logging.Level;
import java.util.logging.LogRecord;

import org.junit.jupiter.api.Test;

class AsyncHandlerTest {

    @Test
    void losesNoRecord() {
        PrintStream console = System.err;
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        System.setErr(new PrintStream(written));
        try {
            AsyncHandler handler = new AsyncHandler();
            for (int i = 0; i < 20_000; i++) { // more than wait at once
                handler.publish(new LogRecord(Level.INFO, "a line"));
            }
            handler.close();
        } finally {
            System.setErr(console);
        }
        String text = written.toString(StandardCharsets.UTF_8);
        assertEquals(20_000, text.lines().filter(line -> line.contains("a line")).count());
    }
}
