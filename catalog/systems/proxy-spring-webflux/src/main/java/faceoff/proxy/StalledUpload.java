package faceoff.proxy;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.handler.timeout.IdleStateEvent;
import io.netty.handler.timeout.IdleStateHandler;
import io.netty.handler.timeout.WriteTimeoutException;

/**
 * Fails a request with a {@link WriteTimeoutException} when the upstream has taken no byte of its
 * body for so long, though there were some to take. Netty's own write timeout would also cut off an
 * upstream that reads slowly.
 */
final class StalledUpload extends IdleStateHandler {

    StalledUpload(Duration limit) {
        super(true, 0, limit.toMillis(), 0, TimeUnit.MILLISECONDS);
    }

    @Override
    protected void channelIdle(ChannelHandlerContext context, IdleStateEvent event) {
        ChannelOutboundBuffer waiting = context.channel().unsafe().outboundBuffer();
        if (waiting != null && waiting.totalPendingWriteBytes() > 0) {
            context.fireExceptionCaught(WriteTimeoutException.INSTANCE);
            context.close();
        }
    }
}
