package faceoff.products;

/**
 * One product of the list. The order of the components is the order of the fields in the answer.
 *
 * @param price in cents
 * @param stock in pieces
 */
record Product(int id, String name, String category, int price, int stock) {
}
