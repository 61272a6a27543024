package faceoff.bank;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalServerPort;

/** The bank where no database answers: what is refused is refused before one is asked. What PostgreSQL makes of the statements is proved by faceoff check. */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, properties = {
    "spring.datasource.url=jdbc:postgresql://127.0.0.1:1/none?connectTimeout=1",
    "spring.datasource.hikari.connection-timeout=250",
    "spring.datasource.hikari.initialization-fail-timeout=-1",
    "logging.level.com.zaxxer.hikari=OFF",
})
class BankTest {

    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    @LocalServerPort
    private int port;

    @ParameterizedTest
    @ValueSource(strings = {"-1", "1.5", "x", "+1", "2147483648", "99999999999999999999"})
    void refusesWhatIsNoBalance(String balance) throws Exception {
        assertError(send("POST", "/client/new/" + balance, ""), 400, "Bad Request");
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "", "x", "[]", "{}", "null",
        "{\"from_client_id\":1,\"to_client_id\":2}",
        "{\"from_client_id\":1,\"to_client_id\":2,\"amount\":0}",
        "{\"from_client_id\":1,\"to_client_id\":2,\"amount\":-5}",
        "{\"from_client_id\":1,\"to_client_id\":2,\"amount\":1.5}",
        "{\"from_client_id\":1,\"to_client_id\":2,\"amount\":\"5\"}",
        "{\"from_client_id\":1,\"to_client_id\":2,\"amount\":2147483648}",
        "{\"from_client_id\":0,\"to_client_id\":2,\"amount\":5}",
        "{\"from_client_id\":1,\"to_client_id\":1,\"amount\":5}",
        "{\"from_client_id\":1,\"to_client_id\":2,\"amount\":5} more",
        "{\"from_client_id\":1,\"to_client_id\":2,\"amount\":5}}",
        "{\"from_client_id\":1,\"to_client_id\":2,\"Amount\":5}",
    })
    void refusesWhatIsNoTransfer(String body) throws Exception {
        assertError(send("POST", "/transaction", body), 400, "Bad Request");
    }

    @Test
    void refusesOtherPathsAndMethods() throws Exception {
        assertError(send("GET", "/client/0/balance", null), 400, "Bad Request");
        assertError(send("GET", "/client/x/balance", null), 400, "Bad Request");
        assertError(send("GET", "/transaction", null), 405, "Method Not Allowed");
        assertError(send("GET", "/", null), 404, "Not Found");
    }

    @Test
    void aDatabaseThatIsLostIsNoSuccess() throws Exception {
        assertError(send("POST", "/client/new/1", ""), 500, "Internal Server Error");
        assertError(send("GET", "/client/1/balance", null), 500, "Internal Server Error");
    }

    private HttpResponse<String> send(String method, String path, String body) throws IOException, InterruptedException {
        HttpRequest.BodyPublisher content =
                body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body);
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                .method(method, content)
                .header("content-type", "application/json")
                .build();
        return client.send(request, HttpResponse.BodyHandlers.ofString());
    }

    private static void assertError(HttpResponse<String> answer, int status, String words) {
        assertThat(answer.statusCode()).isEqualTo(status);
        assertThat(answer.headers().firstValue("content-type")).hasValue("application/json");
        assertThat(answer.body()).isEqualTo("{\"error\":\"" + words + "\"}");
    }
}
