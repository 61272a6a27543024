import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.GeneralSecurityException;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.Signature;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/**
 * Makes the keys, certificates and tokens of the pet store's systems and workloads, once and for
 * all: test material that protects nothing. Run it in the repository's folder: {@code java
 * catalog/systems/light-proxy/test-material/Make.java}
 */
public class Make {

    private static final String PASSWORD = "password";
    private static final Path PROXY = Path.of("catalog/systems/light-proxy/config");
    private static final Path SERVICE = Path.of("catalog/systems/pets-light4j/config");
    private static final long YEAR_2020 = 1577836800;
    private static final long YEAR_2100 = 4102444800L;

    public static void main(String[] args) throws Exception {
        Path scratch = Files.createTempDirectory("test-material");

        // TLS between proxy and service: the service's key, and the proxy's trust in its
        // certificate.
        Path keystore = SERVICE.resolve("server.keystore");
        Path truststore = PROXY.resolve("client.truststore");
        Files.deleteIfExists(keystore);
        Files.deleteIfExists(truststore);
        makeKey(keystore);
        Path certificate = scratch.resolve("server.crt");
        exportCertificate(keystore, certificate);
        keytool("-importcert", "-noprompt", "-alias", "server", "-file", certificate.toString(),
                "-keystore", truststore.toString(), "-storetype", "PKCS12", "-storepass", PASSWORD);

        // Tokens. The key that signs them is thrown away: there will be no others.
        Path signer = scratch.resolve("jwt.keystore");
        makeKey(signer);
        exportCertificate(signer, PROXY.resolve("jwt.crt"));
        Files.copy(PROXY.resolve("jwt.crt"), SERVICE.resolve("jwt.crt"),
                StandardCopyOption.REPLACE_EXISTING);
        PrivateKey key = privateKey(signer);
        KeyPairGenerator stranger = KeyPairGenerator.getInstance("RSA");
        stranger.initialize(2048);
        Files.writeString(Path.of("catalog/workloads/pets-tokens.csv"),
                String.join(",", "valid", "forged", "expired") + "\n"
                + String.join(",", token(key, YEAR_2100),
                token(stranger.generateKeyPair().getPrivate(), YEAR_2100),
                        token(key, YEAR_2020)) + "\n");
    }

    private static void makeKey(Path keystore) throws Exception {
        keytool("-genkeypair", "-alias", "test", "-keyalg", "RSA", "-keysize", "2048", "-validity",
                "36500",
                "-dname", "CN=faceoff test material", "-ext", "SAN=ip:127.0.0.1,dns:localhost",
                "-keystore", keystore.toString(), "-storetype", "PKCS12", "-storepass", PASSWORD);
    }

    private static void exportCertificate(Path keystore, Path file) throws Exception {
        keytool("-exportcert", "-rfc", "-alias", "test", "-file", file.toString(),
                "-keystore", keystore.toString(), "-storepass", PASSWORD);
    }

    private static void keytool(String... arguments) throws IOException, InterruptedException {
        List<String> command =
                new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "keytool")
                .toString()));
        command.addAll(List.of(arguments));
        int status = new ProcessBuilder(command).inheritIO().start().waitFor();
        if (status != 0) {
            throw new IOException("keytool ended with " + status);
        }
    }

    private static PrivateKey privateKey(Path keystore)
            throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream in = new FileInputStream(keystore.toFile())) {
            store.load(in, PASSWORD.toCharArray());
        }
        return (PrivateKey) store.getKey("test", PASSWORD.toCharArray());
    }

    private static String token(PrivateKey key, long expires) throws GeneralSecurityException {
        String signed = base64("{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\"100\"}") + "."
                + base64(("{\"iss\":\"faceoff\",\"iat\":1546300800,"
                + "\"exp\":%d,\"client_id\":\"faceoff\",\"user_id\":\"faceoff\","
                + "\"scope\":\"read:pets\"}").formatted(expires));
        Signature signature = Signature.getInstance("SHA256withRSA");
        signature.initSign(key);
        signature.update(signed.getBytes(StandardCharsets.US_ASCII));
        return signed + "." + Base64.getUrlEncoder().withoutPadding()
                .encodeToString(signature.sign());
    }

    private static String base64(String text) {
        return Base64.getUrlEncoder().withoutPadding()
                .encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }
}
