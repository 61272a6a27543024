package faceoff.strings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.regex.Pattern;

import org.junit.jupiter.api.Test;

/**
 * The tests that every string service in Java must pass.
 *
 * <p>They cover what the workloads {@code strings-contract} and {@code strings-refused} cannot:
 * these check everything that one request and its response show. Each service's {@code StringsTest}
 * says how it is started and how its metrics are read.
 */
abstract class StringsContract {

    static final HttpClient CLIENT =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    /** A service that runs. */
    interface Service extends AutoCloseable {

        int port();

        @Override
        void close();

        default URI uri(String path) {
            return URI.create("http://127.0.0.1:" + port() + path);
        }
    }

    /** Starts the service on a free port. */
    abstract Service start(boolean isLogged) throws Exception;

    /** Matches the lines of {@code /metrics} that count requests; the first group is the count. */
    abstract Pattern requestCounts();

    /** Checks the number of requests that were counted for five. */
    void assertFive(long counted) {
        assertTrue(counted >= 5, "counted: " + counted);
    }

    @Test
    void theMetricsCountRequests() throws Exception {
        try (Service service = start(false)) {
            long before = counted(service);
            for (int i = 0; i < 5; i++) {
                String body = count(service, BodyPublishers.ofString("{\"s\":\"hello\"}")).body();
                assertEquals("{\"v\":5}", body);
            }
            assertFive(counted(service) - before);
        }
    }

    @Test
    void aChunkedBodyHasTheSameSizeLimit() throws Exception {
        String fits = "{\"s\":\"%s\"}".formatted("a".repeat((64 << 10) - 8));
        assertEquals(64 << 10, fits.length());
        try (Service service = start(false)) {
            assertEquals("{\"v\":65528}", count(service, inChunks(fits)).body());
            HttpResponse<String> response = count(service, inChunks(fits + " "));
            assertEquals(413, response.statusCode());
            assertEquals("{\"error\":\"too large\"}", response.body());
        }
    }

    @Test
    void aBodyThatIsNotUtf8IsRefused() throws Exception {
        byte[] latin1 = {'{', '"', 's', '"', ':', '"', (byte) 0xE9, '"', '}'};
        try (Service service = start(false)) {
            assertEquals(400, count(service, BodyPublishers.ofByteArray(latin1)).statusCode());
        }
    }

    static HttpResponse<String> count(Service service, BodyPublisher body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(service.uri("/count"))
                .header("content-type", "application/json")
                .POST(body)
                .build();
        return CLIENT.send(request, BodyHandlers.ofString());
    }

    private static BodyPublisher inChunks(String body) {
        return BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(body.getBytes()));
    }

    private long counted(Service service) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(service.uri("/metrics")).build();
        String metrics = CLIENT.send(request, BodyHandlers.ofString()).body();
        return requestCounts().matcher(metrics).results()
                .mapToLong(found -> (long) Double.parseDouble(found.group(1)))
                .sum();
    }
}
