//! The options of curl: which take an argument, and which say nothing about a request.

/// Short options and their long names.
const LETTERS: [(char, &str); 59] = [
    ('#', "progress-bar"),
    (':', "next"),
    ('0', "http1.0"),
    ('1', "tlsv1"),
    ('2', "sslv2"),
    ('3', "sslv3"),
    ('4', "ipv4"),
    ('6', "ipv6"),
    ('a', "append"),
    ('A', "user-agent"),
    ('b', "cookie"),
    ('B', "use-ascii"),
    ('c', "cookie-jar"),
    ('C', "continue-at"),
    ('d', "data"),
    ('D', "dump-header"),
    ('e', "referer"),
    ('E', "cert"),
    ('f', "fail"),
    ('F', "form"),
    ('g', "globoff"),
    ('G', "get"),
    ('h', "help"),
    ('H', "header"),
    ('i', "include"),
    ('I', "head"),
    ('j', "junk-session-cookies"),
    ('J', "remote-header-name"),
    ('k', "insecure"),
    ('K', "config"),
    ('l', "list-only"),
    ('L', "location"),
    ('m', "max-time"),
    ('M', "manual"),
    ('n', "netrc"),
    ('N', "no-buffer"),
    ('o', "output"),
    ('O', "remote-name"),
    ('p', "proxytunnel"),
    ('P', "ftp-port"),
    ('q', "disable"),
    ('Q', "quote"),
    ('r', "range"),
    ('R', "remote-time"),
    ('s', "silent"),
    ('S', "show-error"),
    ('t', "telnet-option"),
    ('T', "upload-file"),
    ('u', "user"),
    ('U', "proxy-user"),
    ('v', "verbose"),
    ('V', "version"),
    ('w', "write-out"),
    ('x', "proxy"),
    ('X', "request"),
    ('y', "speed-time"),
    ('Y', "speed-limit"),
    ('z', "time-cond"),
    ('Z', "parallel"),
];

/// Options with an argument.
const WITH_ARGUMENT: &str = "abstract-unix-socket alt-svc aws-sigv4 cacert capath cert cert-type ciphers config connect-timeout connect-to \
    continue-at cookie cookie-jar create-file-mode crlfile curves data data-ascii data-binary data-raw data-urlencode delegation dns-interface \
    dns-ipv4-addr dns-ipv6-addr dns-servers doh-url dump-header ech egd-file engine etag-compare etag-save expect100-timeout form form-string \
    ftp-account ftp-alternative-to-user ftp-method ftp-port ftp-ssl-ccc-mode happy-eyeballs-timeout-ms haproxy-clientip header hostpubmd5 \
    hostpubsha256 hsts interface ip-tos ipfs-gateway json keepalive-cnt keepalive-time key key-type knownhosts krb libcurl limit-rate local-port \
    login-options mail-auth mail-from mail-rcpt max-filesize max-redirs max-time netrc-file noproxy oauth2-bearer output output-dir parallel-max \
    parallel-max-host pass pinnedpubkey preproxy proto proto-default proto-redir proxy proxy-cacert proxy-capath proxy-cert proxy-cert-type \
    proxy-ciphers proxy-crlfile proxy-header proxy-key proxy-key-type proxy-pass proxy-pinnedpubkey proxy-service-name proxy-tls13-ciphers \
    proxy-tlsauthtype proxy-tlspassword proxy-tlsuser proxy-user proxy1.0 pubkey quote random-file range rate referer request request-target \
    resolve retry retry-delay retry-max-time sasl-authzid service-name sigalgs socks4 socks4a socks5 socks5-gssapi-service socks5-hostname \
    speed-limit speed-time stderr telnet-option tftp-blksize time-cond tls-max tls13-ciphers tlsauthtype tlspassword tlsuser trace trace-ascii \
    trace-config unix-socket upload-file upload-flags url url-query user user-agent variable vlan-priority write-out";

