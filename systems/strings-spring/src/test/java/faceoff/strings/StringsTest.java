package faceoff.strings;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.regex.Pattern;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;

/** What the workloads strings-contract and strings-refused cannot say: they hold all that a request and its answer show. */
@ExtendWith(OutputCaptureExtension.class)
class StringsTest {

    private static final HttpClient CLIENT = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    private static ConfigurableApplicationContext service;

    @BeforeAll
    static void start() {
        service = run();
    }

    @AfterAll
    static void stop() {
        service.close();
    }

    @Test
    void theMetricsCountRequests() throws Exception {
        long before = counted(service);
        for (int i = 0; i < 5; i++) {
            assertThat(count(service, BodyPublishers.ofString("{\"s\":\"hello\"}")).body()).isEqualTo("{\"v\":5}");
        }
        assertThat(counted(service)).isEqualTo(before + 5);
    }

    @Test
    void aBodyInChunksIsBoundedToo() throws Exception {
        String fits = "{\"s\":\"%s\"}".formatted("a".repeat((64 << 10) - 8));
        assertThat(fits).hasSize(64 << 10);
        assertThat(count(service, inChunks(fits)).body()).isEqualTo("{\"v\":65528}");
        HttpResponse<String> answer = count(service, inChunks(fits + " "));
        assertThat(answer.statusCode()).isEqualTo(413);
        assertThat(answer.body()).isEqualTo("{\"error\":\"too large\"}");
    }

    @Test
    void whatIsNoUnicodeIsRefused() throws Exception {
        byte[] latin1 = {'{', '"', 's', '"', ':', '"', (byte) 0xE9, '"', '}'};
        assertThat(count(service, BodyPublishers.ofByteArray(latin1)).statusCode()).isEqualTo(400);
    }

    @Test
    void aLineForEachRequestIsWrittenOnlyWhereAsked(CapturedOutput output) throws Exception {
        count(service, BodyPublishers.ofString("{\"s\":\"quiet\"}"));
        assertThat(output).doesNotContain("/count");
        try (ConfigurableApplicationContext logged = run("--strings.request-log=true")) {
            count(logged, BodyPublishers.ofString("{\"s\":\"logged\"}"));
        }
        assertThat(output).containsPattern("INFO.*POST /count 200 \\d+ µs");
    }

    private static ConfigurableApplicationContext run(String... more) {
        String[] args = new String[more.length + 1];
        args[0] = "--server.port=0";
        System.arraycopy(more, 0, args, 1, more.length);
        return SpringApplication.run(StringsApplication.class, args);
    }

    private static BodyPublisher inChunks(String body) {
        return BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(body.getBytes()));
    }

    private static HttpResponse<String> count(ConfigurableApplicationContext at, BodyPublisher body) throws Exception {
        return CLIENT.send(HttpRequest.newBuilder(uri(at, "/count")).header("content-type", "application/json").POST(body).build(),
                BodyHandlers.ofString());
    }

    private static long counted(ConfigurableApplicationContext at) throws Exception {
        String metrics = CLIENT.send(HttpRequest.newBuilder(uri(at, "/metrics")).build(), BodyHandlers.ofString()).body();
        return Pattern.compile("^http_server_requests_seconds_count\\{.*status=\"200\",uri=\"/count\".*} (\\d+)", Pattern.MULTILINE)
                .matcher(metrics).results().mapToLong(found -> Long.parseLong(found.group(1))).sum();
    }

    private static URI uri(ConfigurableApplicationContext at, String path) {
        return URI.create("http://127.0.0.1:" + at.getEnvironment().getProperty("local.server.port") + path);
    }
}
