/*
 * Exports of a volume to other hosts: with real daemons, over TLS, and with QEMU's own client.
 */
#include "replication/node/client_exports.h"
#include "replication/node/targets.h"
#include "replication/node/tls_directory.h"

#include "replication/engine/daemon.h"
#include "replication/node/health_probes.h"
#include "replication/node/pool_status.h"
#include "replication/node/rebuild_slots.h"
#include "tests/lib/daemons.h"
#include "tests/lib/hung_disk.h"
#include "tests/lib/remote_certificates.h"
#include "tests/unit/replication/node/storage_test.h"

#define TRIALS 400

static struct targets *targets;
static struct volume_controller_settings settings;
static struct client_exports_settings exports;
static char run_directory[96], run[160], certificates[96], foreign[96];
static int version;

/* ---- hosts ---- */

/* A directory with the certificate of a client of this name: NAME with '/' for each part. */
static const char *client(const char *authority, const char *directory, const char *name) {
    const char *path = arena_join(arena, top, "/", directory, NULL);
    const char *command = arena_format(
        arena,
        "mkdir '%s' && cd '%s' && exec 2>/dev/null && cp '%s/ca-cert.pem' . && openssl req -newkey "
        "ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj '%s' -keyout client-key.pem -out "
        "client.csr -addext keyUsage=digitalSignature -addext extendedKeyUsage=clientAuth && "
        "openssl x509 -req -days 2 -copy_extensions copy -in client.csr -out client-cert.pem -CA "
        "'%s/ca-cert.pem' -CAkey '%s/ca-key.pem' -CAcreateserial",
        path, path, certificates, name, authority, authority);

    ck_assert_int_eq(system(command), 0);
    return path;
}

static bool does(const char *directory, unsigned port, const char *command) {
    const char *with =
        directory
            ? arena_format(arena,
                           "--object tls-creds-x509,id=t,endpoint=client,sanity-check=off,dir='%s'",
                           directory)
            : "";

    return system(arena_format(
               arena,
               "exec timeout 20 qemu-io %s --image-opts driver=nbd,host=127.0.0.1,port=%u,"
               "export=" VOLUME "%s -c '%s' >/dev/null 2>&1",
               with, port, directory ? ",tls-creds=t" : "", command)) == 0;
}

static bool does_here(const char *command) {
    return system(arena_format(arena,
                               "exec qemu-io -f raw -c '%s' 'nbd+unix:///volume?socket=%s/nbd' "
                               ">/dev/null 2>&1",
                               command, run)) == 0;
}

/* ---- the node ---- */

static void name_certificates(const char *authorities) {
    ck_assert_int_eq(
        tls_directory_make(
            arena_join(arena, certificates, "/named", NULL),
            &(struct tls_files){ .cert = arena_join(arena, certificates, "/server-cert.pem", NULL),
                                 .key = arena_join(arena, certificates, "/server-key.pem", NULL),
                                 .ca = authorities },
            &err),
        0);
}

static void begin(void) {
    struct generation first;

    begin_storage();
    begin_reports(1);
    answer("PUT", NULL, 200, "{}");
    snprintf(run_directory, sizeof(run_directory), "%s/run", top);
    snprintf(run, sizeof(run), "%s/" VOLUME, run_directory);
    snprintf(certificates, sizeof(certificates), "%s/tls", top);
    snprintf(foreign, sizeof(foreign), "%s/foreign", top);
    ck_assert_int_eq(mkdir(run_directory, 0700) | mkdir(certificates, 0700) | mkdir(foreign, 0700),
                     0);
    ck_assert(make_certificates(certificates));
    name_certificates(arena_join(arena, certificates, "/ca-cert.pem", NULL));
    exports = (struct client_exports_settings){
        .listener = { .tls_directory = arena_join(arena, certificates, "/named", NULL),
                      .host = "127.0.0.1",
                      .first_port = 12000,
                      .last_port = 19999 },
        .host = "host-a.example.org",
    };
    settings = (struct volume_controller_settings){ .node = NODE,
                                                    .run_directory = run_directory,
                                                    .exports = &exports,
                                                    .reports = reports,
                                                    .rebuilds = rebuild_slots_new(1),
                                                    .scrubs = rebuild_slots_new(1),
                                                    .watch_ms = 20,
                                                    .retry_ms = 20 };
    for (unsigned i = 0; i < POOLS; i++) {
        const struct replica replica = { .pool = paths[i], .uid = uids[i] };

        ck_assert_int_eq(pool_mark(paths[i], names[i], &err), 0);
        generation_first(VOLUME, SIZE, uids, POOLS, &first);
        ck_assert_int_eq(replica_create(&replica, VOLUME, INT64_C(1) << 30, &first, &err), 0);
    }
    targets = targets_new(&settings);
    version = 1;
}

