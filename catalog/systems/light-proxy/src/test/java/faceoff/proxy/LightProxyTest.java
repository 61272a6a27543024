package faceoff.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.net.http.HttpResponse;
import java.util.Map;

import org.junit.jupiter.api.Test;

class LightProxyTest {

    @Test
    void passesOnWhatIsAllowedAndRefusesTheRest() throws Exception {
        try (Backend backend = Backend.plain(); Proxy proxy = new Proxy(backend.uri(), Map.of())) {
            HttpResponse<String> answer = proxy.get("/v1/pets?limit=5", Proxy.token("valid"));
            assertEquals(200, answer.statusCode());
            assertEquals(Backend.BODY, answer.body());
            Backend.Asked asked = backend.asked();
            assertEquals("/v1/pets?limit=5", asked.path());
            assertNotNull(asked.correlationId());

            assertEquals(401, proxy.get("/v1/pets", null).statusCode());
            assertEquals(401, proxy.get("/v1/pets", Proxy.token("forged")).statusCode());
            assertEquals(401, proxy.get("/v1/pets", Proxy.token("expired")).statusCode());
            assertEquals(401, proxy.get("/v1/pets", "nonsense").statusCode());
            assertEquals(400, proxy.get("/v1/pets?limit=abc", Proxy.token("valid")).statusCode());
            assertEquals(404, proxy.get("/v1/cats", Proxy.token("valid")).statusCode());
            assertNull(backend.asked(), "what is refused does not reach the upstream");
        }
    }

    @Test
    void leavesOutHandlersThatAreSwitchedOff() throws Exception {
        Map<String, String> bare =
                Map.of("HANDLER_CHAIN", "no-specification", "EXCEPTION_ENABLED", "false",
                "TRACEABILITY_ENABLED", "false", "CORRELATION_ENABLED", "false", "AUDIT_ENABLED",
                "false");
        try (Backend backend = Backend.plain(); Proxy proxy = new Proxy(backend.uri(), bare)) {
            assertEquals(200, proxy.get("/v1/cats?limit=abc", null).statusCode());
            Backend.Asked asked = backend.asked();
            assertEquals("/v1/cats?limit=abc", asked.path());
            assertNull(asked.correlationId());
        }
    }

    @Test
    void speaksHttp2ToTheUpstreamWhereItIsTold() throws Exception {
        try (Backend backend = Backend.tls()) {
            assertEquals("HTTP/1.1", spoken(backend, Map.of()));
            Map<String, String> ours = Map.of("PROXY_HANDLER", UpstreamHandler.class.getName());
            assertEquals("HTTP/2.0", spoken(backend, ours));
            Map<String, String> oursWithout =
                    Map.of("PROXY_HANDLER", UpstreamHandler.class.getName(), "UPSTREAM_HTTP2",
                    "false");
            assertEquals("HTTP/1.1", spoken(backend, oursWithout));
        }
        try (Backend backend = Backend.plain()) {
            Map<String, String> ours =
                    Map.of("PROXY_HANDLER", UpstreamHandler.class.getName(), "UPSTREAM_HTTP2",
                    "false");
            assertEquals("HTTP/1.1", spoken(backend, ours));
        }
    }

    /** The protocol in which a request reaches the upstream. */
    private static String spoken(Backend backend, Map<String, String> settings) throws Exception {
        try (Proxy proxy = new Proxy(backend.uri(), settings)) {
            assertEquals(200, proxy.get("/v1/pets", Proxy.token("valid")).statusCode());
            return backend.asked().protocol();
        }
    }
}
