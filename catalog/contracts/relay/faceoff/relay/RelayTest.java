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

/**
 * A relay between a client and an upstream that misbehaves on request.
 *
 * <p>Every relay on Spring runs these tests; its {@code ThisRelay} has what differs.
 */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, properties = ThisRelay.CAPACITY)
class RelayTest {

    private static final Upstream UPSTREAM = new Upstream(ThisRelay.CROWD);

    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
            .build();

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
    void forwardsTheResponseOfTheUpstream() throws Exception {
        assertOk(send("GET", "/" + Upstream.OK));
    }

    @Test
    void sendsAsManyRequestsAtOnceAsItCarries() throws Exception {
        String path = "/" + Upstream.WAITS_FOR_CROWD;
        List<CompletableFuture<HttpResponse<String>>> responses =
                Stream.generate(() -> request("GET", path))
                .limit(ThisRelay.CROWD)
                .map(request -> client.sendAsync(request, HttpResponse.BodyHandlers.ofString()))
                .toList();
        for (CompletableFuture<HttpResponse<String>> response : responses) {
            assertOk(response.get(60, TimeUnit.SECONDS));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"/abc", "/-1", "/+1", "/1.5", "/0x1", "/%201", "/60001",
            "/99999999999"})
    void answers400ToWhatIsNotADelay(String path) throws Exception {
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
    void answers502IfTheUpstreamFails(int path) throws Exception {
        assertError(send("GET", "/" + path), 502, "Bad Gateway");
    }

    private static void assertOk(HttpResponse<String> response) {
        assertThat(response.statusCode()).isEqualTo(200);
        assertThat(response.headers().allValues("content-type"))
                .containsExactly("text/plain;charset=UTF-8");
        assertThat(response.body()).isEqualTo("Relay:OK");
    }

    private static void assertError(HttpResponse<String> response, int status, String words) {
        assertThat(response.statusCode()).isEqualTo(status);
        assertThat(response.headers().allValues("content-type"))
                .containsExactly("application/json");
        assertThat(response.body()).isEqualTo("{\"error\":\"" + words + "\"}");
    }

    private HttpResponse<String> send(String method, String path)
            throws IOException, InterruptedException {
        return client.send(request(method, path), HttpResponse.BodyHandlers.ofString());
    }

    private HttpRequest request(String method, String path) {
        URI uri = URI.create("http://127.0.0.1:" + port + path);
        return HttpRequest.newBuilder(uri).method(method, HttpRequest.BodyPublishers.noBody())
                .build();
    }
}
