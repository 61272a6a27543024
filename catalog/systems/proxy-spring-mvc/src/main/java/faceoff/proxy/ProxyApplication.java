package faceoff.proxy;

import java.net.http.HttpClient;

import jakarta.servlet.http.HttpServletRequest;
import org.apache.catalina.core.StandardHost;
import org.apache.tomcat.util.buf.EncodedSolidusHandling;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.ConfigurationPropertiesScan;
import org.springframework.boot.http.client.JdkClientHttpRequestFactoryBuilder;
import org.springframework.boot.http.client.autoconfigure.ClientHttpRequestFactoryBuilderCustomizer;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.boot.webmvc.autoconfigure.error.ErrorMvcAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.core.Ordered;
import org.springframework.http.client.JdkClientHttpRequestFactory;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.stereotype.Component;
import org.springframework.web.servlet.HandlerExecutionChain;
import org.springframework.web.servlet.HandlerMapping;

/** A reverse proxy on Spring MVC: one thread handles a request from its first byte to its last. */
@SpringBootApplication(exclude = ErrorMvcAutoConfiguration.class)
@ConfigurationPropertiesScan
@EnableScheduling
class ProxyApplication {

    /** Sends every request to the handler unchanged: no decoded path, no handling of preflights. */
    @Component
    record Everything(ProxyHandler handler) implements HandlerMapping, Ordered {

        @Override
        public HandlerExecutionChain getHandler(HttpServletRequest request) {
            return new HandlerExecutionChain(handler);
        }

        @Override
        public int getOrder() {
            return HIGHEST_PRECEDENCE;
        }
    }

    /** Offers no h2c upgrade to the upstream, and decompresses no body. */
    @Bean
    ClientHttpRequestFactoryBuilderCustomizer<JdkClientHttpRequestFactoryBuilder> upstreamClient() {
        return builder -> builder
                .withHttpClientCustomizer(client -> client.version(HttpClient.Version.HTTP_1_1))
                .withCustomizer((JdkClientHttpRequestFactory factory) ->
                        factory.enableCompression(false));
    }

    @Bean
    WebServerFactoryCustomizer<TomcatServletWebServerFactory> tomcat() {
        return factory -> {
            factory.addEngineValves(new ConnectionValve());
            factory.addContextCustomizers(context ->
                    ((StandardHost) context.getParent())
                    .setErrorReportValveClass(JsonErrorReport.class.getName()));
            factory.addConnectorCustomizers(connector -> {
                // Tomcat refuses %2F and %5C by default; here the upstream decides.
                connector.setEncodedSolidusHandling(EncodedSolidusHandling.PASS_THROUGH.getValue());
                connector.setEncodedReverseSolidusHandling(
                        EncodedSolidusHandling.PASS_THROUGH.getValue());
            });
        };
    }

    public static void main(String[] args) {
        SpringApplication.run(ProxyApplication.class, args);
    }
}
