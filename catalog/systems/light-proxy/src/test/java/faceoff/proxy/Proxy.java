package faceoff.proxy;

import java.io.IOException;
import java.net.ConnectException;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** The proxy as a separate process: light-4j keeps its configuration in static fields. */
final class Proxy implements AutoCloseable {

    private static final Path CSV = Path.of("../../workloads/pets-tokens.csv");

    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
            .build();
    private final int port;
    private final Process process;

    /** Starts it with an upstream and the settings of a variant. */
    Proxy(String upstream, Map<String, String> settings) throws IOException, InterruptedException {
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        ProcessBuilder builder = Jvm.running("com.networknt.server.Server");
        builder.environment().putAll(Map.of("SERVER_HTTPPORT", "" + port, "PROXY_HOSTS", upstream));
        builder.environment().putAll(settings);
        process = builder.redirectErrorStream(true)
                .redirectOutput(Path.of("target/proxy.log").toFile()).start();
        Instant deadline = Instant.now().plus(Duration.ofMinutes(1));
        while (!listens()) {
            if (!process.isAlive() || Instant.now().isAfter(deadline)) {
                close();
                throw new IOException("the proxy does not listen:\n"
                        + Files.readString(Path.of("target/proxy.log")));
            }
            Thread.sleep(50);
        }
    }

    private boolean listens() throws IOException {
        try (Socket socket = new Socket("127.0.0.1", port)) {
            return true;
        } catch (ConnectException e) {
            return false;
        }
    }

    /** Returns a token of the workloads: {@code valid}, {@code forged} or {@code expired}. */
    static String token(String name) throws IOException {
        List<String> lines = Files.readAllLines(CSV);
        return lines.get(1).split(",")[List.of(lines.get(0).split(",")).indexOf(name)];
    }

    /** Sends a request with a token, or without one if it is null. */
    HttpResponse<String> get(String path, String token) throws IOException, InterruptedException {
        HttpRequest.Builder request =
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                .timeout(Duration.ofSeconds(30));
        if (token != null) {
            request.header("Authorization", "Bearer " + token);
        }
        return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(20, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
