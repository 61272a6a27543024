package faceoff.strings;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpRequest.BodyPublishers;
import java.util.regex.Pattern;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;

/** The shared tests (catalog/contracts), on Spring Boot, which counts responses of each path. */
@ExtendWith(OutputCaptureExtension.class)
class StringsTest extends StringsContract {

    @Override
    Pattern requestCounts() {
        return Pattern.compile(
                "^http_server_requests_seconds_count\\{.*status=\"200\",uri=\"/count\".*} (\\d+)",
                Pattern.MULTILINE);
    }

    @Override
    void assertFive(long counted) {
        assertThat(counted).isEqualTo(5);
    }

    @Test
    void writesALineForEachRequestOnlyOnDemand(CapturedOutput output) throws Exception {
        try (Service quiet = start(false)) {
            count(quiet, BodyPublishers.ofString("{\"s\":\"quiet\"}"));
        }
        assertThat(output).doesNotContain("/count");
        try (Service logged = start(true)) {
            count(logged, BodyPublishers.ofString("{\"s\":\"logged\"}"));
        }
        assertThat(output).containsPattern("INFO.*POST /count 200 \\d+ µs");
    }

    @Override
    Service start(boolean isLogged) {
        String[] arguments = isLogged
                ? new String[] {"--server.port=0", "--strings.request-log=true"}
                : new String[] {"--server.port=0"};
        ConfigurableApplicationContext context =
                SpringApplication.run(StringsApplication.class, arguments);
        return new Service() {

            @Override
            public int port() {
                return context.getEnvironment()
                        .getRequiredProperty("local.server.port", Integer.class);
            }

            @Override
            public void close() {
                context.close();
            }
        };
    }
}
