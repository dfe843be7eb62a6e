#include "replication/node/remote.h"

#include "common/clock.h"
#include "common/heap.h"
#include "replication/node/replica_client.h"
#include "replication/node/replica_index.h"
#include "replication/node/replica_service.h"
#include "replication/node/session_reaper.h"
#include "replication/node/tls_directory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define SECTION "storage"

struct remote {
    struct arena *arena;
    const struct config *config;
    struct client api;
    struct health_probes *health_probes;
    const char *cert_file, *key_file, *ca_file, *client_ca_file, *crl_file;
    const char *tls_directory, *client_tls_directory; /* for daemons */
    const char *host;                                 /* to listen at; NULL: none */
    unsigned port;
    struct nbd_server_settings replicas; /* listener of sessions */
    struct client_exports_settings exports;
    int64_t until_us; /* end of all calls; 0: not yet */
    struct replica_index *replica_index;
    struct sessions *sessions;
    struct replica_client *client;
    struct replica_service *service;
    struct session_reaper *reaper;
};

/* ---- configuration ---- */

static const char *text_of(const struct remote *remote, const char *key) {
    return config_text(remote->config, SECTION, key);
}

static bool read_port(const char *text, const char *end, unsigned *ret) {
    char *stop;
    unsigned long port = isdigit((unsigned char)*text) ? strtoul(text, &stop, 10) : 0;

    *ret = (unsigned)port;
    return port > 0 && port <= UINT16_MAX && stop == end;
}

/* Without the port, and without the brackets of an address. */
static const char *host_of(struct remote *remote, const char *address) {
    const char *colon = strrchr(address, ':');

    if (address[0] == '[' && colon && colon > address + 1 && colon[-1] == ']')
        return arena_text_n(remote->arena, address + 1, (size_t)(colon - address) - 2);
    return colon ? arena_text_n(remote->arena, address, (size_t)(colon - address)) : address;
}

static int read_listener(const struct remote *remote, const char *key,
                         struct nbd_server_settings *ret, struct error *err) {
    const char *ports = text_of(remote, key), *dash = strchr(ports, '-');

    *ret = (struct nbd_server_settings){
        .program = text_of(remote, "daemon"),
        .tls_directory = remote->tls_directory,
        .host = remote->host,
        .timeout_ms = config_int(remote->config, SECTION, "daemon_timeout") * 1000,
    };
    if (!dash || !read_port(ports, dash, &ret->first_port) ||
        !read_port(dash + 1, strchr(dash, '\0'), &ret->last_port) ||
        ret->first_port > ret->last_port)
        return error_set(err, ERROR_BAD_REQUEST, "[storage] %s: %s is not FIRST-LAST", key, ports);
    return 0;
}

const char *remote_address(const struct remote *remote) {
    const char *address = text_of(remote, "address");

    if (!remote->host)
        return NULL;
    return address ? address : text_of(remote, "listen");
}

static int read_addresses(struct remote *remote, struct error *err) {
    const char *listen = text_of(remote, "listen"), *colon, *address;

    if (listen) {
        colon = strrchr(listen, ':');
        if (!colon || colon == listen || !read_port(colon + 1, strchr(colon, '\0'), &remote->port))
            return error_set(err, ERROR_BAD_REQUEST, "[storage] listen: %s is not HOST:PORT",
                             listen);
        if (!remote->cert_file || !remote->ca_file)
            return error_set(err, ERROR_BAD_REQUEST,
                             "[storage] listen: cert_file and ca_file are needed, too: only nodes "
                             "may reach replicas");
        remote->host = host_of(remote, listen);
    }
    address = remote_address(remote);
    if (read_listener(remote, "replica_ports", &remote->replicas, err) < 0 ||
        read_listener(remote, "client_ports", &remote->exports.listener, err) < 0)
        return -1;
    remote->exports.listener.tls_directory = remote->client_tls_directory;
    remote->exports.host = address ? host_of(remote, address) : NULL;
    return 0;
}

static int check_path(const char *key, const char *path, struct error *err) {
    return !path || path[0] == '/' ? 0
                                   : error_set(err, ERROR_BAD_REQUEST,
                                               "[storage] %s: %s is no absolute path", key, path);
}

static int make_directory(const struct remote *remote, const char *path, const char *ca_file,
                          struct error *err) {
    const struct tls_files files = { remote->cert_file, remote->key_file, ca_file,
                                     remote->crl_file };

    return tls_directory_make(path, &files, err);
}

