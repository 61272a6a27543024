package faceoff.strings;

import io.helidon.config.Config;
import io.helidon.http.DirectHandler;
import io.helidon.logging.common.LogConfig;
import io.helidon.webserver.WebServer;
import io.helidon.webserver.http.DirectHandlers;

/** The string service on Helidon SE. */
public final class StringsServer {

    private StringsServer() {
    }

    /** Starts it with the settings of application.yaml and the system properties. */
    public static void main(String[] args) {
        LogConfig.configureRuntime();
        start(Config.create());
    }

    static WebServer start(Config config) {
        DirectHandlers.Builder refusals = DirectHandlers.builder();
        for (DirectHandler.EventType type : DirectHandler.EventType.values()) {
            refusals.addHandler(type, Refusal::answer);
        }
        return WebServer.builder()
                .config(config.get("server"))
                .directHandlers(refusals.build())
                .routing(routing -> {
                    if (config.get("request-log").asBoolean().orElse(false)) {
                        routing.addFilter(new RequestLog());
                    }
                    routing.register(new StringsService());
                })
                .build()
                .start();
    }
}