static const char *export_run(unsigned slot) {
    return arena_format(arena, "%s/c%u", run, slot);
}

static void end(void) {
    ck_assert(targets_stop(targets, 60000));
    ck_assert(health_probes_stop(settings.health_probes, 60000));
    client_exports_end(run, 10000, &err);
    daemon_kill(run, 10000, &err);
    rebuild_slots_free(settings.rebuilds);
    rebuild_slots_free(settings.scrubs);
    end_storage();
}

/* `more` is the status of the document, or NULL; it is taken. */
static void assign_with(const char *node, const char *capacity, const char *one, const char *two,
                        json_t *more) {
    json_t *document = volume_document(node, capacity, version++), *clients = json_array();
    struct assignment *assignment;

    if (one)
        json_array_append_new(clients, json_pack("{s:s}", "nodeId", one));
    if (two)
        json_array_append_new(clients, json_pack("{s:s}", "nodeId", two));
    json_object_set_new(json_object_get(document, "spec"), "clients", clients);
    if (more)
        json_object_set_new(document, "status", more);
    assignment = assignment_of(ASSIGNMENT_VOLUME, document);
    targets_set(targets, &assignment, 1);
    assignment_release(assignment);
}

static void assign(const char *capacity, const char *one, const char *two) {
    assign_with(NODE, capacity, one, two, NULL);
}

static const json_t *export_in(const json_t *status, const char *name) {
    const json_t *list = json_object_get(json_object_get(status, "target"), "clients");

    for (size_t i = 0; i < json_array_size(list); i++) {
        if (strcmp(json_text_of(json_array_get(list, i), "nodeId"), name) == 0)
            return json_array_get(list, i);
    }
    return NULL;
}

static const json_t *reported_export(const char *name) {
    return export_in(reported(VOLUME), name);
}

/* All of it is read from one status: another one may be reported at any time. */
static unsigned port_of(const char *name) {
    const json_t *status, *export;

    for (;;) {
        status = reported(VOLUME);
        export = export_in(status, name);
        if (json_integer_value(json_object_get(status, "observedGeneration")) == version - 1 &&
            export && strcmp(json_text_of(export, "state"), "Serving") == 0)
            break;
        poll(NULL, 0, 5);
    }
    ck_assert_str_eq(json_text_of(export, "host"), "host-a.example.org");
    ck_assert_str_eq(json_text_of(export, "export"), VOLUME);
    ck_assert_int_eq(json_integer_value(json_object_get(export, "generation")), version - 1);
    return (unsigned)json_integer_value(json_object_get(export, "port"));
}

static void kill_daemon(const char *of) {
    char text[32] = "";
    autoclose int fd = open(daemon_path(arena, of, "daemon"), O_RDONLY);

    ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
    ck_assert_int_eq(kill((pid_t)strtol(text, NULL, 10), SIGKILL), 0);
}

static void await(bool (*done)(const char *directory, unsigned port, const char *command),
                  const char *directory, unsigned port, const char *command) {
    unsigned left = TRIALS;

    while (!done(directory, port, command)) {
        ck_assert_uint_gt(left--, 0);
        poll(NULL, 0, 20);
    }
}

/* ---- admission ---- */

