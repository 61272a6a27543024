package faceoff.proxy;

import java.time.Duration;
import java.util.concurrent.TimeoutException;

import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.ExchangeFilterFunction;
import org.springframework.web.reactive.function.client.ExchangeFunction;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/**
 * Limits the wait for the head of an answer: fails with a {@link TimeoutException} when it has not
 * arrived this long after the request was sent to its end. Neither a slow upload nor a slow answer
 * is cut off.
 */
record HeadTimeout(Duration limit) implements ExchangeFilterFunction {

    @Override
    public Mono<ClientResponse> filter(ClientRequest request, ExchangeFunction next) {
        Sinks.Empty<Void> sent = Sinks.empty();
        ClientRequest watched = ClientRequest.from(request)
                .body((message, context) -> request.body().insert(message, context)
                .doOnSuccess(done -> sent.tryEmitEmpty()))
                .build();
        return next.exchange(watched).timeout(sent.asMono().then(Mono.delay(limit)));
    }
}
