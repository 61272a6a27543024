package faceoff.proxy;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;

/**
 * One request on its way through the proxy, as the {@link Watch} sees it. The thread that carries it blocks in the client
 * library; the watch wakes it, by an interrupt before the head of the answer has arrived, by closing the body afterwards.
 */
final class Exchange implements Closeable {

    /** Why an exchange was given up by the watch. */
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

    /** More of the request is wanted from the client, which may take its time. */
    synchronized void clientsTurn() {
        upstreamsTurn = false;
    }

    /** The upstream must go on: take the next piece of the request, or answer it. */
    synchronized void upstreamsTurn() {
        upstreamsTurn = true;
        upstreamsTurnSinceNanos = System.nanoTime();
    }

    /** The request has been read from the client and given to the client library to its end. */
    synchronized void requestSent() {
        sent = true;
        upstreamsTurn();
    }

    /** The head of the answer has arrived; gives why it is too late, or null. */
    synchronized End answered(InputStream body) {
        this.body = body;
        return ended();
    }

    /** Waiting for the head is over; gives why the watch ended it, or null. */
    synchronized End ended() {
        if (end != null) {
            // The interrupt may have come after the wait was over.
            Thread.interrupted();
        }
        return end;
    }

    /** Called by the watch, again and again. */
    synchronized void look(long nowNanos) {
        if (closed || end != null) {
            return;
        }
        if (body == null && upstreamsTurn && nowNanos - upstreamsTurnSinceNanos > timeoutNanos) {
            giveUp(End.TIMED_OUT);
            // Until the request has been read, its reader notices by itself that the client has gone.
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
            // Closing was only to wake the reader and to cancel the upstream's answer.
        }
    }

    /** From here on the watch leaves the thread and the client's connection alone. */
    @Override
    public void close() {
        watch.forget(this);
        synchronized (this) {
            closed = true;
            ended();
        }
    }
}
