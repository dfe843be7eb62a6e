/*
 * The program's own options and the list of every module's.
 */
#include "client/compute_events.h"
#include "client/images.h"
#include "client/key_manager.h"
#include "cmd/drivers.h"
#include "cmd/parts.h"
#include "compute/agent/agent.h"
#include "csi/driver.h"
#include "declared/controller.h"
#include "http/server.h"
#include "identity/authtoken.h"
#include "identity/identity.h"
#include "identity/own_user.h"
#include "kubernetes/bridge.h"
#include "operation/settings.h"
#include "policy/rule.h"
#include "replication/node/agent.h"
#include "rest/router.h"
#include "rpc/amqp/amqp.h"

static const char *const log_levels[] = { "debug", "info", "warning", "error", NULL };
static const char *const log_formats[] = { "text", "json", NULL };

#define FILLS(member_)    OPTION_FILLS(struct http_server_settings, member_)
#define FILLS_DB(member_) OPTION_FILLS(struct db_settings, member_)

/* clang-format off */
const struct option service_options[] = {
    { .section = "DEFAULT", .key = "state_path", .type = OPTION_TEXT, .fallback = LOCALSTATEDIR "/lib/scoria",
      .help = "Directory of all state of the service: the database, the volumes of the file driver. Created when it "
              "is missing. On the command line also --state-dir." },
    { .section = "DEFAULT", .key = "host", .type = OPTION_HOST,
      .help = "Name of this node in services and in the host of volumes. Unset: the machine's name; where the database "
              "is in state_path, the name that the machine had at the first start." },
    { .section = "DEFAULT", .key = "enabled_backends", .type = OPTION_LIST, .fallback = "file",
      .help = "Backends of this node, each a section of its own with volume_driver and the driver's options." },
    { .section = "DEFAULT", .key = "osapi_volume_listen", .type = OPTION_TEXT, .fallback = "127.0.0.1",
      .help = "Address of the HTTP API, or unix:PATH: a socket in the file system. On the command line also --listen "
              "HOST:PORT or unix:PATH." },
    { .section = "DEFAULT", .key = "osapi_volume_listen_port", .type = OPTION_INT, .fallback = "8776", .max = 65535,
      .help = "Port of the HTTP API; 0 takes any free one." },
    { .section = "DEFAULT", .key = "unix_socket_mode", .type = OPTION_TEXT, FILLS(file.mode), .fallback = "0660",
      .help = "Mode of the file of a listening Unix socket, octal. Users with write permission may connect." },
    { .section = "DEFAULT", .key = "unix_socket_group", .type = OPTION_TEXT, FILLS(file.group),
      .help = "Group of that file, by name or number. Unset: the service's own." },
    { .section = "DEFAULT", .key = "osapi_volume_threads", .type = OPTION_INT, FILLS(threads), .fallback = "0", .max = 256,
      .help = "Threads that answer HTTP; 0: one for each processor, two at least." },
    { .section = "DEFAULT", .key = "osapi_volume_connections", .type = OPTION_INT, FILLS(connections), .fallback = "1000", .min = 8, .max = 100000,
      .help = "Most clients connected at once; fewer when the limit of descriptors leaves the service's own work "
              "less than 256. The newest is always admitted: a silent or idle connection is closed for it." },
    { .section = "DEFAULT", .key = "osapi_volume_connections_per_address", .type = OPTION_INT, FILLS(address_connections),
      .fallback = "0", .max = 100000,
      .help = "Most of them from one address, one network of 64 bits in IPv6, or one user of a Unix socket; 0: only "
              "the limit of all. Behind a proxy all have one address." },
    { .section = "DEFAULT", .key = "client_socket_timeout", .type = OPTION_SECONDS, FILLS(idle_seconds), .fallback = "60", .min = 1, .max = 86400,
      .help = "A connection silent for so long is closed; twice as long is the most that a client may take over its "
              "answer." },
    { .section = "DEFAULT", .key = "client_request_timeout", .type = OPTION_SECONDS, FILLS(request_seconds), .fallback = "30", .min = 1, .max = 86400,
      .help = "Seconds that a client has for a TLS handshake and its first request, or for each later one from its "
              "first line to its end." },
    { .section = "DEFAULT", .key = "osapi_waiting_answers_mb", .type = OPTION_INT, FILLS(answer_bytes), .unit = 1 << 20, .fallback = "64",
      .min = 1, .max = 65536,
      .help = "MiB of large answers that wait for clients to read them, half of it for those of one address. When "
              "it is full, the connection of the slowest reader of the address with most is closed for another "
              "response, or that one is 503." },
    { .section = "DEFAULT", .key = "manager_workers", .type = OPTION_INT, .fallback = "16", .min = 1, .max = 1024,
      .help = "Threads that work on the volumes of one backend; every backend has its own. It has as many again for "
              "operations that move much data, so that no other operation waits for those. Of four or more, one "
              "project gets all but one at most." },
    { .section = "DEFAULT", .key = "image_conversion_dir", .type = OPTION_TEXT,
      .help = "Directory for the bytes of images that are no raw disks, while a volume is made of one, and of those other "
              "than qcow2 while they are made of a volume. "
              "Unset: conversion in state_path." },
    { .section = "DEFAULT", .key = "graceful_shutdown_timeout", .type = OPTION_SECONDS, .fallback = "60", .max = 3600,
      .help = "Seconds after SIGTERM in which operations in progress may end; then another manager or the next "
              "start resumes them. 0: no limit." },
    { .section = "DEFAULT", .key = "public_endpoint", .type = OPTION_TEXT,
      .help = "URL before /v3 in links and version documents. Unset: as the client called it." },
    { .section = "DEFAULT", .key = "allow_insecure_listen", .type = OPTION_BOOL, .fallback = "false",
      .help = "Without identity every client of the API is an administrator, so an address other than "
              "loopback is refused unless this is true." },
    { .section = "DEFAULT", .key = "log_level", .type = OPTION_WORD, .fallback = "info", .words = log_levels,
      .help = "Lowest level of lines logged to standard error." },
    { .section = "DEFAULT", .key = "log_format", .type = OPTION_WORD, .fallback = "text", .words = log_formats,
      .help = "Form of a log line." },
    { .section = "ssl", .key = "cert_file", .type = OPTION_TEXT, FILLS(cert_file),
      .help = "PEM file of the server's certificate and its chain. Set: the API, or the agent's listener, "
              "speaks TLS only." },
    { .section = "ssl", .key = "key_file", .type = OPTION_TEXT, FILLS(key_file),
      .help = "PEM file of its key. Unset: in cert_file." },
    { .section = "ssl", .key = "ca_file", .type = OPTION_TEXT, FILLS(ca_file),
      .help = "PEM file of authorities. Set: clients must present a certificate of one of them, whose extended key "
              "usage, if it has one, includes client authentication." },
    { .section = "ssl", .key = "priorities", .type = OPTION_TEXT, FILLS(priorities), .fallback = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2",
      .help = "Versions and ciphers of TLS, as a priority string of GnuTLS. The start is refused if it allows less "
              "than TLS 1.2." },
    OPTIONS_END
};