START_TEST(a_host_in_the_document_is_admitted_and_no_other) {
    unsigned port;
    const char *ours;

    ck_assert(make_certificates(foreign));
    assign("64Mi", "host-b", NULL);
    port = port_of("host-b");
    ours = client(certificates, "b", "/CN=host-b");
    ck_assert(does(ours, port, "write -P 0x5a 1M 64k"));
    ck_assert(does_here("read -P 0x5a 1M 64k"));
    ck_assert(does_here("write -P 0x77 1M 4k"));
    ck_assert(does(client(certificates, "o", "/O=us/CN=host-b"), port, "read -P 0x77 1M 4k"));

    ck_assert(!does(NULL, port, "read 0 4k"));
    ck_assert(!does(client(certificates, "c", "/CN=host-c"), port, "read 0 4k"));
    ck_assert(!does(client(certificates, "d", "/CN=host-bb"), port, "read 0 4k"));
    ck_assert(!does(client(certificates, "e", "/O=x,CN=host-b/CN=host-c"), port, "read 0 4k"));
    ck_assert(!does(client(foreign, "f", "/CN=host-b"), port, "read 0 4k"));
    ck_assert(does(ours, port, "read -P 0x77 1M 4k"));
}
END_TEST

/* The certificate of a client opens no replica. */
START_TEST(clients_may_have_a_certificate_authority_of_their_own) {
    const char *both = arena_join(arena, certificates, "/both.pem", NULL), *theirs;
    unsigned port;

    ck_assert(make_certificates(foreign));
    ck_assert_int_eq(system(arena_format(arena, "cat '%s/ca-cert.pem' '%s/ca-cert.pem' >'%s'",
                                         certificates, foreign, both)),
                     0);
    name_certificates(both);
    assign("64Mi", "host-b", NULL);
    port = port_of("host-b");
    theirs = client(foreign, "b", "/CN=host-b");
    ck_assert(does(theirs, port, "write -P 0x5a 1M 64k"));
    ck_assert(!does(client(foreign, "c", "/CN=host-c"), port, "read 0 4k"));
}
END_TEST

START_TEST(a_host_name_with_special_characters_is_refused) {
    static const char *const strange[] = { "", "*", "host-?", "host,CN=other", "host\\" };

    ck_assert_int_eq(nbd_server_check_client("host-b.example.org", &err), 0);
    for (unsigned i = 0; i < LENGTH(strange); i++)
        ck_assert_int_eq(nbd_server_check_client(strange[i], &err), -1);
    assign("64Mi", "*", "host-b");
    while (!strstr(
        json_text_of(reported(VOLUME), "message") ? json_text_of(reported(VOLUME), "message") : "",
        "Invalid host name"))
        poll(NULL, 0, 5);
    /* The other one is admitted all the same. */
    while (!reported_export("host-b"))
        poll(NULL, 0, 5);
    ck_assert_ptr_null(reported_export("*"));
    ck_assert_int_ne(access(export_run(0), F_OK), 0); /* no daemon is started */
    ck_assert_str_eq(json_text_of(reported(VOLUME), "phase"), "Healthy");
}
END_TEST

START_TEST(a_node_without_a_listener_exports_to_no_host_and_serves) {
    ck_assert(targets_stop(targets, 60000));
    settings.exports = NULL;
    targets = targets_new(&settings);
    assign("64Mi", "host-b", NULL);
    await_phase(VOLUME, "Healthy");
    ck_assert_ptr_nonnull(strstr(json_text_of(reported(VOLUME), "message"), "cannot be admitted"));
    ck_assert_ptr_null(reported_export("host-b"));
    ck_assert(does_here("write 0 4k"));
}
END_TEST

/* ---- duration ---- */

/* A controller that waits for pools does not reconcile its clients. */
START_TEST(one_host_cannot_use_the_export_of_another) {
    unsigned port;
    int disks[2];

    if (!own_mounts())
        return;
    ck_assert(targets_stop(targets, 60000));
    settings.health_probes = health_probes_new();
    settings.hang_ms = 100;
    settings.watch_ms = 1000000;
    targets = targets_new(&settings);
    assign("64Mi", "host-b", NULL);
    port = port_of("host-b");
    for (unsigned i = 0; i < 2; i++) {
        disks[i] = hung_disk(paths[i + 1]);
        if (disks[i] < 0)
            return;
    }
    assign("64Mi", "host-c", NULL);
    await_phase(VOLUME, "Offline");
    ck_assert_ptr_null(reported_export("host-c"));
    for (unsigned i = 0; i < 2; i++)
        hung_disk_end(paths[i + 1], disks[i]);
    assign("64Mi", "host-c", NULL);
    ck_assert_uint_ne(port_of("host-c"), port);
    ck_assert_ptr_null(reported_export("host-b"));
}
END_TEST

