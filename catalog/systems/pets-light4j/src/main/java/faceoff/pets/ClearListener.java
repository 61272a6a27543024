package faceoff.pets;

import com.networknt.handler.OrchestrationHandler;
import com.networknt.server.ServerConfig;
import com.networknt.server.StartupHookProvider;

import io.undertow.Handlers;
import io.undertow.Undertow;
import io.undertow.UndertowOptions;

import org.xnio.Options;

/**
 * Opens a second listener, in the clear, on the port {@code PETS_CLEARPORT} if it is set. light-4j
 * itself listens either in the clear or over TLS. Handlers and settings are shared; event loops and
 * workers are separate.
 */
public final class ClearListener implements StartupHookProvider {

    @Override
    public void onStartup() {
        String port = System.getenv("PETS_CLEARPORT");
        if (port == null) {
            return;
        }
        ServerConfig config = ServerConfig.load();
        Undertow.builder()
                .addHttpListener(Integer.parseInt(port), config.getIp())
                .setBufferSize(config.getBufferSize())
                .setIoThreads(config.getIoThreads())
                .setWorkerThreads(config.getWorkerThreads())
                .setSocketOption(Options.BACKLOG, config.getBacklog())
                .setServerOption(UndertowOptions.ALWAYS_SET_KEEP_ALIVE, false)
                .setServerOption(UndertowOptions.ALWAYS_SET_DATE, config.isAlwaysSetDate())
                .setServerOption(UndertowOptions.RECORD_REQUEST_START_TIME, false)
                .setServerOption(UndertowOptions.ALLOW_UNESCAPED_CHARACTERS_IN_URL,
                        config.isAllowUnescapedCharactersInUrl())
                .setServerOption(UndertowOptions.MAX_ENTITY_SIZE, config.getMaxTransferFileSize())
                .setHandler(Handlers.header(new OrchestrationHandler(), "Server",
                        config.getServerString()))
                .build()
                .start();
    }
}
