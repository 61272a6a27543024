package faceoff.pets;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalServerPort;

@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT)
class PetsServiceTest {

    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
            .build();

    @LocalServerPort
    private int port;

    @Test
    void answersExactlyTheBytesOfTheWorkload() throws Exception {
        HttpResponse<byte[]> answer = get("/v1/pets");

        assertThat(answer.statusCode()).isEqualTo(200);
        assertThat(answer.headers().allValues("content-type")).containsExactly("application/json");
        assertThat(answer.body())
                .isEqualTo(Files.readAllBytes(Path.of("../../workloads/pets.json")));
    }

    @Test
    void knowsAPetByItsId() throws Exception {
        assertThat(new String(get("/v1/pets/2").body()))
                .isEqualTo("{\"id\":2,\"name\":\"doggy\",\"tag\":\"dog\"}");
    }

    @Test
    void returnsNoMoreThanTheLimit() throws Exception {
        assertThat(new String(get("/v1/pets?limit=1").body()))
                .isEqualTo("[{\"id\":1,\"name\":\"catten\",\"tag\":\"cat\"}]");
    }

    @ParameterizedTest
    @CsvSource({"/v1/pets?limit=abc,400", "/v1/pets?limit=0,400", "/v1/pets?limit=101,400",
            "/v1/pets/cat,400", "/v1/pets/3,404", "/v2/pets,404"})
    void refusesWhatIsNotInTheSpecification(String path, int status) throws Exception {
        assertThat(get(path).statusCode()).isEqualTo(status);
    }

    private HttpResponse<byte[]> get(String path) throws Exception {
        URI uri = URI.create("http://127.0.0.1:" + port + path);
        return client.send(HttpRequest.newBuilder(uri).build(),
                HttpResponse.BodyHandlers.ofByteArray());
    }
}
