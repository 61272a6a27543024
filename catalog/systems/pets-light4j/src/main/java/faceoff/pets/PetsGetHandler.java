package faceoff.pets;

import io.undertow.server.HttpServerExchange;

/** {@code GET /v1/pets}: a fixed list, written for every request. */
public final class PetsGetHandler extends PetsHandler {

    private static final int MOST = 100;

    @Override
    public void handleRequest(HttpServerExchange exchange) {
        number(exchange, "limit", MOST, 1, MOST)
                .ifPresent(limit ->
                        answer(exchange,
                        Pet.ALL.subList(0, (int) Math.min(limit, Pet.ALL.size()))));
    }
}
