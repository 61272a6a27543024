package faceoff.strings;

import java.util.Map;
import java.util.regex.Pattern;

import io.helidon.config.Config;
import io.helidon.config.ConfigSources;
import io.helidon.webserver.WebServer;

/** The shared tests (catalog/contracts), on Helidon SE. */
class StringsTest extends HelidonContract {

    @Override
    Pattern requestCounts() {
        return Pattern.compile("^requests_count_total\\{.*} (\\S+)$", Pattern.MULTILINE);
    }

    @Override
    Service start(boolean isLogged) {
        Map<String, String> settings = Map.of("server.port", "0", "request-log", "" + isLogged);
        WebServer server = StringsServer.start(Config.builder()
                .addSource(ConfigSources.create(settings))
                .addSource(ConfigSources.classpath("application.yaml"))
                .build());
        return new Service() {

            @Override
            public int port() {
                return server.port();
            }

            @Override
            public void close() {
                server.stop();
            }
        };
    }
}
