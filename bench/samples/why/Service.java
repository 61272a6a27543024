// A test service with known costs, in Java: it answers `GET /` after ten functions have each
// burned a known amount of CPU time.
//
// `make why-truth` compares two processes of it. One runs with `--function NAME --factor 1.3`,
// which repeats the work of that function 1.3 times. `faceoff why` must name it.
// The services in Rust and Go do the same work with the same names. Each function calls nothing,
// so that all of its CPU time is its own. Start with `PARTS`.

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;

/** The service. */
final class Service {
    /** What the functions read and write. */
    static final class Work {
        final byte[] text = new byte[256];
        final long[] numbers = new long[24];
        final byte[] out = new byte[512];
        long sum = 1;

        Work() {
            for (int at = 0; at < text.length; at++) {
                text[at] = (byte) "1702,44 aab9,, 305 zz81".charAt(at % 23);
            }
        }
    }

    interface Function {
        void run(Work work, int rounds);
    }

    /** A function with its name and how often a request repeats its work. */
    record Part(String name, Function function, int rounds) {}

    /** All functions. The first five are hot: about 60 µs each. The others cost 12 µs. */
    static final Part[] PARTS = {
        new Part("hash_bytes", Service::hashBytes, 890),
        new Part("check_sum", Service::checkSum, 560),
        new Part("sort_numbers", Service::sortNumbers, 260),
        new Part("parse_digits", Service::parseDigits, 460),
        new Part("encode_base64", Service::encodeBase64, 1400),
        new Part("format_digits", Service::formatDigits, 330),
        new Part("count_words", Service::countWords, 70),
        new Part("multiply_matrix", Service::multiplyMatrix, 290),
        new Part("find_pattern", Service::findPattern, 140),
        new Part("compress_runs", Service::compressRuns, 40),
    };

    static final byte[] ANSWER =
            "{\"service\":\"why\",\"functions\":10}".getBytes(StandardCharsets.UTF_8);
    static final byte[] LETTERS =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
                    .getBytes(StandardCharsets.UTF_8);

    /** Keeps the compiler from removing work whose result nothing else uses. */
    static final AtomicLong SINK = new AtomicLong();

    static void hashBytes(Work work, int rounds) {
        for (int round = 0; round < rounds; round++) {
            long hash = 0xcbf29ce484222325L ^ work.sum;
            for (int at = 0; at < 64; at++) {
                hash = (hash ^ work.text[at]) * 0x0100000001b3L;
            }
            work.sum += hash;
        }
    }

    static void checkSum(Work work, int rounds) {
        for (int round = 0; round < rounds; round++) {
            int check = (int) work.sum;
            for (int at = 0; at < 12; at++) {
                check ^= work.text[at];
                for (int bit = 0; bit < 8; bit++) {
                    check = check >>> 1 ^ 0xedb88320 & -(check & 1);
                }
            }
            work.sum += check & 0xffffffffL;
        }
    }

    static void sortNumbers(Work work, int rounds) {
        long[] numbers = work.numbers;
        for (int round = 0; round < rounds; round++) {
            long seed = work.sum;
            for (int at = 0; at < numbers.length; at++) {
                seed = seed * 6364136223846793005L + 1442695041L;
                numbers[at] = seed >>> 33;
            }
            for (int at = 1; at < numbers.length; at++) {
                long number = numbers[at];
                int place = at;
                while (place > 0 && numbers[place - 1] > number) {
                    numbers[place] = numbers[place - 1];
                    place--;
                }
                numbers[place] = number;
            }
            work.sum += numbers[11];
        }
    }

    static void parseDigits(Work work, int rounds) {
        byte[] text = work.text;
        for (int round = 0; round < rounds; round++) {
            text[round & 127] ^= 1;
            long value = work.sum & 7;
            for (int at = 0; at < 128; at++) {
                byte b = text[at];
                if (b >= '0' && b <= '9') {
                    value = value * 10 + (b - '0');
                } else {
                    value = value >>> 3 ^ 5;
                }
            }
            work.sum += value;
        }
    }

    static void encodeBase64(Work work, int rounds) {
        byte[] text = work.text;
        byte[] out = work.out;
        for (int round = 0; round < rounds; round++) {
            text[round & 63] ^= 1;
            for (int group = 0; group < 20; group++) {
                int at = 3 * group;
                int bits = text[at] << 16 | text[at + 1] << 8 | text[at + 2];
                for (int place = 0; place < 4; place++) {
                    out[4 * group + place] = LETTERS[bits >>> 18 - 6 * place & 63];
                }
            }
            work.sum += out[round & 63];
        }
    }

    static void formatDigits(Work work, int rounds) {
        byte[] out = work.out;
        for (int round = 0; round < rounds; round++) {
            long value = work.sum >>> 1 | 1L << 62;
            for (int at = 0; value > 0; at++) {
                out[at & 511] = (byte) ('0' + value % 10);
                value /= 10;
            }
            work.sum += out[3];
        }
    }

