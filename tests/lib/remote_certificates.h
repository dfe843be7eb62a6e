/*
 * An authority and its certificates under the names that storage daemons read: those of server and
 * client in one directory, for the address 127.0.0.1.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline bool make_certificates(const char *directory) {
    char command[2048];
    int size = snprintf(
        command, sizeof(command),
        "cd '%s' && exec 2>/dev/null && NEW='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes' "
        "&& openssl req -x509 $NEW -days 2 -subj /CN=authority -keyout ca-key.pem -out ca-cert.pem "
        "-addext keyUsage=keyCertSign,cRLSign && for one in server client; do "
        "openssl req $NEW -subj /CN=$one -keyout $one-key.pem -out $one.csr "
        "-addext subjectAltName=IP:127.0.0.1 -addext keyUsage=digitalSignature "
        "-addext extendedKeyUsage=${one}Auth && "
        "openssl x509 -req -days 2 -copy_extensions copy -in $one.csr -out $one-cert.pem "
        "-CA ca-cert.pem -CAkey ca-key.pem -CAcreateserial || exit 1; done",
        directory);

    return size < (int)sizeof(command) && system(command) == 0;
}

/* Adds certificates, named with blanks between them, to crl.pem, which becomes a new file. */
static inline bool revoke_certificates(const char *directory, const char *names) {
    char command[2048];
    int size = snprintf(
        command, sizeof(command),
        "cd '%s' && exec 2>/dev/null && touch index.txt && "
        "printf '[ca]\\ndefault_ca=d\\n[d]\\ndatabase=index.txt\\ndefault_md=sha256\\n' >ca.cnf && "
        "CA='openssl ca -config ca.cnf -cert ca-cert.pem -keyfile ca-key.pem' && "
        "for one in %s; do $CA -revoke $one-cert.pem || exit 1; done && "
        "$CA -gencrl -crldays 2 -out crl.new && mv crl.new crl.pem",
        directory, names);

    return size < (int)sizeof(command) && system(command) == 0;
}
