package faceoff.proxy;

import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

import org.springframework.http.HttpHeaders;

/** The headers that a proxy forwards. */
final class EndToEnd {

    /** The headers that concern one connection only (RFC 9110, section 7.6.1). */
    private static final Set<String> HOP_BY_HOP =
            Set.of("connection", "keep-alive", "proxy-connection",
            "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding",
            "upgrade");

    private EndToEnd() {
    }

    /** Returns a copy without hop-by-hop headers and those that {@code Connection} lists. */
    static HttpHeaders of(HttpHeaders headers) {
        Set<String> listed = listedByConnection(headers);
        HttpHeaders kept = new HttpHeaders();
        headers.forEach((name, values) -> {
            String lower = name.toLowerCase(Locale.ROOT);
            if (!HOP_BY_HOP.contains(lower) && !listed.contains(lower)) {
                kept.addAll(name, values);
            }
        });
        return kept;
    }

    /**
     * What is sent to the upstream: the client's end-to-end headers and where the request came
     * from. {@code Host} is left to the client library, which names the upstream; {@code Expect} is
     * met by the server that read the request.
     *
     * @param peer the address of the client's end of the connection
     */
    static HttpHeaders forwarded(HttpHeaders fromClient, String peer) {
        HttpHeaders headers = of(fromClient);
        headers.remove(HttpHeaders.HOST);
        headers.remove(HttpHeaders.EXPECT);
        List<String> before = headers.getOrEmpty("X-Forwarded-For");
        headers.set("X-Forwarded-For",
                before.isEmpty() ? peer : String.join(", ", before) + ", " + peer);
        headers.set("X-Forwarded-Proto", "http");
        String host = fromClient.getFirst(HttpHeaders.HOST);
        if (host == null) {
            headers.remove("X-Forwarded-Host");
        } else {
            headers.set("X-Forwarded-Host", host);
        }
        return headers;
    }

    private static Set<String> listedByConnection(HttpHeaders headers) {
        Set<String> listed = new HashSet<>();
        for (String value : headers.getOrEmpty(HttpHeaders.CONNECTION)) {
            for (String name : value.split(",")) {
                listed.add(name.trim().toLowerCase(Locale.ROOT));
            }
        }
        return listed;
    }
}