/// Options without an argument; `no-` may come before them.
const ALONE: &str = "alpn anyauth append basic buffer ca-native cert-status clobber compressed compressed-ssh create-dirs crlf digest disable \
    disable-eprt disable-epsv disallow-username-in-url doh-cert-status doh-insecure dump-ca-embed environment eprt epsv fail fail-early \
    fail-with-body false-start follow form-escape ftp-create-dirs ftp-pasv ftp-pret ftp-skip-pasv-ip ftp-ssl ftp-ssl-ccc ftp-ssl-control \
    ftp-ssl-reqd get globoff haproxy-protocol head help http0.9 http1.0 http1.1 http2 http2-prior-knowledge http3 http3-only \
    ignore-content-length include insecure ipv4 ipv6 junk-session-cookies keepalive list-only location location-trusted mail-rcpt-allowfails \
    manual metalink mptcp negotiate netrc netrc-optional next npn ntlm ntlm-wb out-null parallel parallel-immediate path-as-is post301 post302 \
    post303 progress-bar progress-meter proxy-anyauth proxy-basic proxy-ca-native proxy-digest proxy-http2 proxy-insecure proxy-negotiate \
    proxy-ntlm proxy-ssl-allow-beast proxy-ssl-auto-client-cert proxy-tlsv1 proxytunnel raw remote-header-name remote-name remote-name-all \
    remote-time remove-on-error retry-all-errors retry-connrefused sasl-ir sessionid show-error show-headers silent skip-existing socks5-basic \
    socks5-gssapi socks5-gssapi-nec ssl ssl-allow-beast ssl-auto-client-cert ssl-no-revoke ssl-reqd ssl-revoke-best-effort sslv2 sslv3 \
    styled-output suppress-connect-headers tcp-fastopen tcp-nodelay tftp-no-options tls-earlydata tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 \
    tr-encoding trace-ids trace-time use-ascii verbose version xattr";

/// Options about what curl prints and stores, which change no request.
const OF_OUTPUT: &str = "buffer clobber create-dirs create-file-mode disable dump-header environment fail fail-early fail-with-body include \
    libcurl max-filesize out-null output output-dir progress-bar progress-meter raw remote-header-name remote-name remote-name-all remote-time \
    remove-on-error show-error show-headers silent skip-existing stderr styled-output suppress-connect-headers trace trace-ascii trace-config \
    trace-ids trace-time verbose write-out xattr";

/// An option of curl.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// Its long name.
    pub name: &'static str,
    pub takes_argument: bool,
    /// Whether it begins with `--no-`.
    pub is_negated: bool,
}

impl Known {
    /// Returns whether it only affects what curl prints and stores.
    pub fn is_of_output(self) -> bool {
        OF_OUTPUT.split_ascii_whitespace().any(|name| name == self.name)
    }
}

/// Returns the option with this letter.
pub fn of_letter(letter: char) -> Option<Known> {
    LETTERS.iter().find(|(known, _)| *known == letter).and_then(|(_, name)| of_name(name))
}

/// Returns the option with this long name, or the only one whose name begins with it.
pub fn of_name(name: &str) -> Option<Known> {
    let with = || {
        WITH_ARGUMENT.split_ascii_whitespace().map(|name| Known {
            name,
            takes_argument: true,
            is_negated: false,
        })
    };
    let alone = || {
        ALONE.split_ascii_whitespace().map(|name| Known {
            name,
            takes_argument: false,
            is_negated: false,
        })
    };
    let all = || with().chain(alone());
    if let Some(known) = all().find(|known| known.name == name) {
        return Some(known);
    }
    if let Some(known) =
        name.strip_prefix("no-").and_then(|name| alone().find(|known| known.name == name))
    {
        return Some(Known { is_negated: true, ..known });
    }
    let mut begun = all().filter(|known| known.name.starts_with(name));
    begun.next().filter(|_| begun.next().is_none() && name.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_known_by_letter_name_and_beginning() {
        let is = |known: Option<Known>| {
            known.map(|known| (known.name, known.takes_argument, known.is_negated))
        };
        assert_eq!(is(of_letter('d')), Some(("data", true, false)));
        assert_eq!(is(of_letter('N')), Some(("buffer", false, true)));
        assert_eq!(is(of_letter('Z')), Some(("parallel", false, false)));
        assert_eq!((of_letter('7'), of_name("nothing"), of_name("data-")), (None, None, None));
        assert_eq!(is(of_name("insec")), Some(("insecure", false, false)));
        assert!(
            of_name("silent").is_some_and(Known::is_of_output)
                && !of_name("resolve").is_some_and(Known::is_of_output)
        );
        for (letter, name) in LETTERS {
            assert!(of_letter(letter).is_some(), "{letter} {name}");
        }
        for name in OF_OUTPUT.split_ascii_whitespace() {
            assert!(of_name(name).is_some(), "{name}");
        }
    }
}
