import java.util.Arrays;

/** A parsed path: {@code /name} or {@code /name/number}. */
record Route(String name, int number) {
    private static final int LENGTH_MAX = 10_000_000;

    static Route of(String path) {
        String[] parts = path.split("/");
        String name = parts.length > 1 ? parts[1] : "";
        try {
            int number = parts.length > 2 ? Integer.parseInt(parts[2]) : 0;
            return new Route(number < 0 || number > LENGTH_MAX ? "" : name, number);
        } catch (NumberFormatException e) {
            return new Route("", 0);
        }
    }

    static byte[] pattern(int length) {
        byte[] body = new byte[length];
        for (int i = 0; i < length; i++) {
            body[i] = (byte) ('a' + i % 26);
        }
        return body;
    }

    /** Returns a body in up to four parts. */
    static byte[][] pieces(byte[] body) {
        int size = body.length / 4 + 1;
        byte[][] pieces = new byte[(body.length + size - 1) / size][];
        for (int i = 0; i < pieces.length; i++) {
            pieces[i] = Arrays.copyOfRange(body, i * size, Math.min(body.length, (i + 1) * size));
        }
        return pieces;
    }
}
