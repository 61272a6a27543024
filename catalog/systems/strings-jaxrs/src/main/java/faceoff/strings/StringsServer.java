package faceoff.strings;

import java.io.IOException;
import java.net.URI;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import org.glassfish.grizzly.http.server.HttpServer;
import org.glassfish.jersey.grizzly2.httpserver.GrizzlyHttpServerFactory;
import org.glassfish.jersey.server.ResourceConfig;

/** The string service on Jersey, on the HTTP server of Grizzly. */
public final class StringsServer {

    private static final int STOP_SECONDS = 5;

    private StringsServer() {
    }

    /**
     * Starts it at the port of the property {@code port}, with a line for each request where {@code
     * request-log} is true. A connection is closed after as many requests as {@code
     * keep-alive-requests} says, or as Grizzly has it; -1 is never.
     */
    public static void main(String[] args) throws IOException {
        HttpServer server =
                start(Integer.getInteger("port", 8080), Boolean.getBoolean("request-log"));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(server)));
    }

    /** Stops after the requests in flight have finished. */
    private static void stop(HttpServer server) {
        try {
            server.shutdown(STOP_SECONDS, TimeUnit.SECONDS).get();
        } catch (InterruptedException | ExecutionException alreadyStopping) {
            server.shutdownNow();
        }
    }

    static HttpServer start(int port, boolean isLogged) throws IOException {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        ResourceConfig resources = new ResourceConfig()
                .register(new StringsResource())
                .register(new MetricsResource(registry))
                .register(new BodyLimit())
                .register(new WholeObject())
                .register(new Errors.Refused())
                .register(new Errors.NotJson())
                .register(new RequestTimer(registry));
        if (isLogged) {
            resources.register(new RequestLog());
        }
        String listen = System.getProperty("listen", "127.0.0.1");
        HttpServer server =
                GrizzlyHttpServerFactory.createHttpServer(URI.create("http://" + listen + ":"
                + port), resources, false);
        Integer most = Integer.getInteger("keep-alive-requests");
        if (most != null) {
            server.getListeners()
                    .forEach(listener -> listener.getKeepAlive().setMaxRequestsCount(most));
        }
        server.start();
        return server;
    }
}
