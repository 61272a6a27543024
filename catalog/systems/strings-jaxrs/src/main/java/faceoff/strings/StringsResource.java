package faceoff.strings;

import java.util.Map;

import jakarta.json.Json;
import jakarta.json.JsonBuilderFactory;
import jakarta.json.JsonObject;
import jakarta.json.JsonString;
import jakarta.ws.rs.BadRequestException;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.DefaultValue;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.QueryParam;
import jakarta.ws.rs.core.MediaType;

/** The paths of the service. */
@Path("/")
@Consumes(MediaType.APPLICATION_JSON)
@Produces(MediaType.APPLICATION_JSON)
public class StringsResource {

    private static final int MAX_SIZE = 64 << 10;
    private static final int MAX_WORK = 1000;
    private static final JsonBuilderFactory JSON = Json.createBuilderFactory(Map.of());

    /** Returns the text in upper case. */
    @POST
    @Path("uppercase")
    public JsonObject uppercase(JsonObject body) {
        String text = text(body);
        demand(!text.isEmpty());
        return JSON.createObjectBuilder().add("v", Text.uppercase(text)).build();
    }

    /** Returns the number of characters of the text. */
    @POST
    @Path("count")
    public JsonObject count(JsonObject body) {
        return JSON.createObjectBuilder().add("v", Text.count(text(body))).build();
    }

    /** Returns {size} letters and their checksum. */
    @GET
    @Path("api/generated/{size}")
    public JsonObject generated(@PathParam("size") String size,
            @QueryParam("work") @DefaultValue("") String work) {
        int rounds = work.isEmpty() ? 1 : number(work, 1, MAX_WORK);
        String text = Text.generate(number(size, 0, MAX_SIZE));
        return JSON.createObjectBuilder().add("s", text).add("crc", Text.checksum(text, rounds))
                .build();
    }

    /** Returns the health of the service. */
    @GET
    @Path("health")
    public JsonObject health() {
        return JSON.createObjectBuilder().add("status", "UP").build();
    }

    /** Reads the text from the body {"s": "..."}. */
    private static String text(JsonObject body) {
        demand(body != null && body.get("s") instanceof JsonString);
        String text = body.getString("s");
        demand(Text.isWellFormed(text));
        return text;
    }

    private static int number(String text, int least, int most) {
        demand(text.chars().allMatch(c -> c < 128)); // parseInt accepts the digits of every script
        try {
            int number = Integer.parseInt(text);
            demand(number >= least && number <= most);
            return number;
        } catch (NumberFormatException notANumber) {
            throw new BadRequestException();
        }
    }

    private static void demand(boolean right) {
        if (!right) {
            throw new BadRequestException();
        }
    }
}
