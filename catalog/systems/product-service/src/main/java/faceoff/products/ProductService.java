package faceoff.products;

import java.util.List;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * Responds to {@code GET /products} with a fixed list, written by the framework for every request.
 */
@SpringBootApplication
@RestController
class ProductService {

    private static final List<Product> PRODUCTS = List.of(
            new Product(1, "Mechanical keyboard", "peripherals", 8990, 42),
            new Product(2, "Wireless mouse", "peripherals", 2450, 118),
            new Product(3, "27-inch monitor", "displays", 31900, 17),
            new Product(4, "USB-C dock", "peripherals", 14900, 25),
            new Product(5, "Noise-cancelling headphones", "audio", 19900, 31),
            new Product(6, "Studio microphone", "audio", 12900, 9),
            new Product(7, "Portable SSD 1 TB", "storage", 10900, 64),
            new Product(8, "NAS enclosure", "storage", 35900, 6),
            new Product(9, "Laptop stand", "furniture", 3900, 77),
            new Product(10, "Standing desk", "furniture", 45900, 4),
            new Product(11, "Desk lamp", "lighting", 4900, 58));

    @GetMapping("/products")
    List<Product> products() {
        return PRODUCTS;
    }

    public static void main(String[] args) {
        SpringApplication.run(ProductService.class, args);
    }
}
