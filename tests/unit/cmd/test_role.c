/*
 * The rows of roles, and each of them as a running service.
 */
#include "config.h"

#include "cmd/command.h"
#include "cmd/parts.h"
#include "common/clock.h"
#include "operation/settings.h"
#include "tests/unit/cmd/cmd_test.h"

#include <sched.h>
#include <sqlite3.h>

#define COMPUTE " --compute_agent.libvirt_uri=test:///default"

static unsigned parts_with(const char *name, const char *option) {
    const char *const options[] = { option, NULL };
    struct config *config;
    struct error err;
    unsigned parts;

    ck_assert_int_eq(config_load(parts_option_tables(), NULL, options, &config, &err), 0);
    parts = role_parts(&command_find(name)->role, config);
    config_free(config);
    return parts;
}

START_TEST(an_option_leaves_out_the_agent_of_a_whole_service_alone) {
    const char *on = "--compute_agent.enabled=true", *off = "--compute_agent.enabled=false";

    ck_assert_uint_eq(parts_with("serve", on), PART_API | PART_MANAGER | PART_AGENT);
    ck_assert_uint_eq(parts_with("serve", off), PART_API | PART_MANAGER);
    ck_assert_uint_eq(parts_with("compute", off), PART_AGENT);
    ck_assert_uint_eq(parts_with("serve", "--csi.endpoint=unix:///run/csi.sock"),
                      PART_API | PART_MANAGER | PART_AGENT | PART_CSI);
    ck_assert_uint_eq(parts_with("csi", off), PART_CSI);
    ck_assert_uint_eq(parts_with("serve", "--storage.enabled_pools=a"),
                      PART_API | PART_MANAGER | PART_AGENT | PART_STORAGE);
    ck_assert_uint_eq(parts_with("compute", "--storage.enabled=true"), PART_AGENT | PART_STORAGE);
    ck_assert_uint_eq(parts_with("csi", "--storage.enabled=true"), PART_CSI | PART_STORAGE);
    ck_assert_uint_eq(parts_with("storage", off), PART_STORAGE);
    ck_assert_uint_eq(parts_with("serve", "--kubernetes.enabled=true"),
                      PART_API | PART_MANAGER | PART_AGENT | PART_KUBERNETES);
    ck_assert_uint_eq(parts_with("csi", "--kubernetes.enabled=true"), PART_CSI | PART_KUBERNETES);
    ck_assert_uint_eq(parts_with("api", on), PART_API);
    ck_assert_uint_eq(parts_with("manager", on), PART_MANAGER);
    ck_assert_uint_eq(parts_with("manage", on), 0);
}
END_TEST

static struct settings settings_with(const char *one, const char *two) {
    const char *const options[] = { one, two, NULL };
    struct settings settings;
    struct config *config;
    struct error err;

    ck_assert_int_eq(config_load(parts_option_tables(), NULL, options, &config, &err), 0);
    settings_load(config, &clock_system, &settings);
    config_free(config);
    return settings;
}

START_TEST(without_identity_there_is_no_quota_unless_it_is_set) {
    struct settings none = settings_with(NULL, NULL);
    struct settings set = settings_with("--quota_volumes=10", "--quota_gigabytes=7");
    struct settings known = settings_with("--auth_strategy=keystone", NULL);

    ck_assert_int_eq(none.quota_volumes, -1);
    ck_assert_int_eq(none.quota_snapshots, -1);
    ck_assert_int_eq(none.quota_gigabytes, -1);
    ck_assert_int_eq(none.quota_groups, -1);
    ck_assert_int_eq(set.quota_volumes, 10);
    ck_assert_int_eq(set.quota_gigabytes, 7);
    ck_assert_int_eq(set.quota_snapshots, -1);
    ck_assert_int_eq(known.quota_volumes, 10);
    ck_assert_int_eq(known.quota_snapshots, 10);
    ck_assert_int_eq(known.quota_gigabytes, 1000);
    ck_assert_int_eq(known.quota_groups, 10);
}
END_TEST

