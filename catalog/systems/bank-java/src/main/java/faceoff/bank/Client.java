package faceoff.bank;

/** A client of the bank, which only has a number. */
record Client(int id, String name, String email, String phone) {
}
