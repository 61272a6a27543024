package faceoff.proxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Responses that the upstream aborts, and requests that the client aborts. */
class AbortsTest extends ProxyContract {

    @ParameterizedTest
    @CsvSource({"true, true", "true, false", "false, true", "false, false"})
    void abortsAResponseThatTheUpstreamAborts(boolean chunked, boolean reset) throws Exception {
        CountDownLatch firstHalfRead = new CountDownLatch(1);
        upstream.script((request, wire) -> {
            wire.send("HTTP/1.1 200 OK\n"
                    + (chunked ? "Transfer-Encoding: chunked\n\n5\nfirst\n"
                    : "Content-Length: 11\n\nfirst"));
            firstHalfRead.await();
            if (reset) {
                wire.reset();
            } else {
                wire.close();
            }
        });
        try (Wire client = client()) {
            client.send("GET /product/x HTTP/1.1\nHost: shop\n\n");
            client.readHead();
            assertThat(chunked ? client.readChunk() : client.readExactly(5)).asString()
                    .isEqualTo("first");
            firstHalfRead.countDown();
            assertThatThrownBy(() -> {
                if (chunked) {
                    client.readChunk();
                } else {
                    client.readExactly(6);
                }
            }).isInstanceOf(IOException.class);
            upstream.request();
            assertThat(upstream.hasRequest()).as("a second request").isFalse();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void rejectsAResponseThatEndsAfterItsHead(boolean chunked) throws Exception {
        upstream.script((request, wire) -> {
            wire.send("HTTP/1.1 200 OK\n"
                    + (chunked ? "Transfer-Encoding: chunked" : "Content-Length: 11") + "\n\n");
            wire.close();
        });
        try (Wire client = client()) {
            client.send("GET /product/x HTTP/1.1\nHost: shop\n\n");
            Wire.Head response = client.readHead();
            // No byte of the body has been forwarded yet, so a 502 is still possible.
            if (response.status() == 502) {
                assertThat(client.readBody(response)).startsWith("{\"error\":");
            } else {
                assertThatThrownBy(() -> client.readBody(response)).isInstanceOf(IOException.class);
            }
        }
    }

    @Test
    void cancelsTheRequestIfTheClientLeavesBeforeTheHead() throws Exception {
        CountDownLatch cancelled = new CountDownLatch(1);
        upstream.script((request, wire) -> {
            wire.awaitEnd();
            cancelled.countDown();
        });
        Wire client = client();
        client.send("GET /product/x HTTP/1.1\nHost: shop\n\n");
        upstream.request();
        client.close();
        // Before the upstream timeout, which would end it as well.
        assertThat(cancelled.await(8, TimeUnit.SECONDS)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void cancelsTheRequestIfTheClientLeavesWithinTheBody(boolean reset) throws Exception {
        CountDownLatch cancelled = new CountDownLatch(1);
        upstream.script((request, wire) -> {
            wire.send("HTTP/1.1 200 OK\nContent-Length: 11\n\nfirst");
            wire.awaitEnd();
            cancelled.countDown();
        });
        Wire client = client();
        client.send("GET /product/x HTTP/1.1\nHost: shop\n\n");
        client.readHead();
        client.readExactly(5);
        if (reset) {
            client.reset();
        } else {
            client.close();
        }
        assertThat(cancelled.await(30, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void cancelsTheRequestIfTheClientLeavesWhileSending() throws Exception {
        CountDownLatch cancelled = new CountDownLatch(1);
        upstream.script((request, wire) -> {
            wire.awaitEnd();
            cancelled.countDown();
        });
        Wire client = client();
        client.send("POST /product/x HTTP/1.1\nHost: shop\nContent-Length: 11\n\nfirst");
        upstream.request();
        client.close();
        assertThat(cancelled.await(30, TimeUnit.SECONDS)).isTrue();
    }
}
