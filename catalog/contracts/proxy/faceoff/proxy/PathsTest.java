package faceoff.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Paths and queries: what the proxy forwards, and what it refuses. */
class PathsTest extends ProxyContract {

    @ParameterizedTest
    @CsvSource({
            "/product/products, /products",
            "/product, /",
            "/product/, /",
            "/product?a=1, /?a=1",
            "/product/a%2Fb%5Cc%20d%25/;v=1/./~, /a%2Fb%5Cc%20d%25/;v=1/./~",
            "/product//twice//, //twice//",
            "/product/x?empty=&none&plus=a+b&slash=%2f&q=?/&utf8=%C3%A9, "
                    + "/x?empty=&none&plus=a+b&slash=%2f&q=?/&utf8=%C3%A9",
            "http://shop.example:8443/product/x?a=1, /x?a=1"})
    void forwardsPathAndQueryByteForByteWithoutThePrefix(String sent, String forwarded)
            throws Exception {
        upstream.answer(OK);
        assertThat(get(sent).status()).isEqualTo(200);
        assertThat(upstream.request().startLine()).isEqualTo("GET " + forwarded + " HTTP/1.1");
    }

    @ParameterizedTest
    @ValueSource(strings = {"/", "/products", "/productx", "/product%2Fproducts", "/other/product",
            "/error", "/favicon.ico"})
    void answers404OutsideThePrefix(String path) throws Exception {
        try (Wire client = client()) {
            client.send("GET " + path + " HTTP/1.1\nHost: shop\n\n");
            assertError(client, 404);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"/product/%zz", "/product/x?percent=%zz"})
    void answers400ToAMalformedUri(String malformed) throws Exception {
        try (Wire client = client()) {
            client.send("GET " + malformed + " HTTP/1.1\nHost: shop\n\n");
            ThisProxy.assertRefusesMalformedUri(client);
        }
    }
}
