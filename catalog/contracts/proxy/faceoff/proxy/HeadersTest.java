package faceoff.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.zip.GZIPOutputStream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Headers and statuses, from the client to the upstream and back. */
class HeadersTest extends ProxyContract {

    @Test
    void dropsHopByHopHeadersOfTheRequest() throws Exception {
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
        for (String name : new String[] {"Connection", "X-Listed", "X-Also-Listed", "Keep-Alive",
                "Proxy-Connection",
                "Proxy-Authenticate", "Proxy-Authorization", "TE", "Trailer", "Transfer-Encoding",
                "Upgrade", "HTTP2-Settings"}) {
            assertThat(request.values(name)).as(name).isEmpty();
        }
        assertThat(request.value("X-Kept")).isEqualTo("1");
    }

    @Test
    void dropsHopByHopHeadersOfTheResponse() throws Exception {
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
        Wire.Head response = get("/product/x");
        for (String name : new String[] {"X-Listed", "Proxy-Connection", "Proxy-Authenticate",
                "Trailer", "Upgrade",
                "Transfer-Encoding"}) {
            assertThat(response.values(name)).as(name).isEmpty();
        }
        assertThat(String.join(",", response.values("Connection")))
                .doesNotContainIgnoringCase("X-Listed");
        assertThat(response.values("Keep-Alive")).doesNotContain("timeout=5");
        assertThat(response.value("X-Kept")).isEqualTo("1");
    }

    @Test
    void addsForwardedHeaders() throws Exception {
        upstream.answer(OK);
        get("/product/x");
        Wire.Head request = upstream.request();
        assertThat(request.value("Host")).isEqualTo(upstream.address());
        assertThat(request.value("X-Forwarded-For")).isEqualTo("127.0.0.1");
        assertThat(request.value("X-Forwarded-Proto")).isEqualTo("http");
        assertThat(request.value("X-Forwarded-Host")).isEqualTo("shop.example:8443");
    }

    @Test
    void appendsThePeerAndReplacesForgedForwardedHeaders() throws Exception {
        upstream.answer(OK);
        get("/product/x", """
                X-Forwarded-For: 192.0.2.1, 192.0.2.2
                X-Forwarded-For: 192.0.2.3
                X-Forwarded-Proto: https
                X-Forwarded-Host: forged
                """);
        Wire.Head request = upstream.request();
        assertThat(request.value("X-Forwarded-For"))
                .isEqualTo("192.0.2.1, 192.0.2.2, 192.0.2.3, 127.0.0.1");
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
    void addsNoHeaderThatTheClientDidNotSend() throws Exception {
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
    void keepsEndToEndHeadersOfTheResponse() throws Exception {
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
        Wire.Head response = get("/product/x");
        assertThat(response.values("Set-Cookie")).containsExactly("a=1; Path=/", "b=2; HttpOnly");
        assertThat(response.value("Content-Type")).isEqualTo("application/json");
        assertThat(response.value("Date")).isEqualTo("Sun, 06 Nov 1994 08:49:37 GMT");
        assertThat(response.value("Server")).isEqualTo("upstream");
        assertThat(response.value("ETag")).isEqualTo("\"1\"");
        assertThat(response.value("Cache-Control")).isEqualTo("no-store");
        assertThat(response.value("Vary")).isEqualTo("Origin");
    }

    @Test
    void addsNoContentType() throws Exception {
        upstream.answer(OK);
        assertThat(get("/product/x").values("Content-Type")).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {200, 201, 202, 206, 299, 400, 401, 403, 404, 405, 407, 418, 429, 451, 499,
            500, 502, 503, 504, 599})
    void keepsTheStatus(int status) throws Exception {
        upstream.answer("HTTP/1.1 " + status + " Whatever\nContent-Length: 2\n\nok");
        assertThat(get("/product/x").status()).isEqualTo(status);
    }

    @ParameterizedTest
    @ValueSource(ints = {301, 302, 303, 307, 308})
    void forwardsRedirects(int status) throws Exception {
        upstream.answer("HTTP/1.1 " + status + " Moved\nLocation: http://" + upstream.address()
                + "/other\nContent-Length: 0\n\n");
        Wire.Head response = get("/product/x");
        assertThat(response.status()).isEqualTo(status);
        assertThat(response.value("Location")).isEqualTo("http://" + upstream.address() + "/other");
    }

    @Test
    void keepsCompressedBodiesUnchanged() throws Exception {
        ByteArrayOutputStream coded = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(coded)) {
            gzip.write("hello".getBytes(StandardCharsets.UTF_8));
        }
        upstream.script((request, wire) -> {
            wire.send("HTTP/1.1 200 OK\nContent-Encoding: gzip\nContent-Length: " + coded.size()
                    + "\n\n");
            wire.sendExactly(coded.toByteArray());
        });
        try (Wire client = client()) {
            client.send("GET /product/x HTTP/1.1\nHost: shop\nAccept-Encoding: gzip, br\n\n");
            Wire.Head response = client.readHead();
            assertThat(upstream.request().value("Accept-Encoding")).isEqualTo("gzip, br");
            assertThat(response.value("Content-Encoding")).isEqualTo("gzip");
            assertThat(response.value("Content-Length")).isEqualTo(Integer.toString(coded.size()));
            assertThat(client.readBytes(response)).isEqualTo(coded.toByteArray());
        }
    }
}
