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
import org.springframework.boot.test.web.server.LocalServerPort;

/**
 * A bank without its database: it must refuse bad requests before it uses the database.
 *
 * <p>Every bank on Spring runs these tests. The workloads of {@code faceoff check} test it with
 * PostgreSQL.
 */
abstract class BankContract {

    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
            .build();

    @LocalServerPort
    private int port;

    @ParameterizedTest
    @ValueSource(strings = {"-1", "1.5", "x", "+1", "2147483648", "99999999999999999999"})
    void answers400ToWhatIsNotABalance(String balance) throws Exception {
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
    void answers400ToWhatIsNotATransfer(String body) throws Exception {
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
    void answers500WithoutItsDatabase() throws Exception {
        assertError(send("POST", "/client/new/1", ""), 500, "Internal Server Error");
        assertError(send("GET", "/client/1/balance", null), 500, "Internal Server Error");
    }

    private HttpResponse<String> send(String method, String path, String body)
            throws IOException, InterruptedException {
        HttpRequest.BodyPublisher content =
                body == null ? HttpRequest.BodyPublishers.noBody()
                : HttpRequest.BodyPublishers.ofString(body);
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                .method(method, content)
                .header("content-type", "application/json")
                .build();
        return client.send(request, HttpResponse.BodyHandlers.ofString());
    }

    private static void assertError(HttpResponse<String> response, int status, String words) {
        assertThat(response.statusCode()).isEqualTo(status);
        assertThat(response.headers().firstValue("content-type")).hasValue("application/json");
        assertThat(response.body()).isEqualTo("{\"error\":\"" + words + "\"}");
    }
}
