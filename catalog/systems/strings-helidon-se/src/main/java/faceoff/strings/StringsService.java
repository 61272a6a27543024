package faceoff.strings;

import java.util.Map;

import io.helidon.common.media.type.MediaTypes;
import io.helidon.http.HeaderNames;
import io.helidon.http.HeaderValues;
import io.helidon.http.HttpException;
import io.helidon.http.HttpMediaType;
import io.helidon.http.Method;
import io.helidon.http.PathMatchers;
import io.helidon.http.RequestException;
import io.helidon.http.Status;
import io.helidon.webserver.http.Handler;
import io.helidon.webserver.http.HttpRules;
import io.helidon.webserver.http.HttpService;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import jakarta.json.Json;
import jakarta.json.JsonBuilderFactory;
import jakarta.json.JsonObject;
import jakarta.json.JsonString;
import jakarta.json.stream.JsonParser;
import jakarta.json.stream.JsonParserFactory;

/** The paths of the service. */
final class StringsService implements HttpService {

    private static final int MAX_SIZE = 64 << 10;
    private static final int MAX_WORK = 1000;
    private static final JsonBuilderFactory JSON = Json.createBuilderFactory(Map.of());
    private static final JsonParserFactory PARSERS = Json.createParserFactory(Map.of());

    @Override
    public void routing(HttpRules rules) {
        serve(rules, Method.POST, "/uppercase", StringsService::uppercase);
        serve(rules, Method.POST, "/count", StringsService::count);
        serve(rules, Method.GET, "/api/generated/{size}", StringsService::generated);
        serve(rules, Method.GET, "/health", StringsService::health);
        refuseOthers(rules, Method.GET, "/metrics"); // served by Helidon's observe feature
    }

    private static void serve(HttpRules rules, Method method, String path, Handler handler) {
        rules.route(method, path, handler);
        refuseOthers(rules, method, path);
    }

    /** Helidon responds with 404 instead of 405 if a path only has other methods. */
    private static void refuseOthers(HttpRules rules, Method method, String path) {
        rules.route(other -> !other.equals(method), PathMatchers.create(path),
                (request, response) -> {
            throw Refusal.of(Status.METHOD_NOT_ALLOWED_405)
                    .header(HeaderValues.create(HeaderNames.ALLOW, method.text()));
        });
    }

    private static void uppercase(ServerRequest request, ServerResponse response) {
        String text = text(request);
        demand(!text.isEmpty());
        response.send(JSON.createObjectBuilder().add("v", Text.uppercase(text)).build());
    }

    private static void count(ServerRequest request, ServerResponse response) {
        response.send(JSON.createObjectBuilder().add("v", Text.count(text(request))).build());
    }

    private static void generated(ServerRequest request, ServerResponse response) {
        int size = number(request.path().pathParameters().get("size"), 0, MAX_SIZE);
        String work = request.query().first("work").orElse("");
        int rounds = work.isEmpty() ? 1 : number(work, 1, MAX_WORK);
        String text = Text.generate(size);
        response.send(JSON.createObjectBuilder().add("s", text)
                .add("crc", Text.checksum(text, rounds)).build());
    }

    private static void health(ServerRequest request, ServerResponse response) {
        response.send(JSON.createObjectBuilder().add("status", "UP").build());
    }

    /** Reads the text from the body {"s": "..."}. Helidon's readers ignore any text after it. */
    private static String text(ServerRequest request) {
        if (!isJson(request)) {
            throw Refusal.of(Status.UNSUPPORTED_MEDIA_TYPE_415);
        }
        demand(request.content().hasEntity());
        try (JsonParser parser = PARSERS.createParser(request.content().inputStream())) {
            demand(parser.next() == JsonParser.Event.START_OBJECT);
            JsonObject object = parser.getObject();
            demand(!parser.hasNext() && object.get("s") instanceof JsonString);
            String text = object.getString("s");
            demand(Text.isWellFormed(text));
            return text;
        } catch (HttpException | RequestException refused) {
            throw refused;
        } catch (RuntimeException unreadable) {
            // Too deep nesting and too long numbers are not a JsonException.
            throw Refusal.of(Status.BAD_REQUEST_400);
        }
    }

    private static boolean isJson(ServerRequest request) {
        return request.headers().contentType()
                .map(HttpMediaType::mediaType)
                .filter(type -> type.text().equalsIgnoreCase(MediaTypes.APPLICATION_JSON_VALUE))
                .isPresent();
    }

    private static int number(String text, int least, int most) {
        demand(text.chars().allMatch(c -> c < 128)); // parseInt accepts the digits of every script
        try {
            int number = Integer.parseInt(text);
            demand(number >= least && number <= most);
            return number;
        } catch (NumberFormatException notANumber) {
            throw Refusal.of(Status.BAD_REQUEST_400);
        }
    }

    private static void demand(boolean right) {
        if (!right) {
            throw Refusal.of(Status.BAD_REQUEST_400);
        }
    }
}
