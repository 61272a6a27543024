package faceoff.relay;

/** The points in which the shared tests (catalog/contracts/relay) allow relays to differ. */
final class ThisRelay {

    /** More than the 500 connections that the pool has by default. */
    static final int CROWD = 550;

    /** The setting that makes room for as many requests. */
    static final String CAPACITY = "relay.max-connections=600";

    private ThisRelay() {
    }
}
