// Reads `tls`: the listener with its certificates, and TLS to upstreams.

package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"

	"faceoff/gateway/proxy"
)

// readTLS reads the TLS listener and its certificates. The client's SNI chooses the certificate.
func (c *Config) readTLS(t table) {
	if !t.has("tls") {
		return
	}
	s := t.table("tls", "listen", "certificates")
	if address, ok := s.address("listen", "127.0.0.1:8443"); ok {
		c.ListenTLS = address
	} else if !s.has("listen") {
		s.problem(s.node, "write for example `listen: 127.0.0.1:8443`", "`tls.listen` is missing")
	}
	c.TLS = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	for _, node := range s.list("certificates") {
		one := t.reader.table(node, "tls.certificates", "certificate", "key")
		certificate, key := one.text("certificate", "", "shop.pem"), one.text("key", "", "shop.key")
		s.files = append(s.files, certificate, key)
		pair, err := s.load(certificate, key)
		if err != nil {
			s.problem(node,
				"name two PEM files that belong together and that this process may read",
				"cannot use the certificate `%s` with the key `%s`: %v", certificate, key, err)
			continue
		}
		c.TLS.Certificates = append(c.TLS.Certificates, pair)
	}
	if len(s.list("certificates")) == 0 {
		s.problem(s.node, "write `certificates: [{certificate: shop.pem, key: shop.key}]`",
			"`tls.certificates` names none")
	}
}

// secure reads TLS to an upstream, `tls: {name: shop.internal, roots: authority.pem}`; nil without
// it. first is the upstream's first server.
func (u table) secure(first string) *proxy.UpstreamTLS {
	if !u.has("tls") {
		return nil
	}
	t := u.table("tls", "name", "roots")
	host, _, _ := net.SplitHostPort(first) // an invalid address was reported
	s := &proxy.UpstreamTLS{Name: t.text("name", host, "shop.internal")}
	if !t.has("roots") {
		return s
	}
	name := t.text("roots", "", "authority.pem")
	text, err := t.open(name)
	if err == nil && !x509.NewCertPool().AppendCertsFromPEM(text) {
		err = errors.New("it has none")
	}
	if err != nil {
		t.problem(t.nodeOf("roots"),
			"name a file with certificates in PEM, such as `roots: authority.pem`",
			"cannot use the certificates of `%s`: %v", name, err)
	}
	s.Roots = text
	return s
}
