package faceoff.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.ConfigurableApplicationContext;

/** Upstreams that fail, respond late or read slowly. */
class FailuresTest extends ProxyContract {

    @Test
    void answers502WhenTheUpstreamIsUnreachable() throws Exception {
        // A port that was free once may be another's by now. Nothing listens at this one.
        String unreachable = "127.0.0.1:1";
        try (ConfigurableApplicationContext lonely = proxyBefore(unreachable);
                Wire client = clientOf(lonely)) {
            client.send("GET /product/x HTTP/1.1\nHost: shop\n\n");
            assertError(client, 502);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "HTTP/1.1 200 OK\nContent-Le", "nonsense\n\n"})
    void answers502WhenTheUpstreamSendsNoCompleteHead(String head) throws Exception {
        upstream.script((request, wire) -> {
            wire.send(head);
            wire.close();
        });
        try (Wire client = client()) {
            client.send("GET /product/x HTTP/1.1\nHost: shop\n\n");
            assertError(client, 502);
            upstream.answer(OK);
            client.send("GET /product/x HTTP/1.1\nHost: shop\n\n");
            assertThat(client.readHead().status()).isEqualTo(200);
        }
    }

    @Test
    void answers504WhenTheUpstreamSendsNoHeadInTime() throws Exception {
        try (ConfigurableApplicationContext hasty =
                proxyBefore(upstream.address(), "--proxy.upstream-timeout=300ms");
                Wire client = clientOf(hasty)) {
            CountDownLatch given504 = new CountDownLatch(1);
            CountDownLatch cancelled = new CountDownLatch(1);
            upstream.script((request, wire) -> {
                wire.readBytes(request);
                given504.await();
                wire.awaitEnd();
                cancelled.countDown();
            });
            client.send("GET /product/x HTTP/1.1\nHost: shop\n\n");
            assertError(client, 504);
            client.send("POST /product/x HTTP/1.1\nHost: shop\nContent-Length: 5\n\nhello");
            assertError(client, 504);
            given504.countDown();
            assertThat(cancelled.await(30, TimeUnit.SECONDS)).isTrue();
        }
    }

    /** More than sockets and both libraries buffer between client and upstream. */
    private static final int MORE_THAN_FITS = 64 << 20;

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void answers504WhenTheUpstreamStopsReading(boolean chunked) throws Exception {
        try (ConfigurableApplicationContext hasty =
                proxyBefore(upstream.address(), "--proxy.upstream-timeout=300ms");
                Wire client = clientOf(hasty)) {
            CountDownLatch given504 = new CountDownLatch(1);
            upstream.script((request, wire) -> given504.await());
            client.send("POST /product/x HTTP/1.1\nHost: shop\n"
                    + (chunked ? "Transfer-Encoding: chunked\n\n"
                    + Integer.toHexString(MORE_THAN_FITS) + "\n" : "Content-Length: "
                    + MORE_THAN_FITS + "\n\n"));
            Thread sender = new Thread(() -> {
                try {
                    client.sendExactly(new byte[MORE_THAN_FITS]);
                } catch (IOException cutOff) {
                    // The proxy has answered and does not have to read the rest.
                }
            });
            sender.start();
            assertError(client, 504);
            given504.countDown();
            client.close();
            sender.join();
        }
    }

    @Test
    void allowsAnUpstreamThatReadsSlowly() throws Exception {
        // All pieces together take longer than the timeout. Each takes a fraction of it, also on a
        // busy machine.
        try (ConfigurableApplicationContext hasty =
                proxyBefore(upstream.address(), "--proxy.upstream-timeout=5s");
                Wire client = clientOf(hasty)) {
            upstream.script((request, wire) -> {
                for (int piece = 0; piece < 8; piece++) {
                    wire.readExactly(MORE_THAN_FITS / 8);
                    Thread.sleep(800);
                }
                wire.send("HTTP/1.1 200 OK\nContent-Length: 2\n\nok");
            });
            client.send("POST /product/x HTTP/1.1\nHost: shop\nContent-Length: " + MORE_THAN_FITS
                    + "\n\n");
            client.sendExactly(new byte[MORE_THAN_FITS]);
            assertThat(client.readHead().status()).isEqualTo(200);
        }
    }

    @Test
    void limitsOnlyTheWaitForTheHead() throws Exception {
        try (ConfigurableApplicationContext hasty =
                proxyBefore(upstream.address(), "--proxy.upstream-timeout=2s");
                Wire client = clientOf(hasty)) {
            upstream.script((request, wire) -> {
                wire.readBytes(request);
                wire.send("HTTP/1.1 200 OK\nContent-Length: 2\n\no");
                Thread.sleep(3000);
                wire.send("k");
            });
            client.send("POST /product/x HTTP/1.1\nHost: shop\nContent-Length: 2\n\na");
            Thread.sleep(3000);
            client.send("b");
            Wire.Head response = client.readHead();
            assertThat(response.status()).isEqualTo(200);
            assertThat(client.readBody(response)).isEqualTo("ok");
        }
    }
}