START_TEST(rows_agree_with_themselves) {
    for (const struct command *command = commands; command->name; command++) {
        const struct role *role = &command->role;

        ck_assert_msg((role->parts == 0) == (command->run != NULL), "%s", command->name);
        ck_assert_msg(!(role->parts & PARTS_LISTENING) == !role->listener, "%s", command->name);
        ck_assert_msg((role->optional & ~role->parts) == 0, "%s", command->name);
        ck_assert_ptr_eq(command_find(command->name), command);
    }
    ck_assert_ptr_null(command_find("serv"));
}
END_TEST

/* ---- running ---- */

static void begin(const struct home *home, const char *line, const char *ready,
                  struct output *output) {
    char logged[256];

    program_start(home, line, output);
    ck_assert_msg(fgets(logged, sizeof logged, output->out) != NULL, "%s: not ready", line);
    ck_assert_int_eq(strncmp(logged, ready, strlen(ready)), 0);
}

static void end(struct output *output, int sig) {
    ck_assert_int_eq(kill(output->pid, sig), 0);
    program_wait(output);
    ck_assert_int_eq(output->status, EXIT_SUCCESS);
    ck_assert_str_eq(output->text, "");
    assert_has(output->error, sig == SIGTERM ? "TERM" : "INT");
}

static void assert_ends_well(const char *line, const char *ready, int sig) {
    static struct output output;
    autohome struct home home;

    home_make(&home);
    begin(&home, line, ready, &output);
    end(&output, sig);
}

START_TEST(each_role_reports_readiness_and_stops_on_a_signal) {
    assert_ends_well("serve --listen 127.0.0.1:0 --compute_agent.enabled=false",
                     "ready http://127.0.0.1:", SIGTERM);
    assert_ends_well("api --listen [::1]:0", "ready http://[::1]:", SIGINT);
    assert_ends_well("manager", "ready\n", SIGTERM);
#ifdef HAVE_LIBVIRT
    assert_ends_well("serve --listen 127.0.0.1:0" COMPUTE, "ready http://127.0.0.1:", SIGTERM);
    assert_ends_well("compute --listen 127.0.0.1:0" COMPUTE, "ready http://127.0.0.1:", SIGTERM);
#endif
}
END_TEST

static void assert_refused(const struct home *home, const char *line, const char *error) {
    const struct output *output = program_output(home, line);

    ck_assert_msg(output->status == EXIT_FAILURE, "%s: %d", line, output->status);
    ck_assert_str_eq(output->text, "");
    assert_has(output->error, error);
}

START_TEST(the_driver_is_a_service_of_its_own_or_of_a_whole_one) {
#ifdef HAVE_CSI
    static struct output output;
    autohome struct home home;
    char alone[160], among_others[200], ready[128];

    home_make(&home);
    snprintf(alone, sizeof(alone),
             "csi --endpoint unix://%s/csi.sock --csi.kubelet_directory=%s/none", home.path,
             home.path);
    snprintf(ready, sizeof(ready), "ready unix://%s/csi.sock\n", home.path);
    snprintf(among_others, sizeof(among_others),
             "serve --listen 127.0.0.1:0 --compute_agent.enabled=false "
             "--csi.endpoint=unix://%s/csi.sock --csi.kubelet_directory=%s/none",
             home.path, home.path);
    begin(&home, alone, ready, &output);
    assert_refused(&home, alone, "another process listens there");
    end(&output, SIGTERM);
    begin(&home, among_others, "ready http://127.0.0.1:", &output);
    assert_refused(&home, alone, "another process listens there");
    end(&output, SIGTERM);
    assert_refused(&home, "csi", "--endpoint");
#endif
}
END_TEST

START_TEST(a_node_has_one_storage_agent) {
    static struct output output;
    autohome struct home home;

    home_make(&home);
    begin(&home, "storage --storage.volume_endpoint=http://127.0.0.1:1/v3", "ready\n", &output);
    assert_refused(&home, "storage", "another agent works in");
    end(&output, SIGTERM);
    assert_refused(&home, "storage --storage.enabled_pools=a", "[a] path: an absolute path");
    assert_refused(&home, "storage --storage.enabled_pools=A --A.path=/x",
                   "cannot be a pool's name");
    assert_refused(&home, "storage --storage.enabled_pools=a --a.path=/x --a.labels=odd",
                   "[a] labels: odd is not key=value");
    assert_refused(&home, "storage --storage.run_directory=odd", "no absolute path");
}
END_TEST

