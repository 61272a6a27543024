package faceoff.bank;

/** What a client has. */
record Balance(long balance) {
}
