package faceoff.bank;

import com.fasterxml.jackson.annotation.JsonProperty;

/** A stored transfer. */
record Transaction(
        int id,
        @JsonProperty("from_client_id") int from,
        @JsonProperty("to_client_id") int to,
        int amount) {
}
