package faceoff.strings;

import java.io.IOException;
import java.util.regex.Pattern;

import org.glassfish.grizzly.http.server.HttpServer;

/** The shared tests (catalog/contracts), on Jersey and Grizzly. */
class StringsTest extends JulContract {

    @Override
    Pattern requestCounts() {
        return Pattern.compile(
                "^http_server_requests_seconds_count\\{.*.*uri=\"/?count\".*} (\\S+)$",
                Pattern.MULTILINE);
    }

    @Override
    Service start(boolean isLogged) throws IOException {
        HttpServer server = StringsServer.start(0, isLogged);
        return new Service() {

            @Override
            public int port() {
                return server.getListeners().iterator().next().getPort();
            }

            @Override
            public void close() {
                server.shutdownNow();
            }
        };
    }
}
