package faceoff.pets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.net.ConnectException;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Tests a separate process: light-4j keeps its configuration in static fields. */
class PetsTest {

    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
            .build();
    private int port;
    private Process process;

    @Test
    void answersExactlyTheBytesOfTheWorkload() throws Exception {
        start(Map.of());
        HttpResponse<byte[]> answer = get("/v1/pets", null);
        assertEquals(200, answer.statusCode());
        assertEquals(List.of("application/json"), answer.headers().allValues("content-type"));
        assertArrayEquals(Files.readAllBytes(Path.of("../../workloads/pets.json")), answer.body());
        assertEquals("[{\"id\":1,\"name\":\"catten\",\"tag\":\"cat\"}]",
                text(get("/v1/pets?limit=1", null)));
        assertEquals("{\"id\":2,\"name\":\"doggy\",\"tag\":\"dog\"}",
                text(get("/v1/pets/2", null)));
        refusesWhatIsNotInTheSpecification(null);
    }

    @Test
    void behindAllMiddlewareItAnswersTheSameToWhoMayAsk() throws Exception {
        start(Map.of("PETS_CHAIN", "all-middleware"));
        List<String> lines = Files.readAllLines(Path.of("../../workloads/pets-tokens.csv"));
        Map<String, String> tokens = Map.of(lines.get(0).split(",")[0], lines.get(1).split(",")[0],
                lines.get(0).split(",")[1], lines.get(1).split(",")[1]);
        assertArrayEquals(Files.readAllBytes(Path.of("../../workloads/pets.json")),
                get("/v1/pets", tokens.get("valid")).body());
        assertEquals(401, get("/v1/pets", null).statusCode());
        assertEquals(401, get("/v1/pets", tokens.get("forged")).statusCode());
        refusesWhatIsNotInTheSpecification(tokens.get("valid"));
    }

    @Test
    void listensInTheClearAndOverTlsAtOnce() throws Exception {
        int clear = freePort();
        start(Map.of("SERVER_ENABLEHTTP", "false", "SERVER_ENABLEHTTPS", "true",
                "SERVER_ENABLEHTTP2", "true", "PETS_CLEARPORT", "" + clear));
        byte[] pets = Files.readAllBytes(Path.of("../../workloads/pets.json"));
        HttpResponse<byte[]> inTheClear =
                ask(client, "http://127.0.0.1:" + clear + "/v1/pets", null);
        assertArrayEquals(pets, inTheClear.body());
        for (HttpClient.Version version : List.of(HttpClient.Version.HTTP_1_1,
                HttpClient.Version.HTTP_2)) {
            HttpClient trusting = HttpClient.newBuilder().version(version).sslContext(trust())
                    .build();
            HttpResponse<byte[]> overTls =
                    ask(trusting, "https://127.0.0.1:" + port + "/v1/pets", null);
            assertEquals(version, overTls.version());
            assertArrayEquals(pets, overTls.body());
            assertEquals("TLSv1.2", overTls.sslSession().orElseThrow().getProtocol());
            assertEquals(names(overTls), names(inTheClear),
                    "both listeners answer with the same header fields");
        }
    }

    /** Returns the names of the header fields; HTTP/2 has none that concern the connection. */
    private static Set<String> names(HttpResponse<byte[]> answer) {
        Set<String> names = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
        names.addAll(answer.headers().map().keySet());
        names.remove(":status");
        names.remove("connection");
        return names;
    }

    private static SSLContext trust() throws Exception {
        KeyStore store =
                KeyStore.getInstance(Path.of("../light-proxy/config/client.truststore").toFile(),
                "password".toCharArray());
        TrustManagerFactory trusted =
                TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trusted.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trusted.getTrustManagers(), null);
        return context;
    }

    private void refusesWhatIsNotInTheSpecification(String token) throws Exception {
        for (String path : List.of("/v1/pets?limit=abc", "/v1/pets?limit=0", "/v1/pets?limit=101",
                "/v1/pets/cat")) {
            assertEquals(400, get(path, token).statusCode(), path);
        }
        for (String path : List.of("/v1/pets/3", "/v2/pets")) {
            assertEquals(404, get(path, token).statusCode(), path);
        }
    }

    private void start(Map<String, String> settings) throws Exception {
        port = freePort();
        ProcessBuilder builder =
                new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java")
                .toString(),
                "-Dlight-4j-config-dir=config", "-cp", System.getProperty("java.class.path"),
                "com.networknt.server.Server");
        builder.environment()
                .putAll(Map.of("SERVER_HTTPPORT", "" + port, "SERVER_HTTPSPORT", "" + port));
        builder.environment().putAll(settings);
        process = builder.redirectErrorStream(true)
                .redirectOutput(Path.of("target/server.log").toFile()).start();
        Instant deadline = Instant.now().plus(Duration.ofMinutes(1));
        while (!listens()) {
            if (!process.isAlive() || Instant.now().isAfter(deadline)) {
                throw new IOException("it does not listen:\n"
                        + Files.readString(Path.of("target/server.log")));
            }
            Thread.sleep(50);
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket free = new ServerSocket(0)) {
            return free.getLocalPort();
        }
    }

    private boolean listens() throws IOException {
        try (Socket socket = new Socket("127.0.0.1", port)) {
            return true;
        } catch (ConnectException e) {
            return false;
        }
    }

    private HttpResponse<byte[]> get(String path, String token) throws Exception {
        return ask(client, "http://127.0.0.1:" + port + path, token);
    }

    private static HttpResponse<byte[]> ask(HttpClient client, String uri, String token)
            throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(uri))
                .timeout(Duration.ofSeconds(30));
        if (token != null) {
            request.header("Authorization", "Bearer " + token);
        }
        return client.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
    }

    private static String text(HttpResponse<byte[]> answer) {
        return new String(answer.body(), StandardCharsets.UTF_8);
    }

    @AfterEach
    void stop() throws Exception {
        process.destroy();
        if (!process.waitFor(20, TimeUnit.SECONDS)) {
            process.destroyForcibly();
        }
    }
}