START_TEST(the_port_stays_after_the_death_of_any_process) {
    unsigned port;
    const char *ours = client(certificates, "b", "/CN=host-b");

    assign("64Mi", "host-b", NULL);
    port = port_of("host-b");
    ck_assert(does(ours, port, "write -P 0x5a 1M 64k"));

    kill_daemon(export_run(0));
    await(does, ours, port, "read -P 0x5a 1M 64k");
    kill_daemon(run);
    await(does, ours, port, "read -P 0x5a 1M 64k");

    /* After a restart of the agent the running exports are adopted. */
    ck_assert(targets_stop(targets, 60000));
    ck_assert(does(ours, port, "write -P 0x11 1M 64k"));
    kill_daemon(export_run(0));
    targets = targets_new(&settings);
    targets_adopt(targets);
    await(does, ours, port, "read -P 0x11 1M 64k");

    /* A resize applies to the export, too. */
    assign("128Mi", "host-b", NULL);
    ck_assert_uint_eq(port_of("host-b"), port);
    ck_assert(does(ours, port, "write -P 0x22 100M 64k"));
    ck_assert(does_here("read -P 0x22 100M 64k"));
}
END_TEST

/* As after a power failure. */
START_TEST(a_reported_port_is_taken_from_the_document) {
    int before = 20000 + getpid() % 10000;

    assign_with(NODE, "64Mi", "host-b", NULL,
                json_pack("{s:s, s:{s:s, s:s, s:[{s:s, s:i}]}}", "phase", "Init", "target",
                          "nodeId", NODE, "state", "Serving", "clients", "nodeId", "host-b", "port",
                          before));
    ck_assert_uint_eq(port_of("host-b"), (unsigned)before);
}
END_TEST

START_TEST(a_host_removed_from_the_document_is_revoked) {
    const char *ours = client(certificates, "b", "/CN=host-b");
    const char *theirs = client(certificates, "c", "/CN=host-c");
    unsigned first, second;

    assign("64Mi", "host-b", NULL);
    first = port_of("host-b");
    assign("64Mi", "host-c", "host-b");
    second = port_of("host-c");
    ck_assert_uint_eq(port_of("host-b"), first);
    ck_assert_uint_ne(first, second);
    ck_assert(does(ours, first, "read 0 4k") && does(theirs, second, "read 0 4k"));
    ck_assert(!does(ours, second, "read 0 4k") && !does(theirs, first, "read 0 4k"));

    assign("64Mi", "host-c", NULL);
    ck_assert_uint_eq(port_of("host-c"), second);
    ck_assert(!does(ours, first, "read 0 4k"));
    ck_assert(does(theirs, second, "read 0 4k"));
    ck_assert_ptr_null(reported_export("host-b"));
    ck_assert(!daemon_runs(export_run(0)));

    /* The volume is assigned to no node: nothing is left. */
    assign_with("", "64Mi", NULL, NULL, NULL);
    while (volume_controller_finds(&settings, VOLUME))
        poll(NULL, 0, 5);
    ck_assert(!does(theirs, second, "read 0 4k"));
    await_phase(VOLUME, "Init");
}
END_TEST

/* Remains of a crashed machine. */
START_TEST(the_export_of_a_deleted_volume_ends) {
    const char *ours = client(certificates, "b", "/CN=host-b");
    unsigned port;

    assign("64Mi", "host-b", NULL);
    port = port_of("host-b");
    ck_assert(targets_stop(targets, 60000));
    kill_daemon(run);
    while (daemon_runs(run))
        poll(NULL, 0, 5);
    ck_assert(!does(ours, port, "read 0 4k"));
    targets = targets_new(&settings);
    targets_adopt(targets);
    ck_assert(!volume_controller_finds(&settings, VOLUME));
    ck_assert(!daemon_runs(export_run(0)));
}
END_TEST

CHECK_MAIN_WITH("client_exports", adopt_daemons(), begin, end,
                a_host_in_the_document_is_admitted_and_no_other,
                a_host_name_with_special_characters_is_refused,
                clients_may_have_a_certificate_authority_of_their_own,
                a_node_without_a_listener_exports_to_no_host_and_serves,
                one_host_cannot_use_the_export_of_another,
                the_port_stays_after_the_death_of_any_process,
                a_reported_port_is_taken_from_the_document,
                a_host_removed_from_the_document_is_revoked, the_export_of_a_deleted_volume_ends)
