package faceoff.relay;

import java.net.http.HttpClient;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.ConfigurationPropertiesScan;
import org.springframework.boot.http.client.JdkClientHttpRequestFactoryBuilder;
import org.springframework.boot.http.client.autoconfigure.ClientHttpRequestFactoryBuilderCustomizer;
import org.springframework.context.annotation.Bean;

/** A relay on Spring MVC: one thread handles a request, and waits for the upstream. */
@SpringBootApplication
@ConfigurationPropertiesScan
class RelayApplication {

    /** Offers no h2c upgrade to the upstream, like all other relays. */
    @Bean
    ClientHttpRequestFactoryBuilderCustomizer<JdkClientHttpRequestFactoryBuilder> upstreamClient() {
        return builder ->
                builder.withHttpClientCustomizer(client ->
                        client.version(HttpClient.Version.HTTP_1_1));
    }

    public static void main(String[] args) {
        SpringApplication.run(RelayApplication.class, args);
    }
}
