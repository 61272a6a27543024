package faceoff.relay;

import java.net.http.HttpClient;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.ConfigurationPropertiesScan;
import org.springframework.boot.http.client.JdkClientHttpRequestFactoryBuilder;
import org.springframework.boot.http.client.autoconfigure.ClientHttpRequestFactoryBuilderCustomizer;
import org.springframework.context.annotation.Bean;

/** A relay on Spring MVC: one thread carries a request from its first byte to its last, and waits for the upstream. */
@SpringBootApplication
@ConfigurationPropertiesScan
class RelayApplication {

    /** No h2c upgrade is offered to the upstream, as no other relay does that. */
    @Bean
    ClientHttpRequestFactoryBuilderCustomizer<JdkClientHttpRequestFactoryBuilder> upstreamClient() {
        return builder -> builder.withHttpClientCustomizer(client -> client.version(HttpClient.Version.HTTP_1_1));
    }

    public static void main(String[] args) {
        SpringApplication.run(RelayApplication.class, args);
    }
}
