package faceoff.pets;

import java.util.List;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/** The pet store: a fixed list, written by the framework for every request. */
@SpringBootApplication
@RestController
class PetsService {

    private static final List<Pet> PETS =
            List.of(new Pet(1, "catten", "cat"), new Pet(2, "doggy", "dog"));

    private static final int MOST = 100;

    @GetMapping("/v1/pets")
    List<Pet> pets(@RequestParam(defaultValue = "" + MOST) int limit) {
        if (limit < 1 || limit > MOST) {
            throw new ResponseStatusException(HttpStatus.BAD_REQUEST,
                    "limit must be from 1 to " + MOST);
        }
        return PETS.subList(0, Math.min(limit, PETS.size()));
    }

    @GetMapping("/v1/pets/{petId}")
    Pet pet(@PathVariable long petId) {
        return PETS.stream().filter(pet -> pet.id() == petId).findFirst()
                .orElseThrow(() ->
                        new ResponseStatusException(HttpStatus.NOT_FOUND, "no pet " + petId));
    }

    public static void main(String[] args) {
        SpringApplication.run(PetsService.class, args);
    }
}
