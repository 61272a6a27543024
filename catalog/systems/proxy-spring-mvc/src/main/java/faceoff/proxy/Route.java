package faceoff.proxy;

import java.net.URI;

/** Maps the path of a client to that of the upstream, byte for byte, without decoding. */
final class Route {

    private static final String PREFIX = "/product";

    private Route() {
    }

    /** Returns whether a path, as the client sent it, belongs to the upstream. */
    static boolean matches(String rawPath) {
        return rawPath.startsWith(PREFIX)
                && (rawPath.length() == PREFIX.length() || rawPath.charAt(PREFIX.length()) == '/');
    }

    /**
     * The upstream's URI for a path that {@linkplain #matches matches}.
     *
     * @param rawQuery the query without its question mark, or null
     * @throws IllegalArgumentException if path or query is not well-formed
     */
    static URI to(URI upstream, String rawPath, String rawQuery) {
        String path = rawPath.length() == PREFIX.length() ? "/"
                : rawPath.substring(PREFIX.length());
        return URI.create(upstream + path + (rawQuery == null ? "" : "?" + rawQuery));
    }
}
