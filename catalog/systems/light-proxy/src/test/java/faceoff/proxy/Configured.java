package faceoff.proxy;

import java.io.IOException;
import java.util.List;
import java.util.Map;

import com.networknt.handler.MiddlewareHandler;
import com.networknt.handler.config.HandlerConfig;
import com.networknt.proxy.ProxyConfig;
import com.networknt.security.SecurityConfig;

/**
 * Reports how light-4j is configured by an environment. It runs as a separate process, because
 * light-4j reads its configuration once.
 */
final class Configured {

    private static final String MARK = "configured: ";

    private Configured() {
    }

    /** Returns a line for each active handler, and for the other settings of variants. */
    static List<String> with(Map<String, String> settings) throws IOException {
        ProcessBuilder builder = Jvm.running(Configured.class.getName());
        builder.environment().putAll(settings);
        Process process = builder.redirectErrorStream(true).start();
        List<String> lines = process.inputReader().lines().toList();
        List<String> found = lines.stream().filter(line -> line.startsWith(MARK))
                .map(line -> line.substring(MARK.length())).toList();
        if (process.onExit().join().exitValue() != 0) {
            throw new IOException("with " + settings + ":\n" + String.join("\n", lines));
        }
        return found;
    }

    public static void main(String[] args) throws Exception {
        HandlerConfig handlers = HandlerConfig.load();
        for (String handler : handlers.getHandlers()) {
            String[] parts = handler.split("@");
            Class<?> type = Class.forName(parts[0]);
            if (!MiddlewareHandler.class.isAssignableFrom(type)) {
                say(parts[1] + " " + type.getName());
            } else if (((MiddlewareHandler) type.getDeclaredConstructor().newInstance())
                    .isEnabled()) {
                say(parts[1]);
            }
        }
        say("chain " + handlers.getPaths().getFirst().getExec());
        say("keeps verified tokens " + SecurityConfig.load().isEnableJwtCache());
        say("hosts " + ProxyConfig.load().getHosts());
        say("connections " + ProxyConfig.load().getConnectionsPerThread());
        System.exit(0);
    }

    private static void say(String line) {
        System.out.println(MARK + line);
    }
}
