package faceoff.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Methods and bodies: which framing they keep, and that they are forwarded without buffering. */
class BodiesTest extends ProxyContract {

    @ParameterizedTest
    @ValueSource(strings = {"GET", "DELETE", "PATCH", "POST", "PUT", "OPTIONS", "PROPFIND"})
    void forwardsEveryMethod(String method) throws Exception {
        upstream.answer(OK);
        try (Wire client = client()) {
            client.send(method + " /product/x HTTP/1.1\nHost: shop\n\n");
            assertThat(client.readBody(client.readHead())).isEqualTo("ok");
            Wire.Head request = upstream.request();
            assertThat(request.startLine()).isEqualTo(method + " /x HTTP/1.1");
            assertThat(request.values("Transfer-Encoding")).isEmpty();
        }
    }

    @Test
    void forwardsCrossOriginPreflights() throws Exception {
        upstream.answer("HTTP/1.1 204 No Content\nAccess-Control-Allow-Origin: *\nAllow: GET\n\n");
        try (Wire client = client()) {
            client.send(
                    "OPTIONS /product/x HTTP/1.1\nHost: shop\nOrigin: http://a.example\n"
                    + "Access-Control-Request-Method: PUT\n\n");
            Wire.Head response = client.readHead();
            assertThat(response.status()).isEqualTo(204);
            assertThat(response.value("Access-Control-Allow-Origin")).isEqualTo("*");
            assertThat(response.value("Allow")).isEqualTo("GET");
            assertThat(upstream.request().value("Origin")).isEqualTo("http://a.example");
        }
    }

    @ParameterizedTest
    @CsvSource({
            "POST, application/x-www-form-urlencoded, a=1&b=2",
            "PUT, application/x-www-form-urlencoded, a=1&b=2",
            "POST, multipart/form-data; boundary=x, --x--",
            "PATCH, text/plain, hello",
            "DELETE, text/plain, hello",
            "GET, text/plain, hello"})
    void forwardsBodiesWithoutParsingThem(String method, String type, String body)
            throws Exception {
        echo();
        for (String framing : new String[] {
                "Content-Length: " + body.length() + "\n\n" + body,
                "Transfer-Encoding: chunked\n\n" + Integer.toHexString(body.length()) + "\n" + body
                + "\n0\n\n"}) {
            try (Wire client = client()) {
                client.send(method + " /product/x HTTP/1.1\nHost: shop\nContent-Type: " + type
                        + "\n" + framing);
                assertThat(client.readBody(client.readHead())).isEqualTo(body);
                assertThat(upstream.request().value("Content-Type")).isEqualTo(type);
            }
        }
    }

    @Test
    void keepsTheLengthOfAKnownBody() throws Exception {
        echo();
        try (Wire client = client()) {
            client.send("POST /product/x HTTP/1.1\nHost: shop\nContent-Length: 5\n\nhello");
            assertThat(client.readHead().value("Content-Length")).isEqualTo("5");
            Wire.Head request = upstream.request();
            assertThat(request.value("Content-Length")).isEqualTo("5");
            assertThat(request.values("Transfer-Encoding")).isEmpty();
        }
    }

    @Test
    void forwardsAnEmptyBodyAsEmpty() throws Exception {
        echo();
        try (Wire client = client()) {
            client.send("POST /product/x HTTP/1.1\nHost: shop\nContent-Length: 0\n\n");
            assertThat(client.readBody(client.readHead())).isEmpty();
            assertThat(upstream.request().value("Content-Length")).isEqualTo("0");
        }
    }

    @Test
    void answersExpect100ContinueItself() throws Exception {
        echo();
        try (Wire client = client()) {
            client.send(
                    "POST /product/x HTTP/1.1\nHost: shop\nContent-Length: 5\n"
                    + "Expect: 100-continue\n\n");
            assertThat(client.readHead().status()).isEqualTo(100);
            client.send("hello");
            assertThat(client.readBody(client.readHead())).isEqualTo("hello");
        }
    }

    @Test
    void forwardsAChunkedResponseAsChunked() throws Exception {
        upstream.answer("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nab\n3\ncde\n0\n\n");
        try (Wire client = client()) {
            client.send("GET /product/x HTTP/1.1\nHost: shop\n\n");
            Wire.Head response = client.readHead();
            assertThat(response.value("Transfer-Encoding")).isEqualTo("chunked");
            assertThat(response.values("Content-Length")).isEmpty();
            assertThat(client.readBody(response)).isEqualTo("abcde");
        }
    }

