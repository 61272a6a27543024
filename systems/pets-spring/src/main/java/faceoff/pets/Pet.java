package faceoff.pets;

/** One pet. The order of the components is the order of the fields in the answer. */
record Pet(long id, String name, String tag) {
}
