package faceoff.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * The base of the tests that every Spring proxy must pass.
 *
 * <p>They assert what is on the wire, between a client and an upstream written by hand. Each
 * proxy's {@code ThisProxy} has the few points in which the proxies may differ. Start reading with
 * PathsTest.
 */
abstract class ProxyContract {

    static final String OK = "HTTP/1.1 200 OK\nContent-Length: 2\n\nok";

    static Upstream upstream;
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

    static ConfigurableApplicationContext proxyBefore(String upstreamAddress, String... settings) {
        SpringApplication application = new SpringApplication(ProxyApplication.class);
        String[] arguments = new String[settings.length + 2];
        arguments[0] = "--server.port=0";
        // A setting that is given twice would become a list.
        boolean hasUpstream = settings.length > 0 && settings[0].startsWith("--proxy.upstream=");
        arguments[1] = hasUpstream ? "--server.address=127.0.0.1" : "--proxy.upstream=http://"
                + upstreamAddress;
        System.arraycopy(settings, 0, arguments, 2, settings.length);
        ThisProxy.prepare(application);
        return application.run(arguments);
    }

    static Wire client() throws IOException {
        return clientOf(proxy);
    }

    static Wire clientOf(ConfigurableApplicationContext proxy) throws IOException {
        return Wire.to(proxy.getEnvironment()
                .getRequiredProperty("local.server.port", Integer.class));
    }

    static Wire.Head get(String path) throws IOException {
        return get(path, "");
    }

    static Wire.Head get(String path, String headers) throws IOException {
        try (Wire client = client()) {
            client.send("GET " + path + " HTTP/1.1\nHost: shop.example:8443\n" + headers + "\n");
            Wire.Head response = client.readHead();
            client.readBody(response);
            return response;
        }
    }

    static void echo() {
        upstream.script((request, wire) -> {
            byte[] body = wire.readBytes(request);
            wire.send("HTTP/1.1 200 OK\nContent-Length: " + body.length + "\n\n");
            wire.sendExactly(body);
        });
    }

    static void assertError(Wire client, int status) throws IOException {
        Wire.Head response = client.readHead();
        assertThat(response.status()).isEqualTo(status);
        assertThat(response.value("Content-Type")).isEqualTo("application/json");
        assertThat(client.readBody(response)).matches("\\{\"error\":\"[^\"]+\"}");
    }

    static void writeForever(Wire wire, AtomicLong written) {
        byte[] piece = new byte[65536];
        try {
            while (true) {
                wire.sendExactly(piece);
                written.addAndGet(piece.length);
            }
        } catch (IOException end) {
            // The other end has closed the connection.
        }
    }

    /** Asserts that the writer stops: sockets and the proxy buffer far less than 100 MB. */
    static void assertStalls(AtomicLong written) throws InterruptedException {
        for (long before = -1; before != written.get() || before == 0;) {
            before = written.get();
            assertThat(before).isLessThan(100_000_000);
            Thread.sleep(500);
        }
    }
}
