package faceoff.relay;

import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;
import org.springframework.web.server.ResponseStatusException;

/** Requests the same delay from the upstream and forwards its response. */
@RestController
class Relay {

    private final RestClient upstream;

    Relay(RelaySettings settings, RestClient.Builder client) {
        upstream = client.baseUrl(settings.upstream()).build();
    }

    @GetMapping(path = "/{delay}", produces = MediaType.TEXT_PLAIN_VALUE)
    String answer(@PathVariable Delay delay) {
        String said = upstream.get().uri("/{ms}", delay.ms()).retrieve().body(String.class);
        if (said == null) {
            throw new ResponseStatusException(HttpStatus.BAD_GATEWAY);
        }
        return "Relay:" + said;
    }
}
