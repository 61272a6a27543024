package faceoff.proxy;

import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.TimeoutException;

import io.netty.channel.ConnectTimeoutException;
import io.netty.handler.timeout.WriteTimeoutException;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.stereotype.Component;
import org.springframework.web.reactive.function.BodyInserters;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebHandler;
import reactor.core.publisher.Mono;
import reactor.netty.NettyOutbound;
import reactor.netty.http.client.HttpClientRequest;

/** Forwards a request and its response. A client that disconnects cancels both. */
@Component
class ProxyHandler implements WebHandler {

    private final URI upstream;
    private final Duration upstreamTimeout;
    private final WebClient client;

    ProxyHandler(ProxySettings settings, WebClient.Builder client) {
        this.upstream = settings.upstream();
        this.upstreamTimeout = settings.upstreamTimeout();
        this.client = client.filter(new HeadTimeout(settings.upstreamTimeout())).build();
    }

    @Override
    public Mono<Void> handle(ServerWebExchange exchange) {
        ServerHttpRequest request = exchange.getRequest();
        ServerHttpResponse response = exchange.getResponse();
        String path = request.getURI().getRawPath();
        if (!Route.matches(path)) {
            return refuse(response, 404, "no such path");
        }
        URI uri = Route.to(upstream, path, request.getURI().getRawQuery());
        return ask(request, uri)
                .exchangeToMono(answer -> relay(answer, request, response))
                // After the head, an error aborts the connection: a part must not seem complete to
                // the client.
                .onErrorResume(failure -> !response.isCommitted(),
                        failure -> explain(failure, response));
    }

    private WebClient.RequestHeadersSpec<?> ask(ServerHttpRequest request, URI uri) {
        boolean chunked = request.getHeaders().containsHeader(HttpHeaders.TRANSFER_ENCODING);
        boolean hasBody = chunked || request.getHeaders().getContentLength() > 0;
        InetSocketAddress peer = request.getRemoteAddress();
        HttpHeaders headers =
                EndToEnd.forwarded(request.getHeaders(), peer.getAddress().getHostAddress());
        return client.method(request.getMethod())
                .uri(uri)
                .headers(sent -> sent.putAll(headers))
                .httpRequest(sent -> {
                    HttpClientRequest message = sent.getNativeRequest();
                    asTheClientDid(message, chunked);
                    if (hasBody) {
                        ((NettyOutbound) message).withConnection(
                                connection ->
                                        connection.addHandlerLast(
                                        new StalledUpload(upstreamTimeout)));
                    }
                })
                .body(hasBody ? BodyInserters.fromDataBuffers(request.getBody())
                        : BodyInserters.empty());
    }

    /** Removes the headers that the client library adds, and frames the body like the client. */
    private static void asTheClientDid(HttpClientRequest request, boolean chunked) {
        io.netty.handler.codec.http.HttpHeaders headers = request.requestHeaders();
        headers.remove(HttpHeaders.USER_AGENT).remove(HttpHeaders.ACCEPT)
                .remove(HttpHeaders.TRANSFER_ENCODING);
        if (chunked) {
            headers.set(HttpHeaders.TRANSFER_ENCODING, "chunked");
        }
    }

    private static Mono<Void> relay(ClientResponse answer, ServerHttpRequest request,
            ServerHttpResponse response) {
        response.setStatusCode(answer.statusCode());
        response.getHeaders().putAll(EndToEnd.of(answer.headers().asHttpHeaders()));
        if (request.getMethod() == HttpMethod.HEAD) {
            return answer.releaseBody().then(response.setComplete());
        }
        return response.writeWith(answer.body((message, context) -> message.getBody())
                // Without its cause: the framework treats "connection reset" as a client that
                // disconnected, and would end the response as if it were complete.
                .onErrorMap(failure ->
                        new IllegalStateException("the upstream broke off its answer")));
    }

    private static Mono<Void> explain(Throwable failure, ServerHttpResponse response) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof TimeoutException || cause instanceof ConnectTimeoutException
                    || cause instanceof WriteTimeoutException) {
                return refuse(response, 504, "the upstream did not answer in time");
            }
        }
        return refuse(response, 502, "the upstream could not be reached or did not answer");
    }

    private static Mono<Void> refuse(ServerHttpResponse response, int status, String error) {
        byte[] body = ("{\"error\":\"" + error + "\"}").getBytes(StandardCharsets.UTF_8);
        response.setStatusCode(HttpStatusCode.valueOf(status));
        response.getHeaders().clear();
        response.getHeaders().setContentType(MediaType.APPLICATION_JSON);
        response.getHeaders().setContentLength(body.length);
        return response.writeWith(Mono.just(response.bufferFactory().wrap(body)));
    }
}
