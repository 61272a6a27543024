package faceoff.strings;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.logging.ConsoleHandler;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;

/**
 * Hands records to a thread of its own, which writes them to the console, as java.util.logging has
 * nothing of the kind. It loses none: when too many lines wait, their writers wait too.
 */
public final class AsyncHandler extends Handler {

    private static final LogRecord END = new LogRecord(Level.OFF, "");

    private final Handler console = new ConsoleHandler();
    private final BlockingQueue<LogRecord> records = new ArrayBlockingQueue<>(8192);
    private final Thread writer = new Thread(this::write, "log");

    /** Starts the thread. */
    public AsyncHandler() {
        writer.setDaemon(true);
        writer.start();
    }

    @Override
    public void publish(LogRecord record) {
        if (isLoggable(record)) {
            put(record);
        }
    }

    private void put(LogRecord record) {
        try {
            records.put(record);
        } catch (InterruptedException stopping) {
            Thread.currentThread().interrupt();
        }
    }

    private void write() {
        try {
            for (LogRecord record = records.take(); record != END; record = records.take()) {
                console.publish(record);
            }
        } catch (InterruptedException stopping) {
            Thread.currentThread().interrupt();
        }
        console.flush();
    }

    @Override
    public void flush() {
        console.flush();
    }

    /** Writes the waiting lines. */
    @Override
    public void close() {
        put(END);
        try {
            writer.join(5000);
        } catch (InterruptedException stopping) {
            Thread.currentThread().interrupt();
        }
    }
}
