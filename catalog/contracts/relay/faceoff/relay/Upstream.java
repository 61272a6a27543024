package faceoff.relay;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;

/** An upstream that behaves as the path says. */
final class Upstream implements AutoCloseable {

    static final int OK = 1;
    static final int ERROR = 2;
    static final int HANGS_UP = 3;
    static final int SAYS_NOTHING = 4;
    static final int WAITS_FOR_CROWD = 5;

    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final CountDownLatch absent;

    /**
     * @param crowd number of requests that must wait at once before the first gets its response
     */
    Upstream(int crowd) {
        absent = new CountDownLatch(crowd);
        try {
            server =
                    HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                    1024);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        server.setExecutor(threads);
        server.createContext("/", this::answer);
        server.start();
    }

    String address() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            switch (Integer.parseInt(exchange.getRequestURI().getPath().substring(1))) {
                case OK -> say(exchange, 200, "OK");
                case ERROR -> say(exchange, 500, "failed");
                case SAYS_NOTHING -> exchange.sendResponseHeaders(200, -1);
                case WAITS_FOR_CROWD -> say(exchange, allAreHere() ? 200 : 500, "OK");
                default -> { // HANGS_UP: closed without an answer
                }
            }
        }
    }

    private boolean allAreHere() {
        absent.countDown();
        try {
            return absent.await(30, TimeUnit.SECONDS);
        } catch (InterruptedException end) {
            return false;
        }
    }

    private static void say(HttpExchange exchange, int status, String text) throws IOException {
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "text/plain;charset=UTF-8");
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
