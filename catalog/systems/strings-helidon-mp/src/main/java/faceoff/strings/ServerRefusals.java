package faceoff.strings;

import io.helidon.http.HeaderValues;
import io.helidon.http.HttpException;
import io.helidon.microprofile.server.ServerCdiExtension;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import jakarta.annotation.Priority;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.context.Initialized;
import jakarta.enterprise.event.Observes;
import jakarta.interceptor.Interceptor;
import jakarta.ws.rs.core.Response;

/** Gives the error responses of Helidon's routing the form of the service's errors. */
@ApplicationScoped
public class ServerRefusals {

    void configure(
            @Observes @Priority(Interceptor.Priority.LIBRARY_BEFORE) @Initialized(
            ApplicationScoped.class) Object start,
            ServerCdiExtension server) {
        server.serverRoutingBuilder().error(HttpException.class, ServerRefusals::answer);
    }

    private static void answer(ServerRequest request, ServerResponse response,
            HttpException refused) {
        response.status(refused.status());
        response.header(HeaderValues.CONTENT_TYPE_JSON);
        response.send(Errors.body(Response.Status.fromStatusCode(refused.status().code())));
    }
}
