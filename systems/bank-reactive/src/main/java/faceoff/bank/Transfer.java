package faceoff.bank;

import com.fasterxml.jackson.annotation.JsonProperty;

/** Money that is to move; what is missing is null. */
record Transfer(
        @JsonProperty("from_client_id") Integer from,
        @JsonProperty("to_client_id") Integer to,
        Integer amount) {

    /** Whether it moves something from one client to another; client 0 is the bank itself. */
    boolean isPossible() {
        return from != null && to != null && amount != null && from >= 1 && to >= 1 && !from.equals(to) && amount >= 1;
    }
}
