package faceoff.proxy;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;

/**
 * One request on its way through the proxy, as the {@link Watch} sees it. The thread that carries
 * it blocks in the client library; the watch wakes it, by an interrupt before the head of the
 * answer has arrived, by closing the body afterwards.
 */
final class Exchange implements Closeable {

    /** The reason why the watch aborted an exchange. */
    enum End {
        CLIENT_GONE, TIMED_OUT
    }

    private final Watch watch;
    private final Thread thread = Thread.currentThread();
    private final ConnectionValve.Connection client;
    private final long timeoutNanos;

    // Guarded by this.
    private boolean sent;
    private boolean upstreamsTurn;
    private long upstreamsTurnSinceNanos;
    private InputStream body;
    private End end;
    private boolean closed;

    Exchange(Watch watch, ConnectionValve.Connection client, Duration upstreamTimeout) {
        this.watch = watch;
        this.client = client;
        this.timeoutNanos = upstreamTimeout.toNanos();
    }

    /** Waits for more of the request from the client, without a time limit. */
    synchronized void clientsTurn() {
        upstreamsTurn = false;
    }

    /** Waits for the upstream to read the next part of the request, or to respond. */
    synchronized void upstreamsTurn() {
        upstreamsTurn = true;
        upstreamsTurnSinceNanos = System.nanoTime();
    }

    /** Notes that the whole request has been passed to the client library. */
    synchronized void requestSent() {
        sent = true;
        upstreamsTurn();
    }

    /** Notes the head of the response; returns why it is too late, or null. */
    synchronized End answered(InputStream body) {
        this.body = body;
        return ended();
    }

    /** Ends the wait for the head; returns why the watch aborted it, or null. */
    synchronized End ended() {
        if (end != null) {
            // The interrupt may have come after the end of the wait.
            Thread.interrupted();
        }
        return end;
    }

    /** Checks the exchange; the watch calls it periodically. */
    synchronized void look(long nowNanos) {
        if (closed || end != null) {
            return;
        }
        if (body == null && upstreamsTurn && nowNanos - upstreamsTurnSinceNanos > timeoutNanos) {
            giveUp(End.TIMED_OUT);
            // Until the request has been read, its reader notices itself that the client is gone.
        } else if (sent && client.closedByClient()) {
            giveUp(End.CLIENT_GONE);
        }
    }

    private void giveUp(End reason) {
        end = reason;
        if (body == null) {
            thread.interrupt();
            return;
        }
        try {
            body.close();
        } catch (IOException ignored) {
            // Closing only had to wake the reader and to cancel the upstream's response.
        }
    }

    /** Stops the watch from touching the thread and the client's connection. */
    @Override
    public void close() {
        watch.forget(this);
        synchronized (this) {
            closed = true;
            ended();
        }
    }
}
