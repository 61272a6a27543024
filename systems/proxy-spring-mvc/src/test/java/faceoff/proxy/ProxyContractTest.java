package faceoff.proxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.GZIPOutputStream;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;

/** What every proxy of the experiment must do, asserted on the wire, between a client and an upstream written by hand. */
class ProxyContractTest {

    private static final String OK = "HTTP/1.1 200 OK\nContent-Length: 2\n\nok";

    private static Upstream upstream;
    private static ConfigurableApplicationContext proxy;

    @BeforeAll
    static void start() throws IOException {
        upstream = new Upstream();
        proxy = proxyBefore(upstream.address());
    }

    @AfterAll
    static void stop() throws IOException {
        proxy.close();
        upstream.close();
    }

    // Paths

    @ParameterizedTest
    @CsvSource({
            "/product/products, /products",
            "/product, /",
            "/product/, /",
            "/product?a=1, /?a=1",
            "/product/a%2Fb%5Cc%20d%25/;v=1/./~, /a%2Fb%5Cc%20d%25/;v=1/./~",
            "/product//twice//, //twice//",
            "/product/x?empty=&none&plus=a+b&slash=%2f&q=?/&utf8=%C3%A9, /x?empty=&none&plus=a+b&slash=%2f&q=?/&utf8=%C3%A9",
            "http://shop.example:8443/product/x?a=1, /x?a=1"})
    void passesPathAndQueryOnByteForByteWithoutThePrefix(String asked, String passedOn) throws Exception {
        upstream.answer(OK);
        assertThat(get(asked).status()).isEqualTo(200);
        assertThat(upstream.request().startLine()).isEqualTo("GET " + passedOn + " HTTP/1.1");
    }

    @ParameterizedTest
    @ValueSource(strings = {"/", "/products", "/productx", "/product%2Fproducts", "/other/product", "/error", "/favicon.ico"})
    void knowsNoPathOutsideThePrefix(String path) throws Exception {
        try (Wire client = client()) {
            client.send("GET " + path + " HTTP/1.1\nHost: shop\n\n");
            assertError(client, 404);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"/product/%zz", "/product/x?percent=%zz"})
    void refusesWhatIsNoUri(String malformed) throws Exception {
        try (Wire client = client()) {
            client.send("GET " + malformed + " HTTP/1.1\nHost: shop\n\n");
            assertError(client, 400);
        }
    }

    // Headers

    @Test
    void dropsWhatConcernsOneConnectionOnlyFromTheRequest() throws Exception {
        upstream.answer(OK);
        get("/product/x", """
                Connection: keep-alive, X-Listed
                Connection: x-also-listed
                X-Listed: 1
                X-Also-Listed: 1
                Keep-Alive: timeout=5
                Proxy-Connection: keep-alive
                Proxy-Authenticate: Basic
                Proxy-Authorization: Basic eDp5
                TE: trailers
                Trailer: X-Sum
                Upgrade: websocket
                X-Kept: 1
                """);
        Wire.Head request = upstream.request();
        for (String name : new String[] {"Connection", "X-Listed", "X-Also-Listed", "Keep-Alive", "Proxy-Connection",
                "Proxy-Authenticate", "Proxy-Authorization", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "HTTP2-Settings"}) {
            assertThat(request.values(name)).as(name).isEmpty();
        }
        assertThat(request.value("X-Kept")).isEqualTo("1");
    }

    @Test
    void dropsWhatConcernsOneConnectionOnlyFromTheAnswer() throws Exception {
        upstream.answer("""
                HTTP/1.1 200 OK
                Connection: keep-alive, X-Listed
                X-Listed: 1
                Keep-Alive: timeout=5
                Proxy-Connection: keep-alive
                Proxy-Authenticate: Basic
                Trailer: X-Sum
                Upgrade: h2c
                X-Kept: 1
                Content-Length: 2

                ok""");
        Wire.Head answer = get("/product/x");
        for (String name : new String[] {"X-Listed", "Proxy-Connection", "Proxy-Authenticate", "Trailer", "Upgrade",
                "Transfer-Encoding"}) {
            assertThat(answer.values(name)).as(name).isEmpty();
        }
        assertThat(String.join(",", answer.values("Connection"))).doesNotContainIgnoringCase("X-Listed");
        assertThat(answer.values("Keep-Alive")).doesNotContain("timeout=5");
        assertThat(answer.value("X-Kept")).isEqualTo("1");
    }

