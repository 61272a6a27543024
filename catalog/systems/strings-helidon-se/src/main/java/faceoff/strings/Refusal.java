package faceoff.strings;

import java.nio.charset.StandardCharsets;
import java.util.Locale;

import io.helidon.http.DirectHandler;
import io.helidon.http.HeaderValues;
import io.helidon.http.HttpException;
import io.helidon.http.ServerResponseHeaders;
import io.helidon.http.Status;

/** The response to a request that is not served. */
final class Refusal {

    private Refusal() {
    }

    static HttpException of(Status status) {
        return new HttpException(status.reasonPhrase(), status, true);
    }

    /**
     * Gives all error responses, of the service and of Helidon, the form of the service's errors.
     */
    static DirectHandler.TransportResponse answer(DirectHandler.TransportRequest request,
            DirectHandler.EventType type, Status status,
            ServerResponseHeaders headers, String message) {
        return DirectHandler.TransportResponse.builder()
                .status(status)
                .headers(headers)
                .header(HeaderValues.CONTENT_TYPE_JSON)
                .entity("{\"error\":\"%s\"}".formatted(name(status))
                .getBytes(StandardCharsets.UTF_8))
                .build();
    }

    private static String name(Status status) {
        return status.code() == Status.REQUEST_ENTITY_TOO_LARGE_413.code() ? "too large"
                : status.reasonPhrase().toLowerCase(Locale.ROOT);
    }
}