    @Test
    void forwardsAResponseThatEndsWithItsConnection() throws Exception {
        upstream.script((request, wire) -> {
            wire.send("HTTP/1.1 200 OK\n\nabcde");
            wire.close();
        });
        try (Wire client = client()) {
            client.send("GET /product/x HTTP/1.1\nHost: shop\n\n");
            assertThat(client.readBody(client.readHead())).isEqualTo("abcde");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"Content-Length: 1234", "Transfer-Encoding: chunked", "X-No: length"})
    void forwardsOnlyTheHeadForHead(String framing) throws Exception {
        upstream.answer("HTTP/1.1 200 OK\nContent-Type: application/json\n" + framing + "\n\n");
        try (Wire client = client()) {
            for (int i = 0; i < 2; i++) {
                client.send("HEAD /product/x HTTP/1.1\nHost: shop\n\n");
                Wire.Head response = client.readHead();
                assertThat(response.status()).isEqualTo(200);
                assertThat(response.value("Content-Type")).isEqualTo("application/json");
                assertThat(response.value("Content-Length"))
                        .isEqualTo(framing.contains("1234") ? "1234" : null);
                assertThat(upstream.request().startLine()).isEqualTo("HEAD /x HTTP/1.1");
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"204 No Content\n", "304 Not Modified\nETag: \"1\"\n",
            "304 Not Modified\nContent-Length: 99\n"})
    void forwardsResponsesWithoutABody(String response) throws Exception {
        upstream.answer("HTTP/1.1 " + response + "\n");
        try (Wire client = client()) {
            for (int i = 0; i < 2; i++) {
                client.send("GET /product/x HTTP/1.1\nHost: shop\n\n");
                Wire.Head head = client.readHead();
                assertThat(head.status()).isEqualTo(Integer.parseInt(response.substring(0, 3)));
                assertThat(head.values("Transfer-Encoding")).isEmpty();
                assertThat(head.value("ETag"))
                        .isEqualTo(response.contains("ETag") ? "\"1\"" : null);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void forwardsHalfAResponseBeforeTheRestExists(boolean chunked) throws Exception {
        CountDownLatch firstHalfRead = new CountDownLatch(1);
        upstream.script((request, wire) -> {
            wire.send("HTTP/1.1 200 OK\n"
                    + (chunked ? "Transfer-Encoding: chunked\n\n5\nfirst\n"
                    : "Content-Length: 11\n\nfirst"));
            firstHalfRead.await();
            wire.send(chunked ? "6\nsecond\n0\n\n" : "second");
        });
        try (Wire client = client()) {
            client.send("GET /product/x HTTP/1.1\nHost: shop\n\n");
            client.readHead();
            assertThat(chunked ? client.readChunk() : client.readExactly(5)).asString()
                    .isEqualTo("first");
            firstHalfRead.countDown();
            assertThat(chunked ? client.readChunk() : client.readExactly(6)).asString()
                    .isEqualTo("second");
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void forwardsHalfARequestBeforeTheRestExists(boolean chunked) throws Exception {
        CountDownLatch firstHalfRead = new CountDownLatch(1);
        upstream.script((request, wire) -> {
            assertThat(chunked ? wire.readChunk() : wire.readExactly(5)).asString()
                    .isEqualTo("first");
            firstHalfRead.countDown();
            byte[] second = chunked ? wire.readChunk() : wire.readExactly(6);
            if (chunked) {
                wire.readChunk();
            }
            wire.send("HTTP/1.1 200 OK\nContent-Length: 6\n\n"
                    + new String(second, StandardCharsets.ISO_8859_1));
        });
        try (Wire client = client()) {
            client.send("POST /product/x HTTP/1.1\nHost: shop\n"
                    + (chunked ? "Transfer-Encoding: chunked\n\n5\nfirst\n"
                    : "Content-Length: 11\n\nfirst"));
            assertThat(firstHalfRead.await(30, TimeUnit.SECONDS)).isTrue();
            client.send(chunked ? "6\nsecond\n0\n\n" : "second");
            assertThat(client.readBody(client.readHead())).isEqualTo("second");
        }
    }

    @Test
    void readsFromTheUpstreamNoFasterThanTheClient() throws Exception {
        AtomicLong written = new AtomicLong();
        upstream.script((request, wire) -> {
            wire.send("HTTP/1.1 200 OK\nContent-Length: 1000000000\n\n");
            writeForever(wire, written);
        });
        try (Wire client = client()) {
            client.send("GET /product/x HTTP/1.1\nHost: shop\n\n");
            client.readHead();
            assertStalls(written);
        }
    }

    @Test
    void readsFromTheClientNoFasterThanTheUpstream() throws Exception {
        CountDownLatch over = new CountDownLatch(1);
        upstream.script((request, wire) -> over.await());
        AtomicLong written = new AtomicLong();
        try (Wire client = client()) {
            client.send("POST /product/x HTTP/1.1\nHost: shop\nContent-Length: 1000000000\n\n");
            CompletableFuture.runAsync(() -> writeForever(client, written));
            upstream.request();
            assertStalls(written);
        } finally {
            over.countDown();
        }
    }
}
