package faceoff.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;

import org.springframework.boot.SpringApplication;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.http.client.ReactorResourceFactory;

/** The points in which the shared tests (catalog/contracts/proxy) allow proxies to differ. */
final class ThisProxy {

    private ThisProxy() {
    }

    /** Gives each proxy its own event loops: they must outlive other proxies of the process. */
    static void prepare(SpringApplication application) {
        application.addInitializers(context -> {
            ReactorResourceFactory resources = new ReactorResourceFactory();
            resources.setUseGlobalResources(false);
            resources.setShutdownQuietPeriod(Duration.ZERO);
            ((GenericApplicationContext) context)
                    .registerBean(ReactorResourceFactory.class, () -> resources);
        });
    }

    /** Reactor Netty refuses a malformed URI below the framework, so without a body. */
    static void assertRefusesMalformedUri(Wire client) throws IOException {
        assertThat(client.readHead().status()).isEqualTo(400);
    }
}