START_TEST(a_manager_is_alone_in_its_directory_and_an_api_is_not) {
    static struct output manager, api;
    autohome struct home home;

    home_make(&home);
    begin(&home, "manager", "ready\n", &manager);
    begin(&home, "api --listen 127.0.0.1:0", "ready http://", &api);
    assert_refused(&home, "manager", "its lock file is held");
    assert_refused(&home, "serve --listen 127.0.0.1:0 --compute_agent.enabled=false",
                   "its lock file is held");
    end(&api, SIGTERM);
    end(&manager, SIGTERM);
    begin(&home, "manager", "ready\n", &manager);
    end(&manager, SIGTERM);
}
END_TEST

static void database_path(const struct home *home, char path[64]) {
    snprintf(path, 64, "%s/scoria.db", home->path);
}

static int64_t schema_of(const struct home *home) {
    sqlite3_stmt *statement;
    sqlite3 *raw;
    char path[64];
    int64_t number;

    database_path(home, path);
    ck_assert_int_eq(sqlite3_open_v2(path, &raw, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    ck_assert_int_eq(
        sqlite3_prepare_v2(raw, "SELECT MAX(number) FROM schema_version", -1, &statement, NULL),
        SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
    number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(raw);
    return number;
}

START_TEST(a_second_manager_migrates_nothing) {
    static struct output manager;
    autohome struct home home;
    char path[64];
    sqlite3 *raw;

    home_make(&home);
    database_path(&home, path);
    begin(&home, "manager", "ready\n", &manager);
    ck_assert_int_eq(sqlite3_open(path, &raw), SQLITE_OK);
    sqlite3_busy_timeout(raw, 60000);
    ck_assert_int_eq(
        sqlite3_exec(raw, "DELETE FROM schema_version WHERE number > 1", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(raw);
    assert_refused(&home, "manager", "its lock file is held");
    assert_refused(&home, "serve --listen 127.0.0.1:0 --compute_agent.enabled=false",
                   "its lock file is held");
    ck_assert_int_eq(schema_of(&home), 1);
    end(&manager, SIGTERM);
}
END_TEST

static void hosts_of(const struct home *home, char hosts[256]) {
    sqlite3_stmt *statement;
    sqlite3 *raw;
    char path[64];

    database_path(home, path);
    ck_assert_int_eq(sqlite3_open(path, &raw), SQLITE_OK);
    sqlite3_busy_timeout(raw, 60000);
    ck_assert_int_eq(
        sqlite3_prepare_v2(raw, "SELECT group_concat(host) FROM services", -1, &statement, NULL),
        SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
    snprintf(hosts, 256, "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    sqlite3_close(raw);
}

/* For this process and its children. */
static bool name_machine(const char *name) {
    static bool own;

    own = own || unshare(CLONE_NEWUTS) == 0;
    return own && sethostname(name, strlen(name)) == 0;
}

static void run_manager(const struct home *home, const char *line, const char *log) {
    static struct output output;

    begin(home, line, "ready\n", &output);
    end(&output, SIGTERM);
    if (log)
        assert_has(output.error, log);
}

START_TEST(a_machine_with_another_name_goes_on_with_the_host_of_its_volumes) {
    autohome struct home home;
    char hosts[256], line[128];

    home_make(&home);
    if (!name_machine("first"))
        return;
    run_manager(&home, "manager", NULL);
    ck_assert(name_machine("second"));
    run_manager(&home, "manager", "host keeps its name host=first machine=second");
    hosts_of(&home, hosts);
    ck_assert_ptr_null(strstr(hosts, "second"));
    assert_has(hosts, "first@file");
    /* An option counts for more, and is kept from then on. */
    run_manager(&home, "manager --host=third", NULL);
    run_manager(&home, "manager", "host=third machine=second");
    /* A database of many machines has no place for it. */
    snprintf(line, sizeof line, "manager --database.connection=sqlite://%s/scoria.db", home.path);
    run_manager(&home, line, NULL);
    hosts_of(&home, hosts);
    assert_has(hosts, "second@file");
}
END_TEST

/* Its manager counts as down at once. */
static void end_reports(const struct home *home) {
    sqlite3 *raw;
    char path[64];

    database_path(home, path);
    ck_assert_int_eq(sqlite3_open(path, &raw), SQLITE_OK);
    sqlite3_busy_timeout(raw, 60000);
    ck_assert_int_eq(sqlite3_exec(raw, "UPDATE services SET reported_at = 1", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(raw);
}

START_TEST(a_renamed_node_is_the_one_that_is_kept) {
    autohome struct home home;
    char hosts[256], path[64];
    struct stat kept;

    home_make(&home);
    if (!name_machine("first"))
        return;
    run_manager(&home, "manager", NULL);
    end_reports(&home);
    snprintf(path, sizeof path, "%s/host", home.path);
    ck_assert_int_eq(chown(path, 1234, 1235), 0);
    ck_assert_int_eq(program_output(&home, "manage host rename first second")->status,
                     EXIT_SUCCESS);
    ck_assert_int_eq(stat(path, &kept), 0);
    ck_assert_int_eq(kept.st_uid, 1234); /* the service reads it */
    ck_assert_int_eq(kept.st_gid, 1235);
    run_manager(&home, "manager", "host keeps its name host=second machine=first");
    hosts_of(&home, hosts);
    assert_has(hosts, "second@file");
    ck_assert_ptr_null(strstr(hosts, "first"));
}
END_TEST

/* As an older program leaves it. */
START_TEST(a_database_without_a_kept_name_goes_on_with_its_only_node) {
    autohome struct home home;
    char hosts[256], path[64];

    home_make(&home);
    if (!name_machine("first"))
        return;
    run_manager(&home, "manager", NULL);
    snprintf(path, sizeof path, "%s/host", home.path);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert(name_machine("second"));
    run_manager(&home, "manager", "host keeps its name host=first machine=second");
    hosts_of(&home, hosts);
    assert_has(hosts, "first@file");
    ck_assert_ptr_null(strstr(hosts, "second"));
    /* Two may be of two machines. */
    run_manager(&home, "manager --host=third", NULL);
    ck_assert_int_eq(unlink(path), 0);
    run_manager(&home, "manager", NULL);
    hosts_of(&home, hosts);
    assert_has(hosts, "second@file");
}
END_TEST

START_TEST(an_invalid_name_is_not_kept) {
    static const char *const wrong[] = { "", "\n", "a b\n", "a@b\n", "a#b\n", "cut" };
    autohome struct home home;
    char path[64], hosts[256];

    home_make(&home);
    if (!name_machine("first"))
        return;
    snprintf(path, sizeof path, "%s/host", home.path);
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        FILE *file = fopen(path, "w");

        fputs(wrong[i], file);
        fclose(file);
        run_manager(&home, "manager", NULL);
        hosts_of(&home, hosts);
        assert_has(hosts, "first@file");
        ck_assert_uint_eq(strlen(hosts), strlen("first,first@file"));
    }
}
END_TEST

START_TEST(listeners_are_exposed_only_explicitly) {
    static struct output output;
    const char *refusal = "listening on 0.0.0.0: without identity";
    autohome struct home home;

    home_make(&home);
    assert_refused(&home, "serve --listen 0.0.0.0:0", refusal);
    assert_refused(&home, "api --listen 0.0.0.0:0", refusal);
    assert_refused(&home, "compute --listen 0.0.0.0:0", refusal);
    /* Refused before anything was made. */
    assert_refused(&home, "api --osapi_volume_listen=0.0.0.0", refusal);
    ck_assert_int_eq(rmdir(home.path), 0);
    ck_assert_int_eq(mkdir(home.path, 0700), 0);
    begin(&home, "manager --osapi_volume_listen=0.0.0.0", "ready\n", &output);
    end(&output, SIGTERM);
    begin(&home, "api --listen 0.0.0.0:0 --allow_insecure_listen=true",
          "ready http://0.0.0.0:", &output);
    end(&output, SIGTERM);
}
END_TEST

/* Nothing can be made in /proc, by any user. */
START_TEST(a_directory_or_file_that_cannot_be_used_is_named_with_its_option) {
#define NOWHERE   "/proc/none"
#define LONG_NAME "unix:/tmp/" HUNDRED TEN
#define TEN       "aaaaaaaaaa"
#define HUNDRED   TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
    static const struct {
        const char *line, *options, *reason;
    } rows[] = {
        { "serve --state-dir " NOWHERE "/a", "--state-dir, or state_path of [DEFAULT]: ",
          "cannot make " NOWHERE ": No such file or directory" },
        { "manager --state-dir " NOWHERE,
          "--state-dir, or state_path of [DEFAULT]: ", "cannot make " NOWHERE },
        { "storage --state-dir " NOWHERE,
          "run_directory of [storage], or --state-dir: ", "cannot make " NOWHERE },
        { "api --listen unix:" NOWHERE "/s",
          "--listen, or osapi_volume_listen and osapi_volume_listen_port of [DEFAULT]: ",
          "cannot listen on unix:" NOWHERE "/s: " },
        { "api --listen " LONG_NAME, "--listen, or osapi_volume_listen and",
          "not an absolute path of at most 107 bytes" },
        { "compute --compute_agent.endpoint=http://127.0.0.1:1/v2.1 --listen unix:" NOWHERE,
          "--listen, or listen and port of [compute_agent]: ", "cannot listen on unix:" NOWHERE },
        { "csi --endpoint unix://" NOWHERE "/s",
          "--endpoint, endpoint of [csi], or CSI_ENDPOINT: ", NOWHERE "/s" },
        { "api --oslo_policy.policy_file=/dev/null",
          "policy_file and policy_dirs of [oslo_policy]: ", "/dev/null: not a regular file" },
        { "manager --file.file_volume_directory=" NOWHERE,
          "backend file: file_volume_directory: ", "making the directory " NOWHERE },
        { "manager --enabled_backends=n --n.volume_driver=nfs --n.nfs_shares_config=" NOWHERE,
          "backend n: nfs_shares_config: ", "reading the list of shares " NOWHERE },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        autohome struct home home;
        bool has_state = strstr(rows[i].line, "--state-dir") != NULL;
        const struct output *output;

        home_make(&home);
        output = program_output(has_state ? NULL : &home, rows[i].line);
        ck_assert_int_eq(output->status, EXIT_FAILURE);
        assert_has(output->error, rows[i].options);
        assert_has(output->error, rows[i].reason);
    }
}
END_TEST

/* Whatever was begun ends, at each place where a start may fail. */
START_TEST(a_start_that_fails_leaves_nothing_running) {
    static struct output output;
    autohome struct home home;

    home_make(&home);
    assert_refused(&home, "serve --listen 127.0.0.1:0 --enabled_backends=", "names no backend");
    assert_refused(&home, "serve --listen 127.0.0.1:0 --oslo_policy.policy_file=/dev/null",
                   "/dev/null");
    assert_refused(&home, "manager --transport_url=odd://", "transport_url");
    assert_refused(&home, "manager --file.volume_driver=odd", "no driver \"odd\"");
    assert_refused(&home, "api --listen 192.0.2.1:0 --allow_insecure_listen=true", "192.0.2.1");
    begin(&home, "serve --listen 127.0.0.1:0 --compute_agent.enabled=false", "ready http://",
          &output);
    end(&output, SIGTERM);
}
END_TEST

CHECK_MAIN("role", an_option_leaves_out_the_agent_of_a_whole_service_alone,
           rows_agree_with_themselves, each_role_reports_readiness_and_stops_on_a_signal,
           the_driver_is_a_service_of_its_own_or_of_a_whole_one, a_node_has_one_storage_agent,
           a_manager_is_alone_in_its_directory_and_an_api_is_not, a_second_manager_migrates_nothing,
           listeners_are_exposed_only_explicitly,
           a_directory_or_file_that_cannot_be_used_is_named_with_its_option,
           a_start_that_fails_leaves_nothing_running,
           a_machine_with_another_name_goes_on_with_the_host_of_its_volumes,
           a_renamed_node_is_the_one_that_is_kept,
           a_database_without_a_kept_name_goes_on_with_its_only_node, an_invalid_name_is_not_kept,
           without_identity_there_is_no_quota_unless_it_is_set)
