package faceoff.products;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;

import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalServerPort;

@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT)
class ProductServiceTest {

    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
            .build();

    @LocalServerPort
    private int port;

    @Test
    void answersExactlyTheBytesOfTheWorkload() throws Exception {
        HttpResponse<byte[]> answer = get("/products");

        assertThat(answer.statusCode()).isEqualTo(200);
        assertThat(answer.headers().allValues("content-type")).containsExactly("application/json");
        assertThat(answer.body())
                .isEqualTo(Files.readAllBytes(Path.of("../../workloads/products.json")));
    }

    @Test
    void knowsNoOtherPath() throws Exception {
        assertThat(get("/product").statusCode()).isEqualTo(404);
    }

    private HttpResponse<byte[]> get(String path) throws Exception {
        URI uri = URI.create("http://127.0.0.1:" + port + path);
        return client.send(HttpRequest.newBuilder(uri).build(),
                HttpResponse.BodyHandlers.ofByteArray());
    }
}
