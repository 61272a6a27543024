package faceoff.pets;

import java.util.Deque;
import java.util.OptionalLong;

import com.networknt.config.JsonMapper;
import com.networknt.handler.LightHttpHandler;

import io.undertow.server.HttpServerExchange;
import io.undertow.util.Headers;

/** What the handlers of pets have in common. */
abstract class PetsHandler implements LightHttpHandler {

    static final String PET_NOT_FOUND = "ERR20001";

    private static final String INVALID_NUMBER = "ERR20002";

    /** Answers with the JSON of a value. */
    static void answer(HttpServerExchange exchange, Object value) {
        exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "application/json");
        exchange.getResponseSender().send(JsonMapper.toJson(value));
    }

    /** A parameter as a number within bounds, the usual one where there is none; empty once it has been answered with 400. */
    OptionalLong number(HttpServerExchange exchange, String parameter, long usual, long least, long most) {
        // light-4j puts the parameters of a path among those of the query.
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
            // Answered below, like a number out of bounds.
        }
        setExchangeStatus(exchange, INVALID_NUMBER, parameter, least, most);
        return OptionalLong.empty();
    }
}