const struct option database_options[] = {
    { .section = "database", .key = "connection", .type = OPTION_TEXT,
      .help = "sqlite:///PATH, or postgresql://USER:PASSWORD@HOST:PORT/NAME with libpq's parameters (sslmode, "
              "sslrootcert, connect_timeout, target_session_attrs, ...). Unset: scoria.db in state_path." },
    { .section = "database", .key = "max_pool_size", .type = OPTION_INT, FILLS_DB(pool_most), .fallback = "10", .min = 1, .max = 1000,
      .help = "PostgreSQL: largest number of connections that read. One more writes and one "
              "listens. With any database, half of it is the largest number of threads for "
              "requests that read much." },
    { .section = "database", .key = "pool_timeout", .type = OPTION_INT, FILLS_DB(pool_wait_ms), .unit = 1000, .fallback = "30", .min = 1, .max = 600,
      .help = "PostgreSQL: seconds to wait for one of them before a request is refused." },
    OPTIONS_END
};
/* clang-format on */

/* The drivers' tables follow those of the modules. */
#define TABLES_MOST 32

static const struct option *tables[TABLES_MOST + 1] = {
    service_options,       database_options,   settings_options, identity_options,
    authtoken_options,     policy_options,     amqp_options,     compute_client_options,
    agent_options,         own_user_options,   images_options,   key_manager_options,
    csi_options,           controller_options, storage_options,  kubernetes_options,
    driver_choice_options,
};

const struct option *const *parts_option_tables(void) {
    size_t count = 0;

    while (tables[count])
        count++;
    driver_add_options(drivers, tables, count, TABLES_MOST);
    return tables;
}
