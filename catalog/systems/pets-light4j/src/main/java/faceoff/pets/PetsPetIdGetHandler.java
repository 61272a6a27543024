package faceoff.pets;

import io.undertow.server.HttpServerExchange;

/** {@code GET /v1/pets/{petId}}. */
public final class PetsPetIdGetHandler extends PetsHandler {

    @Override
    public void handleRequest(HttpServerExchange exchange) {
        number(exchange, "petId", 0, Long.MIN_VALUE, Long.MAX_VALUE)
                .ifPresent(id -> Pet.ALL.stream()
                .filter(pet -> pet.id() == id).findFirst()
                .ifPresentOrElse(pet -> answer(exchange, pet),
                        () -> setExchangeStatus(exchange, PET_NOT_FOUND, id)));
    }
}