static int read_files(struct remote *remote, const char *run_directory, struct error *err) {
    remote->cert_file = text_of(remote, "cert_file");
    remote->key_file = text_of(remote, "key_file");
    remote->ca_file = text_of(remote, "ca_file");
    remote->client_ca_file = text_of(remote, "client_ca_file");
    remote->crl_file = text_of(remote, "crl_file");
    if (!remote->key_file)
        remote->key_file = remote->cert_file;
    if (check_path("cert_file", remote->cert_file, err) < 0 ||
        check_path("key_file", remote->key_file, err) < 0 ||
        check_path("ca_file", remote->ca_file, err) < 0 ||
        check_path("client_ca_file", remote->client_ca_file, err) < 0 ||
        check_path("crl_file", remote->crl_file, err) < 0)
        return -1;
    if (!remote->cert_file || !remote->ca_file)
        return 0;
    remote->tls_directory = arena_join(remote->arena, run_directory, "/tls", NULL);
    remote->client_tls_directory = remote->tls_directory;
    if (make_directory(remote, remote->tls_directory, remote->ca_file, err) < 0)
        return -1;
    if (!remote->client_ca_file)
        return 0;
    remote->client_tls_directory = arena_join(remote->arena, run_directory, "/tls-clients", NULL);
    return make_directory(remote, remote->client_tls_directory, remote->client_ca_file, err);
}

/* ---- begin ---- */

static void make_parts(struct remote *remote, const char *run_directory) {
    const struct sessions_settings sessions = {
        .run_directory = run_directory,
        .listener = remote->replicas,
    };
    const struct replica_client_settings client = {
        .cert_file = remote->cert_file,
        .key_file = remote->key_file,
        .ca_file = remote->ca_file,
        .timeout_ms = config_int(remote->config, SECTION, "daemon_timeout") * 1000 / 2,
        .until_us = &remote->until_us,
    };

    remote->replica_index = replica_index_new();
    remote->sessions = sessions_new(&sessions);
    remote->client = replica_client_new(&client);
}

int remote_open(const struct remote_settings *settings, struct remote **ret, struct error *err) {
    struct remote *remote = heap_new(sizeof(*remote));

    remote->arena = arena_new();
    remote->config = settings->config;
    remote->api = settings->api;
    remote->health_probes = settings->health_probes;
    if (read_files(remote, settings->run_directory, err) < 0 || read_addresses(remote, err) < 0) {
        remote_close(remote, 0);
        return -1;
    }
    make_parts(remote, arena_text(remote->arena, settings->run_directory));
    *ret = remote;
    return 0;
}

int remote_serve(struct remote *remote, const struct pool_settings *pools, unsigned count,
                 struct error *err) {
    const struct replica_service_settings settings = {
        .replica_index = remote->replica_index,
        .sessions = remote->sessions,
        .health_probes = remote->health_probes,
        .pools = pools,
        .pool_count = count,
        .address = remote->host,
        .port = remote->port,
        .cert_file = remote->cert_file,
        .key_file = remote->key_file,
        .ca_file = remote->ca_file,
        .crl_file = remote->crl_file,
    };

    if (!remote->host)
        return 0;
    remote->reaper = session_reaper_new(
        &(struct session_reaper_settings){ .sessions = remote->sessions, .api = remote->api });
    if (session_reaper_start(remote->reaper, err) < 0)
        return -1;
    return replica_service_start(&settings, &remote->service, err);
}

void remote_end_calls(struct remote *remote) {
    if (remote)
        __atomic_store_n(&remote->until_us, clock_monotonic_us(), __ATOMIC_RELEASE);
}

bool remote_close(struct remote *remote, int64_t ms) {
    if (!remote)
        return true;
    if (!replica_service_stop(remote->service, ms) || !session_reaper_stop(remote->reaper, ms))
        return false;
    replica_index_free(remote->replica_index);
    sessions_free(remote->sessions);
    replica_client_free(remote->client);
    arena_free(remote->arena);
    free(remote);
    return true;
}

/* ---- accessors ---- */

void remote_set(struct remote *remote, struct assignment *const *assignments, unsigned count) {
    replica_index_set(remote->replica_index, assignments, count);
}

const struct client_exports_settings *remote_client_exports(const struct remote *remote) {
    return remote->host ? &remote->exports : NULL;
}

struct sessions *remote_sessions(const struct remote *remote) {
    return remote->sessions;
}

const struct replica_access *remote_access(const struct remote *remote) {
    return replica_client_access(remote->client);
}

const char *remote_tls_directory(const struct remote *remote) {
    return remote->tls_directory;
}
