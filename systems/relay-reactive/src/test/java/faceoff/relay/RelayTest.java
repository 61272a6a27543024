package faceoff.relay;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** The relay between a client and an upstream that misbehaves when told to. */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, properties = "relay.max-connections=600")
class RelayTest {

    /** More than the 500 connections of the default pool. */
    private static final int CROWD = 550;

    private static final Upstream UPSTREAM = new Upstream(CROWD);

    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    @LocalServerPort
    private int port;

    @DynamicPropertySource
    static void settings(DynamicPropertyRegistry registry) {
        registry.add("relay.upstream", UPSTREAM::address);
    }

    @AfterAll
    static void stop() {
        UPSTREAM.close();
    }

    @Test
    void saysWhatTheUpstreamSaid() throws Exception {
        assertRight(send("GET", "/" + Upstream.OK));
    }

    @Test
    void asksForAllThatItsConnectionsCarryAtOnce() throws Exception {
        List<CompletableFuture<HttpResponse<String>>> answers = Stream.generate(() -> request("GET", "/" + Upstream.WAITS_FOR_CROWD))
                .limit(CROWD)
                .map(request -> client.sendAsync(request, HttpResponse.BodyHandlers.ofString()))
                .toList();
        for (CompletableFuture<HttpResponse<String>> answer : answers) {
            assertRight(answer.get(60, TimeUnit.SECONDS));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"/abc", "/-1", "/+1", "/1.5", "/0x1", "/%201", "/60001", "/99999999999"})
    void refusesWhatIsNoDelay(String path) throws Exception {
        assertError(send("GET", path), 400, "Bad Request");
    }

    @Test
    void refusesOtherPathsAndMethods() throws Exception {
        assertError(send("GET", "/"), 404, "Not Found");
        assertError(send("GET", "/1/2"), 404, "Not Found");
        assertError(send("POST", "/1"), 405, "Method Not Allowed");
    }

    @ParameterizedTest
    @ValueSource(ints = {Upstream.ERROR, Upstream.HANGS_UP, Upstream.SAYS_NOTHING})
    void tellsOfAnUpstreamThatFails(int path) throws Exception {
        assertError(send("GET", "/" + path), 502, "Bad Gateway");
    }

    private static void assertRight(HttpResponse<String> answer) {
        assertThat(answer.statusCode()).isEqualTo(200);
        assertThat(answer.headers().allValues("content-type")).containsExactly("text/plain;charset=UTF-8");
        assertThat(answer.body()).isEqualTo("Relay:OK");
    }

    private static void assertError(HttpResponse<String> answer, int status, String words) {
        assertThat(answer.statusCode()).isEqualTo(status);
        assertThat(answer.headers().allValues("content-type")).containsExactly("application/json");
        assertThat(answer.body()).isEqualTo("{\"error\":\"" + words + "\"}");
    }

    private HttpResponse<String> send(String method, String path) throws IOException, InterruptedException {
        return client.send(request(method, path), HttpResponse.BodyHandlers.ofString());
    }

    private HttpRequest request(String method, String path) {
        URI uri = URI.create("http://127.0.0.1:" + port + path);
        return HttpRequest.newBuilder(uri).method(method, HttpRequest.BodyPublishers.noBody()).build();
    }
}
