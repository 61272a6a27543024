package faceoff.strings;

import java.util.logging.Logger;

import io.helidon.webserver.http.Filter;
import io.helidon.webserver.http.FilterChain;
import io.helidon.webserver.http.RoutingRequest;
import io.helidon.webserver.http.RoutingResponse;

/** Logs a line for each request. */
final class RequestLog implements Filter {

    private static final Logger LOG = Logger.getLogger(RequestLog.class.getName());

    @Override
    public void filter(FilterChain chain, RoutingRequest request, RoutingResponse response) {
        long began = System.nanoTime();
        chain.proceed();
        long took = System.nanoTime() - began;
        LOG.info(() -> request.prologue().method().text() + " " + request.prologue().uriPath()
                .rawPath() + " "
                + response.status().code() + " " + took / 1000 + " µs");
    }
}
