package faceoff.bank;

import com.fasterxml.jackson.annotation.JsonProperty;

/** A transfer to make; missing fields are null. */
record Transfer(
        @JsonProperty("from_client_id") Integer from,
        @JsonProperty("to_client_id") Integer to,
        Integer amount) {

    /**
     * Returns whether it moves an amount from one client to another; client 0 is the bank itself.
     */
    boolean isPossible() {
        return from != null && to != null && amount != null && from >= 1 && to >= 1
                && !from.equals(to) && amount >= 1;
    }
}
