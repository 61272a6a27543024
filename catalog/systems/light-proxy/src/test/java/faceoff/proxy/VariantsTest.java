package faceoff.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

import org.junit.jupiter.api.Test;

/**
 * Checks the variables of the variants: light-4j ignores a misspelled one, and the handler that it
 * should disable would seem to cost nothing.
 */
class VariantsTest {

    private static final Pattern VARIANT =
            Pattern.compile("^\\[variants\\.(\\S+)](?:\\n[^\\n\\[].*)*?\\nenv += \\{(.*)}$",
            Pattern.MULTILINE);
    private static final Pattern SETTING = Pattern.compile("(\\w+) = \"([^\"]*)\"");
    /** UpstreamHandler reads it, and LightProxyTest tests its effect. */
    private static final String OURS = "UPSTREAM_HTTP2";

    @Test
    void eachVariableOfTheManifestChangesWhatLight4jDoes() throws Exception {
        Map<String, Map<String, String>> variants = variants();
        assertTrue(variants.size() >= 19, variants.keySet().toString());
        List<String> whole = Configured.with(Map.of());
        assertEquals(List.of("exception", "traceability", "correlation", "specification",
                "security", "audit", "validator"), whole.subList(0, 7));

        Map<Map.Entry<String, String>, List<String>> alone = new HashMap<>();
        for (Map<String, String> settings : variants.values()) {
            for (Map.Entry<String, String> setting : settings.entrySet()) {
                if (!setting.getKey().equals(OURS) && !alone.containsKey(setting)) {
                    alone.put(setting, Configured.with(Map.ofEntries(setting)));
                    assertNotEquals(whole, alone.get(setting), setting + " changes nothing");
                }
            }
        }

        // One handler fewer, and that one.
        for (String handler : List.of("exception", "traceability", "correlation", "security",
                "audit", "validator")) {
            List<String> without = new ArrayList<>(whole);
            without.remove(handler);
            Map<String, String> settings = variants.get("no-" + handler);
            assertEquals(1, settings.size(), handler);
            assertEquals(without, alone.get(settings.entrySet().iterator().next()),
                    "no-" + handler);
        }
    }

    /** Returns the variables that each variant sets in system.toml. */
    private static Map<String, Map<String, String>> variants() throws IOException {
        Map<String, Map<String, String>> variants = new TreeMap<>();
        String manifest = Files.readString(Path.of("system.toml"));
        for (MatchResult variant : VARIANT.matcher(manifest).results().toList()) {
            Map<String, String> settings = new TreeMap<>();
            SETTING.matcher(variant.group(2)).results()
                    .forEach(found -> settings.put(found.group(1), found.group(2)));
            variants.put(variant.group(1), settings);
        }
        return variants;
    }
}