    static void countWords(Work work, int rounds) {
        byte[] text = work.text;
        for (int round = 0; round < rounds; round++) {
            text[round & 255] ^= 1;
            long words = 0;
            boolean isInWord = false;
            for (byte b : text) {
                boolean isLetter = b > ',';
                if (isLetter && !isInWord) {
                    words += work.sum & 3 | 1;
                }
                isInWord = isLetter;
            }
            work.sum += words;
        }
    }

    static void multiplyMatrix(Work work, int rounds) {
        long[] numbers = work.numbers;
        for (int round = 0; round < rounds; round++) {
            long total = work.sum;
            for (int row = 0; row < 4; row++) {
                for (int column = 0; column < 4; column++) {
                    for (int at = 0; at < 4; at++) {
                        long product = numbers[4 * row + at] * numbers[4 * at + column];
                        total = (total << 1 | total >>> 63) + product;
                    }
                }
            }
            work.sum = total;
        }
    }

    static void findPattern(Work work, int rounds) {
        byte[] text = work.text;
        for (int round = 0; round < rounds; round++) {
            text[round & 255] ^= 1;
            long found = 0;
            for (int at = 0; at < 254; at++) {
                if (text[at] == 'z' && text[at + 1] == 'z' && text[at + 2] == '8') {
                    found += at ^ work.sum;
                }
            }
            work.sum += found;
        }
    }

    static void compressRuns(Work work, int rounds) {
        byte[] text = work.text;
        byte[] out = work.out;
        for (int round = 0; round < rounds; round++) {
            text[round & 255] ^= 1;
            int written = 0;
            int at = 0;
            while (at < 256) {
                byte b = text[at];
                int run = 1;
                while (at + run < 256 && text[at + run] == b) {
                    run++;
                }
                out[written & 511] = (byte) run;
                out[written + 1 & 511] = b;
                written += 2;
                at += run;
            }
            work.sum += written;
        }
    }

    private Service() {}

    /** Serves, or measures. */
    public static void main(String[] words) throws IOException {
        int port = 0;
        String function = "";
        double factor = 1;
        boolean isMeasured = false;
        for (int at = 0; at < words.length; at++) {
            switch (words[at]) {
                case "--port" -> port = Integer.parseInt(words[++at]);
                case "--function" -> function = words[++at];
                case "--factor" -> factor = Double.parseDouble(words[++at]);
                case "--measure" -> isMeasured = true;
                default -> fail("unknown option " + words[at]);
            }
        }
        change(function, factor);
        if (isMeasured) {
            measure();
        } else {
            serve(port);
        }
    }

    private static void fail(String why) {
        System.err.println("error: " + why);
        System.exit(2);
    }

    /** Multiplies the repetitions of a function. */
    private static void change(String function, double factor) {
        boolean isKnown = function.isEmpty();
        for (int at = 0; at < PARTS.length; at++) {
            Part part = PARTS[at];
            if (part.name().equals(function)) {
                int rounds = (int) Math.round(part.rounds() * factor);
                PARTS[at] = new Part(part.name(), part.function(), rounds);
                isKnown = true;
            }
        }
        if (!isKnown) {
            fail("unknown function " + function);
        }
    }

    /** CPU time of this thread in nanoseconds. Other programs may run meanwhile. */
    private static double cpuNs() throws IOException {
        String text = Files.readString(Path.of("/proc/thread-self/schedstat"));
        return Double.parseDouble(text.split(" ")[0]);
    }

    /** Prints each function with its repetitions and its nanoseconds of CPU time per request. */
    private static void measure() throws IOException {
        int calls = 2000;
        // The second time, all functions are compiled.
        for (boolean isPrinted : new boolean[] {false, true}) {
            for (Part part : PARTS) {
                Work work = new Work();
                double begin = cpuNs();
                for (int call = 0; call < calls; call++) {
                    part.function().run(work, part.rounds());
                }
                double ns = (cpuNs() - begin) / calls;
                SINK.addAndGet(work.sum);
                if (isPrinted) {
                    System.out.printf(
                            Locale.ROOT, "%s %d %.1f%n", part.name(), part.rounds(), ns);
                }
            }
        }
    }

    private static void serve(int port) throws IOException {
        // Without it, each response waits for the client's acknowledgement of its head.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        InetAddress here = InetAddress.getByName("127.0.0.1");
        HttpServer server = HttpServer.create(new InetSocketAddress(here, port), 0);
        server.createContext(
                "/",
                exchange -> {
                    Work work = new Work();
                    for (Part part : PARTS) {
                        part.function().run(work, part.rounds());
                    }
                    SINK.addAndGet(work.sum);
                    exchange.getResponseHeaders().set("Content-Type", "application/json");
                    exchange.sendResponseHeaders(200, ANSWER.length);
                    exchange.getResponseBody().write(ANSWER);
                    exchange.close();
                });
        server.setExecutor(Executors.newFixedThreadPool(2));
        server.start();
        System.out.println(server.getAddress().getPort());
    }
}
