package faceoff.pets;

/** One pet. The order of its components is that of the fields in the response. */
record Pet(long id, String name, String tag) {
}