    @Test
    void saysWhereTheRequestCameFrom() throws Exception {
        upstream.answer(OK);
        get("/product/x");
        Wire.Head request = upstream.request();
        assertThat(request.value("Host")).isEqualTo(upstream.address());
        assertThat(request.value("X-Forwarded-For")).isEqualTo("127.0.0.1");
        assertThat(request.value("X-Forwarded-Proto")).isEqualTo("http");
        assertThat(request.value("X-Forwarded-Host")).isEqualTo("shop.example:8443");
    }

    @Test
    void appendsThePeerAndReplacesWhatTheClientClaims() throws Exception {
        upstream.answer(OK);
        get("/product/x", """
                X-Forwarded-For: 192.0.2.1, 192.0.2.2
                X-Forwarded-For: 192.0.2.3
                X-Forwarded-Proto: https
                X-Forwarded-Host: forged
                """);
        Wire.Head request = upstream.request();
        assertThat(request.value("X-Forwarded-For")).isEqualTo("192.0.2.1, 192.0.2.2, 192.0.2.3, 127.0.0.1");
        assertThat(request.value("X-Forwarded-Proto")).isEqualTo("http");
        assertThat(request.value("X-Forwarded-Host")).isEqualTo("shop.example:8443");
    }

    @Test
    void keepsEndToEndHeadersOfTheRequest() throws Exception {
        upstream.answer(OK);
        get("/product/x", """
                Accept: text/html
                Accept: application/json
                User-Agent: tester
                Cookie: a=1; b=2
                Authorization: Bearer xyz
                If-None-Match: "1"
                Range: bytes=0-1
                """);
        Wire.Head request = upstream.request();
        assertThat(request.values("Accept")).containsExactly("text/html", "application/json");
        assertThat(request.value("User-Agent")).isEqualTo("tester");
        assertThat(request.value("Cookie")).isEqualTo("a=1; b=2");
        assertThat(request.value("Authorization")).isEqualTo("Bearer xyz");
        assertThat(request.value("If-None-Match")).isEqualTo("\"1\"");
        assertThat(request.value("Range")).isEqualTo("bytes=0-1");
    }

    @Test
    void asksForNothingTheClientDidNotAskFor() throws Exception {
        upstream.answer(OK);
        get("/product/x");
        Wire.Head request = upstream.request();
        assertThat(request.values("Accept")).isEmpty();
        assertThat(request.values("Accept-Encoding")).isEmpty();
        assertThat(request.value("Content-Length")).isIn(null, "0");
        assertThat(request.values("Cookie")).isEmpty();
    }

    @Test
    void keepsNoCookieForTheNextClient() throws Exception {
        upstream.answer("HTTP/1.1 200 OK\nSet-Cookie: session=1; Path=/\nContent-Length: 0\n\n");
        get("/product/x");
        upstream.request();
        get("/product/x");
        assertThat(upstream.request().values("Cookie")).isEmpty();
    }

    @Test
    void keepsEndToEndHeadersOfTheAnswer() throws Exception {
        upstream.answer("""
                HTTP/1.1 200 OK
                Set-Cookie: a=1; Path=/
                Set-Cookie: b=2; HttpOnly
                Content-Type: application/json
                Date: Sun, 06 Nov 1994 08:49:37 GMT
                Server: upstream
                ETag: "1"
                Cache-Control: no-store
                Vary: Origin
                Content-Length: 2

                ok""");
        Wire.Head answer = get("/product/x");
        assertThat(answer.values("Set-Cookie")).containsExactly("a=1; Path=/", "b=2; HttpOnly");
        assertThat(answer.value("Content-Type")).isEqualTo("application/json");
        assertThat(answer.value("Date")).isEqualTo("Sun, 06 Nov 1994 08:49:37 GMT");
        assertThat(answer.value("Server")).isEqualTo("upstream");
        assertThat(answer.value("ETag")).isEqualTo("\"1\"");
        assertThat(answer.value("Cache-Control")).isEqualTo("no-store");
        assertThat(answer.value("Vary")).isEqualTo("Origin");
    }

    @Test
    void inventsNoContentType() throws Exception {
        upstream.answer(OK);
        assertThat(get("/product/x").values("Content-Type")).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {200, 201, 202, 206, 299, 400, 401, 403, 404, 405, 407, 418, 429, 451, 499, 500, 502, 503, 504, 599})
    void preservesTheStatus(int status) throws Exception {
        upstream.answer("HTTP/1.1 " + status + " Whatever\nContent-Length: 2\n\nok");
        assertThat(get("/product/x").status()).isEqualTo(status);
    }

