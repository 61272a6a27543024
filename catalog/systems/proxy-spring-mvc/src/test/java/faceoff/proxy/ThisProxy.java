package faceoff.proxy;

import java.io.IOException;

import org.springframework.boot.SpringApplication;

/** The points in which the shared tests (catalog/contracts/proxy) allow proxies to differ. */
final class ThisProxy {

    private ThisProxy() {
    }

    /** Prepares the application for a test: nothing to do on Tomcat. */
    static void prepare(SpringApplication application) {
    }

    static void assertRefusesMalformedUri(Wire client) throws IOException {
        ProxyContract.assertError(client, 400);
    }
}
