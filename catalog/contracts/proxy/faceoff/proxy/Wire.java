package faceoff.proxy;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * One end of a connection, with HTTP/1.1 read and written by hand. So tests assert the bytes on the
 * wire.
 */
final class Wire implements Closeable {

    /** A start line and the header lines under it. */
    record Head(String startLine, List<String[]> headers) {

        List<String> values(String name) {
            return headers.stream().filter(header -> header[0].equalsIgnoreCase(name))
                    .map(header -> header[1]).toList();
        }

        /** Returns the only value of a header; null without one. */
        String value(String name) {
            List<String> values = values(name);
            if (values.size() > 1) {
                throw new AssertionError(name + " is repeated: " + values);
            }
            return values.isEmpty() ? null : values.get(0);
        }

        int status() {
            return Integer.parseInt(startLine.split(" ")[1]);
        }
    }

    private final Socket socket;
    private final InputStream in;

    Wire(Socket socket) throws IOException {
        this.socket = socket;
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(30_000);
        in = new BufferedInputStream(socket.getInputStream());
    }

    static Wire to(int port) throws IOException {
        return new Wire(new Socket(InetAddress.getLoopbackAddress(), port));
    }

    /** Sends text; each line feed is sent as CR LF. */
    void send(String text) throws IOException {
        sendExactly(text.replace("\n", "\r\n").getBytes(StandardCharsets.ISO_8859_1));
    }

    void sendExactly(byte[] bytes) throws IOException {
        socket.getOutputStream().write(bytes);
    }

    /** Reads the next head; null if the other end has closed instead. */
    Head readHead() throws IOException {
        String startLine = readLine();
        if (startLine == null) {
            return null;
        }
        List<String[]> headers = new ArrayList<>();
        for (String line; !(line = required(readLine())).isEmpty();) {
            int colon = line.indexOf(':');
            headers.add(new String[] {line.substring(0, colon), line.substring(colon + 1).trim()});
        }
        return new Head(startLine, headers);
    }

    /** Reads the body that a head announces. */
    String readBody(Head head) throws IOException {
        return new String(readBytes(head), StandardCharsets.ISO_8859_1);
    }

    /** @throws EOFException if the body ends before its announced end */
    byte[] readBytes(Head head) throws IOException {
        if ("chunked".equals(head.value("Transfer-Encoding"))) {
            ByteArrayOutputStream body = new ByteArrayOutputStream();
            for (byte[] chunk; (chunk = readChunk()).length > 0;) {
                body.write(chunk);
            }
            return body.toByteArray();
        }
        String length = head.value("Content-Length");
        if (length != null) {
            return readExactly(Integer.parseInt(length));
        }
        return head.startLine().startsWith("HTTP/") ? in.readAllBytes() : new byte[0];
    }

    /** Reads the next chunk of a chunked body; empty at its end. */
    byte[] readChunk() throws IOException {
        byte[] chunk = readExactly(Integer.parseInt(required(readLine()), 16));
        if (!required(readLine()).isEmpty()) {
            throw new IOException("no line end after a chunk");
        }
        return chunk;
    }

    byte[] readExactly(int length) throws IOException {
        byte[] bytes = in.readNBytes(length);
        if (bytes.length < length) {
            throw new EOFException(bytes.length + " of " + length + " bytes");
        }
        return bytes;
    }

    /** Waits until the other end closes or resets the connection, and ignores what it sends. */
    void awaitEnd() throws IOException {
        try {
            in.transferTo(java.io.OutputStream.nullOutputStream());
        } catch (SocketException reset) {
            // That, too, is an end.
        }
    }

    /** Closes with a reset instead of an orderly end. */
    void reset() throws IOException {
        socket.setSoLinger(true, 0);
        socket.close();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }

    private String readLine() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c; (c = in.read()) != '\n';) {
            if (c < 0) {
                if (line.length() == 0) {
                    return null;
                }
                throw new EOFException("within the line " + line);
            }
            line.append((char) c);
        }
        return line.substring(0, line.length() - 1);
    }

    private static String required(String line) throws IOException {
        if (line == null) {
            throw new EOFException("a line was expected");
        }
        return line;
    }
}
