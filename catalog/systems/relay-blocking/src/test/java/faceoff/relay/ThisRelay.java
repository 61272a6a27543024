package faceoff.relay;

/** The points in which the shared tests (catalog/contracts/relay) allow relays to differ. */
final class ThisRelay {

    /** More than the 200 threads that Tomcat has by default. */
    static final int CROWD = 250;

    /** The setting that makes room for as many requests. */
    static final String CAPACITY = "server.tomcat.threads.max=300";

    private ThisRelay() {
    }
}
