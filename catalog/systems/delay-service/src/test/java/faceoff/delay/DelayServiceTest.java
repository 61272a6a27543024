package faceoff.delay;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalServerPort;

@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT)
class DelayServiceTest {

    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
            .build();

    @LocalServerPort
    private int port;

    @ParameterizedTest
    @CsvSource({"/0, 0", "/20, 20", "/00300, 300"})
    void answersOkNoSoonerThanAsked(String path, long delayMs) throws Exception {
        long before = System.nanoTime();
        HttpResponse<String> answer = send("GET", path);

        assertThat(System.nanoTime() - before).isGreaterThanOrEqualTo(delayMs * 1_000_000);
        assertThat(answer.statusCode()).isEqualTo(200);
        assertThat(answer.headers().allValues("content-type"))
                .containsExactly("text/plain;charset=UTF-8");
        assertThat(answer.body()).isEqualTo("OK");
    }

    @ParameterizedTest
    @ValueSource(strings = {"/abc", "/-1", "/+1", "/1.5", "/0x1", "/%201", "/60001",
            "/99999999999"})
    void refusesWhatIsNoDelay(String path) throws Exception {
        assertError(send("GET", path), 400, "Bad Request");
    }

    @Test
    void refusesOtherPathsAndMethods() throws Exception {
        assertError(send("GET", "/"), 404, "Not Found");
        assertError(send("GET", "/1/2"), 404, "Not Found");
        assertError(send("POST", "/1"), 405, "Method Not Allowed");
    }

    private static void assertError(HttpResponse<String> answer, int status, String words) {
        assertThat(answer.statusCode()).isEqualTo(status);
        assertThat(answer.headers().allValues("content-type")).containsExactly("application/json");
        assertThat(answer.body()).isEqualTo("{\"error\":\"" + words + "\"}");
    }

    private HttpResponse<String> send(String method, String path) throws Exception {
        URI uri = URI.create("http://127.0.0.1:" + port + path);
        HttpRequest request = HttpRequest.newBuilder(uri)
                .method(method, HttpRequest.BodyPublishers.noBody()).build();
        return client.send(request, HttpResponse.BodyHandlers.ofString());
    }
}
