package faceoff.bank;

import com.fasterxml.jackson.annotation.JsonProperty;

/** Money that moved. */
record Transaction(
        int id,
        @JsonProperty("from_client_id") int from,
        @JsonProperty("to_client_id") int to,
        int amount) {
}
