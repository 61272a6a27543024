package faceoff.relay;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.ConfigurationPropertiesScan;
import org.springframework.boot.http.client.autoconfigure.reactive.ClientHttpConnectorBuilderCustomizer;
import org.springframework.boot.http.client.reactive.ReactorClientHttpConnectorBuilder;
import org.springframework.context.annotation.Bean;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionProvider;

/** A relay on Spring WebFlux: a few event loops handle all requests, and never wait. */
@SpringBootApplication
@ConfigurationPropertiesScan
class RelayApplication {

    /** Makes another pool of connections to the upstream, if the settings say so. */
    @Bean
    ClientHttpConnectorBuilderCustomizer<ReactorClientHttpConnectorBuilder> upstreamPool(
            RelaySettings settings) {
        Integer most = settings.maxConnections();
        return builder -> most == null ? builder
                : builder.withHttpClientFactory(() ->
                        HttpClient.create(ConnectionProvider.create("upstream", most)));
    }

    public static void main(String[] args) {
        SpringApplication.run(RelayApplication.class, args);
    }
}
