package faceoff.strings;

import java.nio.charset.StandardCharsets;

import io.helidon.http.DirectHandler;
import io.helidon.http.HeaderValues;
import io.helidon.http.ServerResponseHeaders;
import io.helidon.http.Status;
import io.helidon.microprofile.server.ServerCdiExtension;
import io.helidon.webserver.http.DirectHandlers;
import jakarta.annotation.Priority;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.context.Initialized;
import jakarta.enterprise.event.Observes;
import jakarta.interceptor.Interceptor;
import jakarta.ws.rs.core.Response;

/** Gives what Helidon's server refuses before JAX-RS sees it, or after, the one form of the service's errors. */
@ApplicationScoped
public class ServerRefusals {

    void configure(@Observes @Priority(Interceptor.Priority.LIBRARY_BEFORE) @Initialized(ApplicationScoped.class) Object start,
            ServerCdiExtension server) {
        DirectHandlers.Builder refusals = DirectHandlers.builder();
        for (DirectHandler.EventType type : DirectHandler.EventType.values()) {
            refusals.addHandler(type, ServerRefusals::answer);
        }
        server.serverBuilder().directHandlers(refusals.build());
    }

    private static DirectHandler.TransportResponse answer(DirectHandler.TransportRequest request, DirectHandler.EventType type,
            Status status, ServerResponseHeaders headers, String message) {
        return DirectHandler.TransportResponse.builder()
                .status(status)
                .headers(headers)
                .header(HeaderValues.CONTENT_TYPE_JSON)
                .entity(Errors.body(Response.Status.fromStatusCode(status.code())).getBytes(StandardCharsets.UTF_8))
                .build();
    }
}
