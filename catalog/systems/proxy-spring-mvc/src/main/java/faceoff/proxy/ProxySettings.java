package faceoff.proxy;

import java.net.URI;
import java.time.Duration;

import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * The settings of the proxy. A wrong value ends the start.
 *
 * @param upstream where requests go: scheme, host and port alone
 * @param upstreamTimeout the longest wait for a connection, and for the head of an answer once the
 * request has been sent
 */
@ConfigurationProperties("proxy")
record ProxySettings(URI upstream, Duration upstreamTimeout) {

    ProxySettings {
        if (upstream == null || upstream.toString().isEmpty()) {
            throw new IllegalArgumentException(
                    "the upstream is not set: set UPSTREAM or --proxy.upstream,"
                            + " such as http://127.0.0.1:8081");
        }
        boolean originOnly = upstream.getRawPath() != null && upstream.getRawPath().isEmpty()
                && upstream.getRawQuery() == null && upstream.getRawFragment() == null
                && upstream.getRawUserInfo() == null;
        if (!"http".equals(upstream.getScheme()) || upstream.getHost() == null || !originOnly) {
            throw new IllegalArgumentException(
                    "the upstream must look like http://127.0.0.1:8081, without a path, but is "
                    + upstream);
        }
        if (upstreamTimeout == null || upstreamTimeout.isNegative() || upstreamTimeout.isZero()) {
            throw new IllegalArgumentException("the upstream timeout must be positive, but is "
                    + upstreamTimeout);
        }
    }
}
