package faceoff.strings;

import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/** The paths of the service. */
@RestController
class StringsController {

    private static final int MAX_SIZE = 64 << 10;
    private static final int MAX_WORK = 1000;

    record Request(String s) {
    }

    record Uppercase(String v) {
    }

    record Count(int v) {
    }

    record Generated(String s, String crc) {
    }

    record Health(String status) {
    }

    @PostMapping(path = "/uppercase", consumes = MediaType.APPLICATION_JSON_VALUE)
    Uppercase uppercase(@RequestBody Request request) {
        demand(isText(request.s()) && !request.s().isEmpty());
        return new Uppercase(Text.uppercase(request.s()));
    }

    @PostMapping(path = "/count", consumes = MediaType.APPLICATION_JSON_VALUE)
    Count count(@RequestBody Request request) {
        demand(isText(request.s()));
        return new Count(Text.count(request.s()));
    }

    @GetMapping("/api/generated/{size}")
    Generated generated(@PathVariable String size, @RequestParam(defaultValue = "") String work) {
        int rounds = work.isEmpty() ? 1 : number(work, 1, MAX_WORK);
        String text = Text.generate(number(size, 0, MAX_SIZE));
        return new Generated(text, Text.checksum(text, rounds));
    }

    @GetMapping("/health")
    Health health() {
        return new Health("UP");
    }

    private static boolean isText(String text) {
        return text != null && Text.isWellFormed(text);
    }

    /** Reads a number; Spring would also accept hexadecimal digits and blanks. */
    private static int number(String text, int least, int most) {
        demand(text.chars().allMatch(c -> c < 128)); // parseInt accepts the digits of every script
        try {
            int number = Integer.parseInt(text);
            demand(number >= least && number <= most);
            return number;
        } catch (NumberFormatException notANumber) {
            throw new ResponseStatusException(HttpStatus.BAD_REQUEST);
        }
    }

    private static void demand(boolean right) {
        if (!right) {
            throw new ResponseStatusException(HttpStatus.BAD_REQUEST);
        }
    }
}
