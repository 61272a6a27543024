package faceoff.proxy;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** An upstream that does what a test says, byte by byte. */
final class Upstream implements Closeable {

    /** Handles a request whose head has been read. */
    interface Script {
        void run(Wire.Head request, Wire wire) throws Exception;
    }

    private final ServerSocket listener =
            new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
    private final BlockingQueue<Wire.Head> requests = new LinkedBlockingQueue<>();
    private final AtomicInteger connections = new AtomicInteger();
    private volatile Script script;

    Upstream() throws IOException {
        thread(() -> {
            while (true) {
                Wire wire = new Wire(listener.accept());
                connections.incrementAndGet();
                thread(() -> serve(wire));
            }
        });
    }

    String address() {
        return "127.0.0.1:" + listener.getLocalPort();
    }

    /** Sets the handler of every later request, and forgets earlier requests. */
    void script(Script script) {
        this.script = script;
        requests.clear();
    }

    /** Reads every request to its end and sends this response. */
    void answer(String answer) {
        script((request, wire) -> {
            wire.readBytes(request);
            wire.send(answer);
        });
    }

    /** Returns the next request that has arrived. */
    Wire.Head request() throws InterruptedException {
        Wire.Head request = requests.poll(30, TimeUnit.SECONDS);
        if (request == null) {
            throw new AssertionError("no request arrived");
        }
        return request;
    }

    /** Returns whether there is a request that {@link #request} has not returned. */
    boolean hasRequest() {
        return !requests.isEmpty();
    }

    int connections() {
        return connections.get();
    }

    private void serve(Wire wire) throws Exception {
        try (wire) {
            for (Wire.Head request; (request = wire.readHead()) != null;) {
                requests.add(request);
                script.run(request, wire);
            }
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }

    private interface Work {
        void run() throws Exception;
    }

    private static void thread(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (Exception end) {
                // The connection is over; the test sees it from the client's side.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }
}
