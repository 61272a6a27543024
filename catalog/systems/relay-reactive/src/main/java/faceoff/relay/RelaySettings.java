package faceoff.relay;

import java.net.URI;

import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * The settings of the relay. A wrong value ends the start.
 *
 * @param upstream where requests go: scheme, host and port
 * @param maxConnections most connections to the upstream; null for the framework's default
 */
@ConfigurationProperties("relay")
record RelaySettings(URI upstream, Integer maxConnections) {

    RelaySettings {
        if (upstream == null || !"http".equals(upstream.getScheme())
                || upstream.getHost() == null) {
            throw new IllegalArgumentException(
                    "no upstream: set UPSTREAM or --relay.upstream, such as"
                            + " http://127.0.0.1:8080, and not " + upstream);
        }
        if (maxConnections != null && maxConnections < 1) {
            throw new IllegalArgumentException("no connections to the upstream are no relay: "
                    + maxConnections);
        }
    }
}
