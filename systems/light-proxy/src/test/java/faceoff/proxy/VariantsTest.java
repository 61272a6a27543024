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

/** A misspelt variable is passed over, and what it should have switched off would seem to cost nothing. */
class VariantsTest {

    private static final Pattern VARIANT = Pattern.compile("^\\[variants\\.(\\S+)](?:\\n[^\\n\\[].*)*?\\nenv += \\{(.*)}$", Pattern.MULTILINE);
    private static final Pattern SETTING = Pattern.compile("(\\w+) = \"([^\"]*)\"");
    /** Read by UpstreamHandler; LightProxyTest sees what comes of it. */
    private static final String OURS = "UPSTREAM_HTTP2";

    @Test
    void eachVariableOfTheManifestChangesWhatLight4jDoes() throws Exception {
        Map<String, Map<String, String>> variants = variants();
        assertTrue(variants.size() >= 19, variants.keySet().toString());
        List<String> whole = Configured.with(Map.of());
        assertEquals(List.of("exception", "traceability", "correlation", "specification", "security", "audit", "validator"), whole.subList(0, 7));

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
        for (String handler : List.of("exception", "traceability", "correlation", "security", "audit", "validator")) {
            List<String> without = new ArrayList<>(whole);
            without.remove(handler);
            Map<String, String> settings = variants.get("no-" + handler);
            assertEquals(1, settings.size(), handler);
            assertEquals(without, alone.get(settings.entrySet().iterator().next()), "no-" + handler);
        }
    }

    /** What each variant sets, as system.toml has it. */
    private static Map<String, Map<String, String>> variants() throws IOException {
        Map<String, Map<String, String>> variants = new TreeMap<>();
        for (MatchResult variant : (Iterable<MatchResult>) VARIANT.matcher(Files.readString(Path.of("system.toml"))).results()::iterator) {
            Map<String, String> settings = new TreeMap<>();
            SETTING.matcher(variant.group(2)).results().forEach(found -> settings.put(found.group(1), found.group(2)));
            variants.put(variant.group(1), settings);
        }
        return variants;
    }
}
