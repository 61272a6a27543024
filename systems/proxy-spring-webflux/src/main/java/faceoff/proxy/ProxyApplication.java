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

/** A reverse proxy on Spring WebFlux: a few event loops carry all requests, and none of them ever waits. */
@SpringBootApplication
@ConfigurationPropertiesScan
class ProxyApplication {

    /** Every request goes to the handler as it is: no path is decoded, nothing is chosen by its content. */
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

    /** A CORS preflight, too: left alone, the dispatcher answers it itself and calls no handler. */
    @Bean
    WebFilter preflight(ProxyHandler handler) {
        return (exchange, rest) ->
                CorsUtils.isPreFlightRequest(exchange.getRequest()) ? handler.handle(exchange) : rest.filter(exchange);
    }

    /** No compression is asked for, and no body is decompressed. */
    @Bean
    ClientHttpConnectorBuilderCustomizer<ReactorClientHttpConnectorBuilder> upstreamClient() {
        return builder -> builder.withHttpClientCustomizer(client -> client.compress(false));
    }

    public static void main(String[] args) {
        SpringApplication.run(ProxyApplication.class, args);
    }
}