    @ParameterizedTest
    @ValueSource(ints = {301, 302, 303, 307, 308})
    void passesRedirectsOn(int status) throws Exception {
        upstream.answer("HTTP/1.1 " + status + " Moved\nLocation: http://" + upstream.address() + "/other\nContent-Length: 0\n\n");
        Wire.Head answer = get("/product/x");
        assertThat(answer.status()).isEqualTo(status);
        assertThat(answer.value("Location")).isEqualTo("http://" + upstream.address() + "/other");
    }

    @Test
    void leavesCodedBodiesAsTheyAre() throws Exception {
        ByteArrayOutputStream coded = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(coded)) {
            gzip.write("hello".getBytes(StandardCharsets.UTF_8));
        }
        upstream.script((request, wire) -> {
            wire.send("HTTP/1.1 200 OK\nContent-Encoding: gzip\nContent-Length: " + coded.size() + "\n\n");
            wire.sendExactly(coded.toByteArray());
        });
        try (Wire client = client()) {
            client.send("GET /product/x HTTP/1.1\nHost: shop\nAccept-Encoding: gzip, br\n\n");
            Wire.Head answer = client.readHead();
            assertThat(upstream.request().value("Accept-Encoding")).isEqualTo("gzip, br");
            assertThat(answer.value("Content-Encoding")).isEqualTo("gzip");
            assertThat(answer.value("Content-Length")).isEqualTo(Integer.toString(coded.size()));
            assertThat(client.readBytes(answer)).isEqualTo(coded.toByteArray());
        }
    }

    // Methods and bodies

    @ParameterizedTest
    @ValueSource(strings = {"GET", "DELETE", "PATCH", "POST", "PUT", "OPTIONS", "PROPFIND"})
    void passesEveryMethodOn(String method) throws Exception {
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
    void leavesCrossOriginQuestionsToTheUpstream() throws Exception {
        upstream.answer("HTTP/1.1 204 No Content\nAccess-Control-Allow-Origin: *\nAllow: GET\n\n");
        try (Wire client = client()) {
            client.send("OPTIONS /product/x HTTP/1.1\nHost: shop\nOrigin: http://a.example\nAccess-Control-Request-Method: PUT\n\n");
            Wire.Head answer = client.readHead();
            assertThat(answer.status()).isEqualTo(204);
            assertThat(answer.value("Access-Control-Allow-Origin")).isEqualTo("*");
            assertThat(answer.value("Allow")).isEqualTo("GET");
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
    void passesBodiesOnUnread(String method, String type, String body) throws Exception {
        echo();
        for (String framing : new String[] {
                "Content-Length: " + body.length() + "\n\n" + body,
                "Transfer-Encoding: chunked\n\n" + Integer.toHexString(body.length()) + "\n" + body + "\n0\n\n"}) {
            try (Wire client = client()) {
                client.send(method + " /product/x HTTP/1.1\nHost: shop\nContent-Type: " + type + "\n" + framing);
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
    void passesAnEmptyBodyOnAsEmpty() throws Exception {
        echo();
        try (Wire client = client()) {
            client.send("POST /product/x HTTP/1.1\nHost: shop\nContent-Length: 0\n\n");
            assertThat(client.readBody(client.readHead())).isEmpty();
            assertThat(upstream.request().value("Content-Length")).isEqualTo("0");
        }
    }

    @Test
    void meetsTheExpectationToContinueItself() throws Exception {
        echo();
        try (Wire client = client()) {
            client.send("POST /product/x HTTP/1.1\nHost: shop\nContent-Length: 5\nExpect: 100-continue\n\n");
            assertThat(client.readHead().status()).isEqualTo(100);
            client.send("hello");
            assertThat(client.readBody(client.readHead())).isEqualTo("hello");
        }
    }

    @Test
    void passesAChunkedAnswerOnAsChunked() throws Exception {
        upstream.answer("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nab\n3\ncde\n0\n\n");
        try (Wire client = client()) {
            client.send("GET /product/x HTTP/1.1\nHost: shop\n\n");
            Wire.Head answer = client.readHead();
            assertThat(answer.value("Transfer-Encoding")).isEqualTo("chunked");
            assertThat(answer.values("Content-Length")).isEmpty();
            assertThat(client.readBody(answer)).isEqualTo("abcde");
        }
    }

    @Test
    void passesAnAnswerThatEndsWithItsConnectionOn() throws Exception {
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
    void passesTheHeadOnForHeadWithoutABody(String framing) throws Exception {
        upstream.answer("HTTP/1.1 200 OK\nContent-Type: application/json\n" + framing + "\n\n");
        try (Wire client = client()) {
            for (int i = 0; i < 2; i++) {
                client.send("HEAD /product/x HTTP/1.1\nHost: shop\n\n");
                Wire.Head answer = client.readHead();
                assertThat(answer.status()).isEqualTo(200);
                assertThat(answer.value("Content-Type")).isEqualTo("application/json");
                assertThat(answer.value("Content-Length")).isEqualTo(framing.contains("1234") ? "1234" : null);
                assertThat(upstream.request().startLine()).isEqualTo("HEAD /x HTTP/1.1");
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"204 No Content\n", "304 Not Modified\nETag: \"1\"\n", "304 Not Modified\nContent-Length: 99\n"})
    void passesAnswersThatHaveNoBodyOn(String answer) throws Exception {
        upstream.answer("HTTP/1.1 " + answer + "\n");
        try (Wire client = client()) {
            for (int i = 0; i < 2; i++) {
                client.send("GET /product/x HTTP/1.1\nHost: shop\n\n");
                Wire.Head head = client.readHead();
                assertThat(head.status()).isEqualTo(Integer.parseInt(answer.substring(0, 3)));
                assertThat(head.values("Transfer-Encoding")).isEmpty();
                assertThat(head.value("ETag")).isEqualTo(answer.contains("ETag") ? "\"1\"" : null);
            }
        }
    }

    // Streaming

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void handsTheFirstHalfOfAnAnswerOnBeforeTheSecondExists(boolean chunked) throws Exception {
        CountDownLatch firstHalfRead = new CountDownLatch(1);
        upstream.script((request, wire) -> {
            wire.send("HTTP/1.1 200 OK\n" + (chunked ? "Transfer-Encoding: chunked\n\n5\nfirst\n" : "Content-Length: 11\n\nfirst"));
            firstHalfRead.await();
            wire.send(chunked ? "6\nsecond\n0\n\n" : "second");
        });
        try (Wire client = client()) {
            client.send("GET /product/x HTTP/1.1\nHost: shop\n\n");
            client.readHead();
            assertThat(chunked ? client.readChunk() : client.readExactly(5)).asString().isEqualTo("first");
            firstHalfRead.countDown();
            assertThat(chunked ? client.readChunk() : client.readExactly(6)).asString().isEqualTo("second");
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void handsTheFirstHalfOfARequestOnBeforeTheSecondExists(boolean chunked) throws Exception {
        CountDownLatch firstHalfRead = new CountDownLatch(1);
        upstream.script((request, wire) -> {
            assertThat(chunked ? wire.readChunk() : wire.readExactly(5)).asString().isEqualTo("first");
            firstHalfRead.countDown();
            byte[] second = chunked ? wire.readChunk() : wire.readExactly(6);
            if (chunked) {
                wire.readChunk();
            }
            wire.send("HTTP/1.1 200 OK\nContent-Length: 6\n\n" + new String(second, StandardCharsets.ISO_8859_1));
        });
        try (Wire client = client()) {
            client.send("POST /product/x HTTP/1.1\nHost: shop\n"
                    + (chunked ? "Transfer-Encoding: chunked\n\n5\nfirst\n" : "Content-Length: 11\n\nfirst"));
            assertThat(firstHalfRead.await(30, TimeUnit.SECONDS)).isTrue();
            client.send(chunked ? "6\nsecond\n0\n\n" : "second");
            assertThat(client.readBody(client.readHead())).isEqualTo("second");
        }
    }

    @Test
    void takesNoMoreFromTheUpstreamThanTheClientReads() throws Exception {
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
    void takesNoMoreFromTheClientThanTheUpstreamReads() throws Exception {
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

    // Failures

    @Test
    void answers502WhenTheUpstreamCannotBeReached() throws Exception {
        String nobody;
        try (ServerSocket taken = new ServerSocket(0)) {
            nobody = "127.0.0.1:" + taken.getLocalPort();
        }
        try (ConfigurableApplicationContext lonely = proxyBefore(nobody); Wire client = clientOf(lonely)) {
            client.send("GET /product/x HTTP/1.1\nHost: shop\n\n");
            assertError(client, 502);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "HTTP/1.1 200 OK\nContent-Le", "nonsense\n\n"})
    void answers502WhenTheUpstreamSendsNoWholeHead(String head) throws Exception {
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
        try (ConfigurableApplicationContext hasty = proxyBefore(upstream.address(), "--proxy.upstream-timeout=300ms");
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

    /** More than the sockets and both libraries hold between client and upstream. */
    private static final int MORE_THAN_FITS = 64 << 20;

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void answers504WhenTheUpstreamStopsReading(boolean chunked) throws Exception {
        try (ConfigurableApplicationContext hasty = proxyBefore(upstream.address(), "--proxy.upstream-timeout=300ms");
                Wire client = clientOf(hasty)) {
            CountDownLatch given504 = new CountDownLatch(1);
            upstream.script((request, wire) -> given504.await());
            client.send("POST /product/x HTTP/1.1\nHost: shop\n" + (chunked ? "Transfer-Encoding: chunked\n\n"
                    + Integer.toHexString(MORE_THAN_FITS) + "\n" : "Content-Length: " + MORE_THAN_FITS + "\n\n"));
            Thread sender = new Thread(() -> {
                try {
                    client.sendExactly(new byte[MORE_THAN_FITS]);
                } catch (IOException cutOff) {
                    // The proxy has answered and need not read the rest.
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
    void letsTheUpstreamReadSlowly() throws Exception {
        try (ConfigurableApplicationContext hasty = proxyBefore(upstream.address(), "--proxy.upstream-timeout=2s");
                Wire client = clientOf(hasty)) {
            upstream.script((request, wire) -> {
                for (int piece = 0; piece < 8; piece++) {
                    wire.readExactly(MORE_THAN_FITS / 8);
                    Thread.sleep(400);
                }
                wire.send("HTTP/1.1 200 OK\nContent-Length: 2\n\nok");
            });
            client.send("POST /product/x HTTP/1.1\nHost: shop\nContent-Length: " + MORE_THAN_FITS + "\n\n");
            client.sendExactly(new byte[MORE_THAN_FITS]);
            assertThat(client.readHead().status()).isEqualTo(200);
        }
    }

    @Test
    void limitsTheWaitForTheHeadOnly() throws Exception {
        try (ConfigurableApplicationContext hasty = proxyBefore(upstream.address(), "--proxy.upstream-timeout=2s");
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
            Wire.Head answer = client.readHead();
            assertThat(answer.status()).isEqualTo(200);
            assertThat(client.readBody(answer)).isEqualTo("ok");
        }
    }

    @ParameterizedTest
    @CsvSource({"true, true", "true, false", "false, true", "false, false"})
    void breaksOffWhatTheUpstreamBreaksOff(boolean chunked, boolean reset) throws Exception {
        CountDownLatch firstHalfRead = new CountDownLatch(1);
        upstream.script((request, wire) -> {
            wire.send("HTTP/1.1 200 OK\n" + (chunked ? "Transfer-Encoding: chunked\n\n5\nfirst\n" : "Content-Length: 11\n\nfirst"));
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
            assertThat(chunked ? client.readChunk() : client.readExactly(5)).asString().isEqualTo("first");
            firstHalfRead.countDown();
            assertThatThrownBy(() -> {
                if (chunked) {
                    client.readChunk();
                } else {
                    client.readExactly(6);
                }
            }).isInstanceOf(IOException.class);
            upstream.request();
            assertThat(upstream.hasRequest()).as("asked again").isFalse();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void takesAnAnswerThatEndsRightBehindItsHeadForNoWholeOne(boolean chunked) throws Exception {
        upstream.script((request, wire) -> {
            wire.send("HTTP/1.1 200 OK\n" + (chunked ? "Transfer-Encoding: chunked" : "Content-Length: 11") + "\n\n");
            wire.close();
        });
        try (Wire client = client()) {
            client.send("GET /product/x HTTP/1.1\nHost: shop\n\n");
            Wire.Head answer = client.readHead();
            // Nothing of the body has been passed on, so that it is not too late to say 502.
            if (answer.status() == 502) {
                assertThat(client.readBody(answer)).startsWith("{\"error\":");
            } else {
                assertThatThrownBy(() -> client.readBody(answer)).isInstanceOf(IOException.class);
            }
        }
    }

    @Test
    void cancelsTheRequestOfAClientThatLeavesBeforeTheHead() throws Exception {
        CountDownLatch cancelled = new CountDownLatch(1);
        upstream.script((request, wire) -> {
            wire.awaitEnd();
            cancelled.countDown();
        });
        Wire client = client();
        client.send("GET /product/x HTTP/1.1\nHost: shop\n\n");
        upstream.request();
        client.close();
        // Sooner than the upstream timeout, which would end it too.
        assertThat(cancelled.await(8, TimeUnit.SECONDS)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void cancelsTheRequestOfAClientThatLeavesWithinTheBody(boolean reset) throws Exception {
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
    void cancelsTheRequestOfAClientThatLeavesWithinItsOwnBody() throws Exception {
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

    // Connections and lives

    @Test
    void usesAnUpstreamConnectionAgain() throws Exception {
        upstream.answer(OK);
        try (ConfigurableApplicationContext fresh = proxyBefore(upstream.address()); Wire client = clientOf(fresh)) {
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
    void answersPipelinedRequestsInTheirOrder() throws Exception {
        upstream.script((request, wire) -> {
            // Long enough for a look at whether the client is still there.
            Thread.sleep(700);
            wire.send("HTTP/1.1 200 OK\nContent-Length: 2\n\n" + request.startLine().substring(5, 7));
        });
        try (Wire client = client()) {
            client.send("GET /product/p1 HTTP/1.1\nHost: shop\n\n");
            upstream.request();
            client.send("GET /product/p2 HTTP/1.1\nHost: shop\n\nGET /product/p3 HTTP/1.1\nHost: shop\n\n");
            for (String expected : new String[] {"p1", "p2", "p3"}) {
                assertThat(client.readBody(client.readHead())).isEqualTo(expected);
            }
        }
    }

    @Test
    void finishesWhatIsInFlightBeforeItStops() throws Exception {
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
    void refusesToStartWithAWrongSetting(String setting, String message) {
        assertThatThrownBy(() -> proxyBefore("127.0.0.1:80", setting).close()).rootCause().hasMessageContaining(message);
    }

    // Help

    private static ConfigurableApplicationContext proxyBefore(String upstreamAddress, String... settings) {
        SpringApplication application = new SpringApplication(ProxyApplication.class);
        String[] arguments = new String[settings.length + 2];
        arguments[0] = "--server.port=0";
        // A setting given twice would be a list; a test's own comes alone.
        boolean own = settings.length > 0 && settings[0].startsWith("--proxy.upstream=");
        arguments[1] = own ? "--server.address=127.0.0.1" : "--proxy.upstream=http://" + upstreamAddress;
        System.arraycopy(settings, 0, arguments, 2, settings.length);
        return application.run(arguments);
    }

    private static Wire client() throws IOException {
        return clientOf(proxy);
    }

    private static Wire clientOf(ConfigurableApplicationContext proxy) throws IOException {
        return Wire.to(proxy.getEnvironment().getRequiredProperty("local.server.port", Integer.class));
    }

    private static Wire.Head get(String path) throws IOException {
        return get(path, "");
    }

    private static Wire.Head get(String path, String headers) throws IOException {
        try (Wire client = client()) {
            client.send("GET " + path + " HTTP/1.1\nHost: shop.example:8443\n" + headers + "\n");
            Wire.Head answer = client.readHead();
            client.readBody(answer);
            return answer;
        }
    }

    private static void echo() {
        upstream.script((request, wire) -> {
            byte[] body = wire.readBytes(request);
            wire.send("HTTP/1.1 200 OK\nContent-Length: " + body.length + "\n\n");
            wire.sendExactly(body);
        });
    }

    private static void assertError(Wire client, int status) throws IOException {
        Wire.Head answer = client.readHead();
        assertThat(answer.status()).isEqualTo(status);
        assertThat(answer.value("Content-Type")).isEqualTo("application/json");
        assertThat(client.readBody(answer)).matches("\\{\"error\":\"[^\"]+\"}");
    }

    private static void writeForever(Wire wire, AtomicLong written) {
        byte[] piece = new byte[65536];
        try {
            while (true) {
                wire.sendExactly(piece);
                written.addAndGet(piece.length);
            }
        } catch (IOException end) {
            // The other end has had enough.
        }
    }

    /** What lies between writer and reader is bounded: buffers of sockets and of the proxy, far less than this. */
    private static void assertStalls(AtomicLong written) throws InterruptedException {
        for (long before = -1; before != written.get() || before == 0;) {
            before = written.get();
            assertThat(before).isLessThan(100_000_000);
            Thread.sleep(500);
        }
    }
}
