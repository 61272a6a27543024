package faceoff.strings;

import java.util.regex.Pattern;

import io.helidon.microprofile.server.Server;

/** The shared tests (catalog/contracts), on Helidon MP. */
class StringsTest extends HelidonContract {

    @Override
    Pattern requestCounts() {
        return Pattern.compile("^REST_request_seconds_count\\{.*count.*} (\\S+)$",
                Pattern.MULTILINE);
    }

    @Override
    Service start(boolean isLogged) {
        System.setProperty("server.port", "0");
        System.setProperty("request-log", "" + isLogged);
        Server server = Server.create().start();
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
