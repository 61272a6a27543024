package faceoff.products;

/**
 * One product of the list. The order of its components is that of the fields in the response.
 *
 * @param price in cents
 * @param stock in pieces
 */
record Product(int id, String name, String category, int price, int stock) {
}
