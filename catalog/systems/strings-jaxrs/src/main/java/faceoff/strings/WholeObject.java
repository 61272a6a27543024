package faceoff.strings;

import java.io.InputStream;
import java.lang.annotation.Annotation;
import java.lang.reflect.Type;
import java.util.Map;

import jakarta.json.Json;
import jakarta.json.JsonObject;
import jakarta.json.stream.JsonParser;
import jakarta.json.stream.JsonParserFactory;
import jakarta.ws.rs.BadRequestException;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.MultivaluedMap;
import jakarta.ws.rs.ext.MessageBodyReader;
import jakarta.ws.rs.ext.Provider;

/** Reads a body that is only a JSON object: Jersey's reader of JSON-P ignores any text after it. */
@Provider
@Consumes(MediaType.APPLICATION_JSON)
public class WholeObject implements MessageBodyReader<JsonObject> {

    private static final JsonParserFactory PARSERS = Json.createParserFactory(Map.of());

    @Override
    public boolean isReadable(Class<?> type, Type genericType, Annotation[] annotations,
            MediaType mediaType) {
        return type == JsonObject.class;
    }

    @Override
    public JsonObject readFrom(Class<JsonObject> type, Type genericType, Annotation[] annotations,
            MediaType mediaType,
            MultivaluedMap<String, String> headers, InputStream body) {
        try (JsonParser parser = PARSERS.createParser(body)) {
            if (parser.next() != JsonParser.Event.START_OBJECT) {
                throw new BadRequestException();
            }
            JsonObject object = parser.getObject();
            if (parser.hasNext()) {
                throw new BadRequestException();
            }
            return object;
        } catch (WebApplicationException refused) {
            throw refused;
        } catch (RuntimeException unreadable) {
            // Too deep nesting and too long numbers are not a JsonException.
            throw new BadRequestException();
        }
    }
}
