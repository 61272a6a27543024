package faceoff.strings;

import java.io.ByteArrayInputStream;
import java.io.IOException;

import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerRequestFilter;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.ext.Provider;

/** Refuses bodies that are too large. Helidon's own response has another form. */
@Provider
public class BodyLimit implements ContainerRequestFilter {

    private static final int MAX_BODY = 64 << 10;

    @Override
    public void filter(ContainerRequestContext request) throws IOException {
        int length = request.getLength();
        if (length < 0 && request.hasEntity()) {
            // A chunked body, without its length.
            byte[] body = request.getEntityStream().readNBytes(MAX_BODY + 1);
            length = body.length;
            request.setEntityStream(new ByteArrayInputStream(body));
        }
        if (length > MAX_BODY) {
            throw new WebApplicationException(Response.Status.REQUEST_ENTITY_TOO_LARGE);
        }
    }
}
