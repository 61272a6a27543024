package faceoff.strings;

import java.util.Locale;

import jakarta.json.JsonException;
import jakarta.ws.rs.NotFoundException;
import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.ext.ExceptionMapper;
import jakarta.ws.rs.ext.Provider;

/** Gives all error responses of JAX-RS the form of the service's errors. */
final class Errors {

    private Errors() {
    }

    /** Requests that the service and JAX-RS refuse. */
    @Provider
    public static class Refused implements ExceptionMapper<WebApplicationException> {

        @Override
        public Response toResponse(WebApplicationException refused) {
            Response.StatusType status = refused.getResponse().getStatusInfo();
            if (refused instanceof NotFoundException) {
                // Without a body Helidon tries its other routes: metrics, and then ServerRefusals.
                return refused.getResponse();
            }
            return Response.fromResponse(refused.getResponse()).type(MediaType.APPLICATION_JSON)
                    .entity(body(status)).build();
        }
    }

    /** Bodies that are not JSON. */
    @Provider
    public static class NotJson implements ExceptionMapper<JsonException> {

        @Override
        public Response toResponse(JsonException notJson) {
            Response.Status status = Response.Status.BAD_REQUEST;
            return Response.status(status).type(MediaType.APPLICATION_JSON).entity(body(status))
                    .build();
        }
    }

    static String body(Response.StatusType status) {
        boolean isTooLarge =
                status.getStatusCode() == Response.Status.REQUEST_ENTITY_TOO_LARGE.getStatusCode();
        return "{\"error\":\"%s\"}".formatted(isTooLarge ? "too large" : status.getReasonPhrase()
                .toLowerCase(Locale.ROOT));
    }
}
