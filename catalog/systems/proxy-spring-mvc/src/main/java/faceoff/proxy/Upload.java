package faceoff.proxy;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

import org.springframework.http.StreamingHttpOutputMessage;

/** The body of a request. A thread of the client library reads it; the request thread waits. */
final class Upload implements StreamingHttpOutputMessage.Body, Closeable {

    private static final int BUFFER_BYTES = 8192;

    private final InputStream body;
    private final Exchange exchange;
    private final Lock lock = new ReentrantLock();

    // Guarded by lock.
    private boolean closed;
    private boolean broken;

    Upload(InputStream body, Exchange exchange) {
        this.body = body;
        this.exchange = exchange;
    }

    @Override
    public void writeTo(OutputStream out) throws IOException {
        byte[] buffer = new byte[BUFFER_BYTES];
        for (int length; (length = read(buffer)) >= 0;) {
            exchange.upstreamsTurn();
            out.write(buffer, 0, length);
            out.flush();
            exchange.clientsTurn();
        }
        exchange.requestSent();
    }

    private int read(byte[] buffer) throws IOException {
        lock.lock();
        try {
            if (closed) {
                throw new IOException("the request is over");
            }
            return body.read(buffer);
        } catch (IOException failure) {
            broken = !closed;
            throw failure;
        } finally {
            lock.unlock();
        }
    }

    /** Returns whether the client, not the upstream, is the reason for a failed request. */
    boolean broken() {
        lock.lock();
        try {
            return broken;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Ends the reading and waits for a read that has begun: afterwards the container may use the
     * connection for the next request. Such a wait is limited by the container's read timeout.
     */
    @Override
    public void close() {
        lock.lock();
        closed = true;
        lock.unlock();
    }
}
