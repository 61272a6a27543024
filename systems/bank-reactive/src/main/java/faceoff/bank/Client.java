package faceoff.bank;

/** A client of the bank; nothing is known of him but his number. */
record Client(int id, String name, String email, String phone) {
}
