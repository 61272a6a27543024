package faceoff.bank;

/** The balance of a client. */
record Balance(long balance) {
}
