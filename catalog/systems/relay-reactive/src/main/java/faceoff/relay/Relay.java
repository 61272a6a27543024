package faceoff.relay;

import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.server.ResponseStatusException;
import reactor.core.publisher.Mono;

/** Requests the same delay from the upstream and forwards its response. */
@RestController
class Relay {

    private final WebClient upstream;

    Relay(RelaySettings settings, WebClient.Builder client) {
        upstream = client.baseUrl(settings.upstream().toString()).build();
    }

    @GetMapping(path = "/{delay}", produces = MediaType.TEXT_PLAIN_VALUE)
    Mono<String> answer(@PathVariable Delay delay) {
        return upstream.get().uri("/{ms}", delay.ms())
                .retrieve()
                .bodyToMono(String.class)
                .map(said -> "Relay:" + said)
                .switchIfEmpty(
                        Mono.error(() -> new ResponseStatusException(HttpStatus.BAD_GATEWAY)));
    }
}
