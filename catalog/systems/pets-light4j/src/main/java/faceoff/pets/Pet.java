package faceoff.pets;

import java.util.List;

/** One pet. The order of its components is that of the fields in the response. */
public record Pet(long id, String name, String tag) {

    static final List<Pet> ALL = List.of(new Pet(1, "catten", "cat"), new Pet(2, "doggy", "dog"));
}
