package faceoff.pets;

import java.util.Deque;
import java.util.OptionalLong;

import com.networknt.config.JsonMapper;
import com.networknt.handler.LightHttpHandler;

import io.undertow.server.HttpServerExchange;
import io.undertow.util.Headers;

/** The common part of the handlers of pets. */
abstract class PetsHandler implements LightHttpHandler {

    static final String PET_NOT_FOUND = "ERR20001";

    private static final String INVALID_NUMBER = "ERR20002";

    /** Responds with the JSON of a value. */
    static void answer(HttpServerExchange exchange, Object value) {
        exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "application/json");
        exchange.getResponseSender().send(JsonMapper.toJson(value));
    }

    /**
     * Reads a parameter as a number within bounds, with a default. Empty means that the response, a
     * 400, has been sent.
     */
    OptionalLong number(HttpServerExchange exchange, String parameter, long usual, long least,
            long most) {
        // light-4j adds the parameters of a path to those of the query.
        Deque<String> values = exchange.getQueryParameters().get(parameter);
        if (values == null) {
            return OptionalLong.of(usual);
        }
        try {
            long number = Long.parseLong(values.getFirst());
            if (number >= least && number <= most) {
                return OptionalLong.of(number);
            }
        } catch (NumberFormatException e) {
            // Handled below, like a number out of bounds.
        }
        setExchangeStatus(exchange, INVALID_NUMBER, parameter, least, most);
        return OptionalLong.empty();
    }
}
