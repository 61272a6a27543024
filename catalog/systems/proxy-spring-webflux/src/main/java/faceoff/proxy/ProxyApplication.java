package faceoff.proxy;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.ConfigurationPropertiesScan;
import org.springframework.boot.http.client.autoconfigure.reactive.ClientHttpConnectorBuilderCustomizer;
import org.springframework.boot.http.client.reactive.ReactorClientHttpConnectorBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.core.Ordered;
import org.springframework.stereotype.Component;
import org.springframework.web.cors.reactive.CorsUtils;
import org.springframework.web.reactive.HandlerMapping;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import reactor.core.publisher.Mono;

/** A reverse proxy on Spring WebFlux: a few event loops handle all requests, and never wait. */
@SpringBootApplication
@ConfigurationPropertiesScan
class ProxyApplication {

    /** Sends every request to the handler unchanged: no decoded path, no choice by content. */
    @Component
    record Everything(ProxyHandler handler) implements HandlerMapping, Ordered {

        @Override
        public Mono<Object> getHandler(ServerWebExchange exchange) {
            return Mono.just(handler);
        }

        @Override
        public int getOrder() {
            return HIGHEST_PRECEDENCE;
        }
    }

    /** Forwards CORS preflights too: by default the dispatcher responds itself. */
    @Bean
    WebFilter preflight(ProxyHandler handler) {
        return (exchange, rest) ->
                CorsUtils.isPreFlightRequest(exchange.getRequest()) ? handler.handle(exchange)
                : rest.filter(exchange);
    }

    /** Requests no compression, and decompresses no body. */
    @Bean
    ClientHttpConnectorBuilderCustomizer<ReactorClientHttpConnectorBuilder> upstreamClient() {
        return builder -> builder.withHttpClientCustomizer(client -> client.compress(false));
    }

    public static void main(String[] args) {
        SpringApplication.run(ProxyApplication.class, args);
    }
}
