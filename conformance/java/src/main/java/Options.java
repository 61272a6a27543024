import java.util.HashMap;
import java.util.Map;

/** The command line: {@code --port P --tls-port P --h2c-port P --cert FILE --key FILE}. */
record Options(int port, int tlsPort, int h2cPort, String cert, String key) {
    static Options parse(String[] arguments) {
        Map<String, String> values = new HashMap<>();
        for (int i = 0; i + 1 < arguments.length; i += 2) {
            values.put(arguments[i], arguments[i + 1]);
        }
        return new Options(port(values, "--port"), port(values, "--tls-port"),
                port(values, "--h2c-port"),
                values.get("--cert"), values.get("--key"));
    }

    private static int port(Map<String, String> values, String name) {
        return Integer.parseInt(values.getOrDefault(name, "0"));
    }
}
