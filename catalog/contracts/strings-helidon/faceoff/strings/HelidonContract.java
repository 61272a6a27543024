package faceoff.strings;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.Socket;

import org.junit.jupiter.api.Test;

/** The tests of services on Helidon. */
abstract class HelidonContract extends JulContract {

    /** Helidon's default grace period of half a second would cut the request off. */
    @Test
    void aRequestInFlightIsAnsweredAfterTheStop() throws Exception {
        Service service = start(false);
        try (Socket client = new Socket("127.0.0.1", service.port())) {
            client.setSoTimeout(10_000);
            OutputStream request = client.getOutputStream();
            request.write(
                    ("POST /count HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"
                    + "Content-Length: 13\r\n\r\n{\"s\":").getBytes());
            Thread.sleep(500);
            Thread stopping = Thread.ofVirtual().start(service::close);
            Thread.sleep(1500);
            request.write("\"hello\"}".getBytes());
            InputStreamReader response = new InputStreamReader(client.getInputStream());
            assertEquals("HTTP/1.1 200 OK", new BufferedReader(response).readLine());
            stopping.join();
        }
    }
}
