package faceoff.strings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.regex.Pattern;

import io.helidon.microprofile.server.Server;
import org.junit.jupiter.api.Test;

/** What the workloads strings-contract and strings-refused cannot say: they hold all that a request and its answer show. */
class StringsTest {

    private static final HttpClient CLIENT = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    @Test
    void theMetricsCountRequests() throws Exception {
        try (Service service = new Service(false)) {
            long before = counted(service);
            for (int i = 0; i < 5; i++) {
                assertEquals("{\"v\":5}", count(service, BodyPublishers.ofString("{\"s\":\"hello\"}")).body());
            }
            assertTrue(counted(service) >= before + 5);
        }
    }

    @Test
    void aBodyInChunksIsBoundedToo() throws Exception {
        String fits = "{\"s\":\"%s\"}".formatted("a".repeat((64 << 10) - 8));
        try (Service service = new Service(false)) {
            assertEquals("{\"v\":65528}", count(service, inChunks(fits)).body());
            HttpResponse<String> answer = count(service, inChunks(fits + " "));
            assertEquals(413, answer.statusCode());
            assertEquals("{\"error\":\"too large\"}", answer.body());
        }
    }

    @Test
    void whatIsNoUnicodeIsRefused() throws Exception {
        byte[] latin1 = {'{', '"', 's', '"', ':', '"', (byte) 0xE9, '"', '}'};
        try (Service service = new Service(false)) {
            assertEquals(400, count(service, BodyPublishers.ofByteArray(latin1)).statusCode());
        }
    }

    @Test
    void aLineForEachRequestIsWrittenOnlyWhereAsked() throws Exception {
        assertEquals(0, linesOfARequest(false));
        assertEquals(1, linesOfARequest(true));
    }

    /** Helidon's own half a second would cut it. */
    @Test
    void aRequestInFlightIsAnsweredAfterTheStop() throws Exception {
        Service service = new Service(false);
        try (Socket client = new Socket("127.0.0.1", service.server().port())) {
            client.setSoTimeout(10_000);
            OutputStream request = client.getOutputStream();
            request.write("POST /count HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"s\":".getBytes());
            Thread.sleep(500);
            Thread stopping = Thread.ofVirtual().start(service::close);
            Thread.sleep(1500);
            request.write("\"hello\"}".getBytes());
            String status = new BufferedReader(new InputStreamReader(client.getInputStream())).readLine();
            assertEquals("HTTP/1.1 200 OK", status);
            stopping.join();
        }
    }

    private static long linesOfARequest(boolean isLogged) throws Exception {
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
        try (Service service = new Service(isLogged)) {
            Logger.getLogger("").addHandler(handler);
            count(service, BodyPublishers.ofString("{\"s\":\"hello\"}"));
        } finally {
            Logger.getLogger("").removeHandler(handler);
        }
        return lines.stream().filter(line -> line.contains("/count")).count();
    }

    private static BodyPublisher inChunks(String body) {
        return BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(body.getBytes()));
    }

    private static HttpResponse<String> count(Service service, BodyPublisher body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(service.uri("/count")).header("content-type", "application/json").POST(body).build();
        return CLIENT.send(request, BodyHandlers.ofString());
    }

    private static long counted(Service service) throws Exception {
        String metrics = CLIENT.send(HttpRequest.newBuilder(service.uri("/metrics")).build(), BodyHandlers.ofString()).body();
        return Pattern.compile("^REST_request_seconds_count\\{.*count.*} (\\S+)$", Pattern.MULTILINE).matcher(metrics).results()
                .mapToLong(found -> (long) Double.parseDouble(found.group(1))).sum();
    }

    private record Service(Server server) implements AutoCloseable {

        Service(boolean isLogged) {
            this(create(isLogged));
        }

        private static Server create(boolean isLogged) {
            System.setProperty("server.port", "0");
            System.setProperty("request-log", "" + isLogged);
            return Server.create().start();
        }

        URI uri(String path) {
            return URI.create("http://127.0.0.1:" + server.port() + path);
        }

        @Override
        public void close() {
            server.stop();
        }
    }
}
