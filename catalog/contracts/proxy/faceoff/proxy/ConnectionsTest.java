package faceoff.proxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.context.ConfigurableApplicationContext;

/** Connections, and the start and stop of the proxy. */
class ConnectionsTest extends ProxyContract {

    @Test
    void reusesAnUpstreamConnection() throws Exception {
        upstream.answer(OK);
        try (ConfigurableApplicationContext fresh = proxyBefore(upstream.address());
                Wire client = clientOf(fresh)) {
            int before = upstream.connections();
            for (int i = 0; i < 5; i++) {
                client.send("GET /product/x HTTP/1.1\nHost: shop\n\n");
                assertThat(client.readBody(client.readHead())).isEqualTo("ok");
                client.send("POST /product/x HTTP/1.1\nHost: shop\nContent-Length: 2\n\nhi");
                assertThat(client.readBody(client.readHead())).isEqualTo("ok");
            }
            assertThat(upstream.connections() - before).isLessThanOrEqualTo(1);
        }
    }

    @Test
    void answersPipelinedRequestsInOrder() throws Exception {
        upstream.script((request, wire) -> {
            // Long enough for the proxy to check whether the client is still there.
            Thread.sleep(700);
            wire.send("HTTP/1.1 200 OK\nContent-Length: 2\n\n" + request.startLine()
                    .substring(5, 7));
        });
        try (Wire client = client()) {
            client.send("GET /product/p1 HTTP/1.1\nHost: shop\n\n");
            upstream.request();
            client.send(
                    "GET /product/p2 HTTP/1.1\nHost: shop\n\n"
                    + "GET /product/p3 HTTP/1.1\nHost: shop\n\n");
            for (String expected : new String[] {"p1", "p2", "p3"}) {
                assertThat(client.readBody(client.readHead())).isEqualTo(expected);
            }
        }
    }

    @Test
    void finishesRequestsInFlightBeforeItStops() throws Exception {
        CountDownLatch stopping = new CountDownLatch(1);
        upstream.script((request, wire) -> {
            wire.send("HTTP/1.1 200 OK\nContent-Length: 11\n\nfirst");
            stopping.await();
            Thread.sleep(500);
            wire.send("second");
        });
        ConfigurableApplicationContext leaving = proxyBefore(upstream.address());
        try (Wire client = clientOf(leaving)) {
            client.send("GET /product/x HTTP/1.1\nHost: shop\n\n");
            client.readHead();
            client.readExactly(5);
            CompletableFuture<Void> stopped = CompletableFuture.runAsync(leaving::close);
            stopping.countDown();
            assertThat(client.readExactly(6)).asString().isEqualTo("second");
            stopped.get(30, TimeUnit.SECONDS);
        }
    }

    @ParameterizedTest
    @CsvSource({
            "--proxy.upstream=, the upstream is not set",
            "--proxy.upstream=127.0.0.1:80, Illegal character in scheme name",
            "--proxy.upstream=ftp://127.0.0.1, the upstream must look like",
            "--proxy.upstream=http://127.0.0.1:80/path, the upstream must look like",
            "--proxy.upstream-timeout=0s, the upstream timeout must be positive",
            "--proxy.upstream-timeout=-1s, the upstream timeout must be positive"})
    void failsToStartWithAWrongSetting(String setting, String message) {
        assertThatThrownBy(() -> proxyBefore("127.0.0.1:80", setting).close()).rootCause()
                .hasMessageContaining(message);
    }
}
