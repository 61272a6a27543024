import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Trains a string service: starts it, asks it, ends it. The JVM under training writes what it has
 * learnt (an AOT cache, a CDS archive) as it ends.
 *
 * <p>{@code java Train.java COMMAND...}; {@code PORT} in the command becomes a free port.
 */
final class Train {

    /**
     * Enough for methods on the way of a request to be counted and compiled, and so to have a
     * profile that can be kept.
     */
    private static final int ROUNDS = 500;
    private static final Duration START = Duration.ofMinutes(2);
    private static final long END_SECONDS = 120;

    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
            .build();
    private final String root;

    private Train(int port) {
        root = "http://127.0.0.1:" + port;
    }

    /** Trains the command. */
    public static void main(String[] command) throws Exception {
        int port;
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        List<String> words = Stream.of(command).map(word -> word.replace("PORT", "" + port))
                .toList();
        Process service = new ProcessBuilder(words).inheritIO().start();
        try {
            new Train(port).train(service);
            service.destroy(); // SIGTERM
            if (!service.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
                throw new IOException("it does not end");
            }
        } finally {
            service.destroyForcibly();
        }
    }

    private void train(Process service) throws IOException, InterruptedException {
        Instant deadline = Instant.now().plus(START);
        while (!isUp()) {
            if (!service.isAlive() || Instant.now().isAfter(deadline)) {
                throw new IOException("it gives no answer");
            }
            Thread.sleep(50);
        }
        for (int i = 0; i < ROUNDS; i++) {
            expect("{\"v\":\"HELLO\"}", post("/uppercase"));
            expect("{\"v\":5}", post("/count"));
            expect("{\"s\":\"abcde\",\"crc\":\"045b42e6\"}",
                    HttpRequest.newBuilder(uri("/api/generated/5?work=1")));
            expect("{\"status\":\"UP\"}", HttpRequest.newBuilder(uri("/health")));
        }
    }

    private boolean isUp() throws InterruptedException {
        try {
            return client.send(HttpRequest.newBuilder(uri("/health")).build(),
                    BodyHandlers.ofString()).statusCode() == 200;
        } catch (IOException notYet) {
            return false;
        }
    }

    private HttpRequest.Builder post(String path) {
        return HttpRequest.newBuilder(uri(path))
                .header("Content-Type",
                        "application/json").POST(BodyPublishers.ofString("{\"s\":\"hello\"}"));
    }

    private URI uri(String path) {
        return URI.create(root + path);
    }

    private void expect(String body, HttpRequest.Builder request)
            throws IOException, InterruptedException {
        HttpResponse<String> answer =
                client.send(request.timeout(Duration.ofSeconds(30)).build(),
                BodyHandlers.ofString());
        if (!answer.body().equals(body)) {
            throw new IOException("the answer is not right: " + answer.statusCode() + " "
                    + answer.body());
        }
    }
}
