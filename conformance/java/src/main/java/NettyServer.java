import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2SecurityUtil;
import io.netty.handler.codec.http2.Http2StreamFrameToHttpObjectCodec;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.ApplicationProtocolNegotiationHandler;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SupportedCipherSuiteFilter;
import java.io.File;
import java.util.function.Consumer;

/** The routes of README.md on Netty. */
public final class NettyServer {
    private static final int BODY_MAX = 10_000_000;

    public static void main(String[] arguments) throws Exception {
        Options options = Options.parse(arguments);
        EventLoopGroup loops = new MultiThreadIoEventLoopGroup(NioIoHandler.newFactory());
        SslContext tls = tls(options);
        listen(loops, options.port(), NettyServer::http1);
        listen(loops, options.h2cPort(), NettyServer::http2);
        listen(loops, options.tlsPort(),
                channel -> channel.pipeline()
                .addLast(tls.newHandler(channel.alloc()), new ByAlpn()))
                .closeFuture().sync();
    }

    private static Channel listen(EventLoopGroup loops, int port, Consumer<Channel> set)
            throws InterruptedException {
        return new ServerBootstrap().group(loops).channel(NioServerSocketChannel.class)
                .childHandler(initializer(set)).bind("127.0.0.1", port).sync().channel();
    }

    private static ChannelInitializer<Channel> initializer(Consumer<Channel> set) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                set.accept(channel);
            }
        };
    }

    private static void http1(Channel channel) {
        channel.pipeline()
                .addLast(new HttpServerCodec(), new HttpObjectAggregator(BODY_MAX),
                        new Answers(false));
    }

    private static void http2(Channel channel) {
        channel.pipeline()
                .addLast(Http2FrameCodecBuilder.forServer().build(),
                        new Http2MultiplexHandler(initializer(stream ->
                stream.pipeline()
                .addLast(new Http2StreamFrameToHttpObjectCodec(true),
                        new HttpObjectAggregator(BODY_MAX), new Answers(true)))));
    }

    private static SslContext tls(Options options) throws Exception {
        return SslContextBuilder.forServer(new File(options.cert()), new File(options.key()))
                .ciphers(Http2SecurityUtil.CIPHERS, SupportedCipherSuiteFilter.INSTANCE)
                .applicationProtocolConfig(
                        new ApplicationProtocolConfig(ApplicationProtocolConfig.Protocol.ALPN,
                        ApplicationProtocolConfig.SelectorFailureBehavior.NO_ADVERTISE,
                        ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT,
                        ApplicationProtocolNames.HTTP_2, ApplicationProtocolNames.HTTP_1_1))
                .build();
    }

    private static final class ByAlpn extends ApplicationProtocolNegotiationHandler {
        ByAlpn() {
            super(ApplicationProtocolNames.HTTP_1_1);
        }

        @Override
        protected void configurePipeline(ChannelHandlerContext context, String protocol) {
            if (protocol.equals(ApplicationProtocolNames.HTTP_2)) {
                http2(context.channel());
            } else {
                http1(context.channel());
            }
        }
    }

    private static final class Answers extends SimpleChannelInboundHandler<FullHttpRequest> {
        private final boolean isStream;

        Answers(boolean isStream) {
            this.isStream = isStream;
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
            boolean isHead = request.method().equals(HttpMethod.HEAD);
            boolean keepAlive = isStream || HttpUtil.isKeepAlive(request);
            Route route = Route.of(request.uri());
            switch (route.name()) {
                case "length" ->
                        whole(context, 200, Route.pattern(route.number()), isHead, keepAlive);
                case "chunked" ->
                        pieces(context, Route.pattern(route.number()), isHead, true, keepAlive,
                        false);
                case "close" ->
                        pieces(context, Route.pattern(route.number()), isHead, false, isStream,
                        false);
                case "status" -> {
                    HttpResponse response =
                            new DefaultFullHttpResponse(HttpVersion.HTTP_1_1,
                            HttpResponseStatus.valueOf(route.number()));
                    last(context, response, keepAlive);
                }
                case "echo" -> {
                    byte[] body = new byte[request.content().readableBytes()];
                    request.content().readBytes(body);
                    whole(context, 200, body, isHead, keepAlive);
                }
                case "trailers" ->
                        pieces(context, Route.pattern(1000), isHead, true, keepAlive, true);
                case "early" -> {
                    FullHttpResponse early =
                            new DefaultFullHttpResponse(HttpVersion.HTTP_1_1,
                            HttpResponseStatus.EARLY_HINTS);
                    early.headers().set("link", "</style.css>; rel=preload; as=style");
                    context.writeAndFlush(early);
                    whole(context, 200, Route.pattern(1000), isHead, keepAlive);
                }
                case "keep-alive-off" -> whole(context, 200, Route.pattern(1000), isHead, isStream);
                default -> whole(context, 404, new byte[0], isHead, keepAlive);
            }
        }

        private void whole(ChannelHandlerContext context, int status, byte[] body, boolean isHead,
                boolean keepAlive) {
            HttpResponse response =
                    new DefaultFullHttpResponse(HttpVersion.HTTP_1_1,
                    HttpResponseStatus.valueOf(status),
                    Unpooled.wrappedBuffer(isHead ? new byte[0] : body));
            response.headers().set(HttpHeaderNames.CONTENT_LENGTH, body.length);
            last(context, response, keepAlive);
        }

        private void pieces(ChannelHandlerContext context, byte[] body, boolean isHead,
                boolean chunked, boolean keepAlive,
                boolean hasTrailer) {
            HttpResponse response =
                    new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK);
            HttpUtil.setTransferEncodingChunked(response, chunked);
            if (hasTrailer) {
                response.headers().set(HttpHeaderNames.TRAILER, "checksum");
            }
            say(response, keepAlive);
            context.writeAndFlush(response);
            for (byte[] piece : Route.pieces(isHead ? new byte[0] : body)) {
                context.writeAndFlush(new DefaultHttpContent(Unpooled.wrappedBuffer(piece)));
            }
            LastHttpContent end = new DefaultLastHttpContent();
            if (hasTrailer) {
                end.trailingHeaders().set("checksum", "abc");
            }
            finish(context.writeAndFlush(end), keepAlive);
        }

        private void last(ChannelHandlerContext context, HttpResponse response, boolean keepAlive) {
            say(response, keepAlive);
            finish(context.writeAndFlush(response), keepAlive);
        }

        private void say(HttpResponse response, boolean keepAlive) {
            if (!keepAlive) {
                response.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
            }
        }

        private void finish(ChannelFuture written, boolean keepAlive) {
            if (!keepAlive) {
                written.addListener(ChannelFutureListener.CLOSE);
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            context.close();
        }
    }
}
