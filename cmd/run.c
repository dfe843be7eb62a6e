/*
 * A running service: starts the parts that its roles need, in the order in which they need each
 * other, and ends them the other way round.
 */
#include "config.h"

#include "api/router.h"
#include "cmd/messaging.h"
#include "cmd/notify.h"
#include "cmd/parts.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "compute/agent.h"
#include "compute/hypervisor.h"
#include "compute/patience.h"
#include "http/listen.h"
#include "http/origin.h"
#include "identity/authtoken.h"
#include "identity/identity.h"
#include "identity/own_user.h"
#include "ledger/service.h"
#include "manager/manager.h"
#include "client/compute_events.h"
#include "rpc/relay.h"
#include "volume/type.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <time.h>

#define AGENT                  "compute_agent"
#define DRAIN_MS               5000
#define HYPERVISOR_PATIENCE_MS 5000

/* How long the start waits for backends, and the end of a start that failed for what it began. */
enum { PATIENCE_MS = 10000, FAILED_START_S = 5 };

struct parts {
    const struct config *config;
    struct roles roles;
    struct arena *arena;
    struct settings settings;
    int lock;
    char place[UUID_SIZE]; /* what the lock file holds */
    struct notify *notify;

    struct db *db;
    struct messaging messaging;
    struct relay *relay;
    struct manager_backend *backends;
    struct compute_sender *compute;
    struct manager *manager;
    struct policy *policy;
    const char *names[6]; /* of origin */
    char machine[256];
    struct http_origin origin;
    struct authtoken *authtoken; /* NULL: callers are who they say they are */
    struct identity *keystone;   /* of the API when there is an authtoken */
    struct api *api;
    struct http_server *http;
    struct own_user *agent_user;
    struct hypervisor *hypervisor;
    struct agent *agent;
};

static const char *text(const struct parts *parts, const char *key) {
    return config_text(parts->config, "DEFAULT", key);
}

/* One listener: the API's, or the agent's when there is no API in this process. */
static const char *listen_address(const struct parts *parts) {
    return parts->roles.api ? text(parts, "osapi_volume_listen")
                            : config_text(parts->config, AGENT, "listen");
}

static unsigned http_port(const struct parts *parts) {
    return (unsigned)(parts->roles.api
                          ? config_int(parts->config, "DEFAULT", "osapi_volume_listen_port")
                          : config_int(parts->config, AGENT, "port"));
}

/* ---- store ---- */

/* The name of this state directory among all of the same database: made once, kept in the lock
 * file, so that nobody but the one who holds the lock ever uses it. */
static int read_place(struct parts *parts, const char *path, struct error *err) {
    ssize_t size = pread(parts->lock, parts->place, UUID_SIZE - 1, 0);

    if (size == UUID_SIZE - 1 && strspn(parts->place, "0123456789abcdef-") == UUID_SIZE - 1)
        return 0;
    clock_uuid(&clock_system, parts->place);
    if (size < 0 || ftruncate(parts->lock, 0) < 0 ||
        pwrite(parts->lock, parts->place, UUID_SIZE - 1, 0) != UUID_SIZE - 1 ||
        fsync(parts->lock) < 0)
        return error_errno(err, ERROR_UNAVAILABLE, "cannot write %s", path);
    return 0;
}

/* Who holds the lock knows that former holders are dead, and frees their leases. */
static int lock_state(struct parts *parts, struct error *err) {
    const char *path = arena_format(parts->arena, "%s/lock", text(parts, "state_path"));

    parts->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (parts->lock < 0)
        return error_errno(err, ERROR_BAD_REQUEST, "cannot open %s", path);
    if (flock(parts->lock, LOCK_EX | LOCK_NB) < 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "another scoria works in %s (its lock file is held)",
                         text(parts, "state_path"));
    return read_place(parts, path, err);
}

static int bootstrap_body(struct work *work, void *arg, struct error *err) {
    (void)arg;
    return volume_type_bootstrap(work, err);
}

static int start_store(struct parts *parts, struct error *err) {
    const struct context context = { .request_id = "-", .is_admin = true };
    struct work base = { .arena = parts->arena, .context = &context, .settings = &parts->settings };

    if (parts_open_db(parts->config, false, &parts->db, err) < 0)
        return -1;
    parts->settings.clock = db_clock(parts->db);
    return work_transaction(parts->db, &base, bootstrap_body, NULL, err);
}

/* ---- manager ---- */

static void operation_ended(void *arg) {
    const struct parts *parts = arg;

    if (parts->api)
        api_operations_ended(parts->api);
    else
        db_tell(parts->db, DB_ENDED);
}

/* In another process. */
static void operation_ended_elsewhere(void *arg) {
    api_operations_ended(arg);
}

static int start_manager(struct parts *parts, struct error *err) {
    struct manager_settings settings = {
        .db = parts->db,
        .rpc = parts->messaging.rpc,
        .settings = &parts->settings,
        .node = parts_node(parts->config),
        .zone = parts->settings.storage_availability_zone,
        .threaded = true,
        .workers = (unsigned)config_int(parts->config, "DEFAULT", "manager_workers"),
        .patience_ms = PATIENCE_MS,
        .operation_ended = operation_ended,
        .operation_ended_arg = parts,
    };

    if (lock_state(parts, err) < 0 ||
        parts_find_backends(parts->config, &parts->backends, err) < 0 ||
        compute_sender_new(parts->config, &parts->compute, err) < 0)
        return -1;
    settings.backends = parts->backends;
    settings.compute = parts->compute;
    settings.owner_prefix = arena_format(parts->arena, "%s:%s:", settings.node, parts->place);
    settings.owner = arena_format(parts->arena, "%s%jd:%jd", settings.owner_prefix,
                                  (intmax_t)getpid(), (intmax_t)clock_now_us(&clock_system));
    return manager_start(&settings, &parts->manager, err);
}

/* ---- API and agent behind one listener ---- */

static void agent_entry(void *arg, struct http_exchange *exchange) {
    struct parts *parts = arg;
    struct agent *agent = __atomic_load_n(&parts->agent, __ATOMIC_ACQUIRE);

    if (agent) {
        agent_handle(agent, exchange);
        return;
    }
    exchange->status = 503;
    http_reply(exchange);
}

static bool knows_callers(const struct parts *parts) {
    return strcmp(text(parts, "auth_strategy"), "keystone") == 0;
}

/* One that comes with a token of its own; agents do not detach. */
static bool has_compute_service(const struct config *config) {
    return strcmp(config_text(config, "compute", "service"), "nova") == 0;
}

static int check_exposure(const struct parts *parts, struct error *err) {
    const char *address = listen_address(parts);

    if (knows_callers(parts) || listen_is_loopback(address) ||
        config_bool(parts->config, "DEFAULT", "allow_insecure_listen"))
        return 0;
    return error_set(
        err, ERROR_BAD_REQUEST,
        "listening on %s: without identity everybody who reaches it would be "
        "administrator; listen on a loopback address or set allow_insecure_listen = true",
        address);
}

/* A relative path of a policy file stands beside the configuration file, never in the directory
 * where somebody happened to start the program. */
static const char *policy_path(const struct parts *parts, const char *key) {
    const char *path = config_text(parts->config, "oslo_policy", key);
    const char *file = config_file(parts->config);
    const char *slash = file ? strrchr(file, '/') : NULL;

    if (!path || *path == '/')
        return path;
    if (!slash)
        return arena_format(parts->arena, SYSCONFDIR "/scoria/%s", path);
    return arena_format(parts->arena, "%.*s/%s", (int)(slash - file), file, path);
}

/* By which names clients know us; with identity nobody looks at them. */
static void find_names(struct parts *parts) {
    const char *texts[] = {
        parts_node(parts->config),
        listen_address(parts),
        text(parts, "public_endpoint"),
        config_text(parts->config, AGENT, "endpoint"),
    };
    size_t count = 0;

    for (size_t i = 0; i < LENGTH(texts); i++)
        if (texts[i])
            parts->names[count++] = http_origin_host(parts->arena, texts[i]);
    if (gethostname(parts->machine, sizeof(parts->machine) - 1) == 0)
        parts->names[count++] = parts->machine;
    parts->origin = (struct http_origin){
        .names = parts->names,
        .any_host = config_bool(parts->config, "DEFAULT", "allow_insecure_listen"),
    };
}

static int start_api(struct parts *parts, struct error *err) {
    struct policy_settings policy = {
        .file = policy_path(parts, "policy_file"),
        .optional = !config_given(parts->config, "oslo_policy", "policy_file"),
        .directory = policy_path(parts, "policy_dirs"),
        .look_ms = 1000,
        .enforce_new_defaults = config_bool(parts->config, "oslo_policy", "enforce_new_defaults"),
    };
    struct api_settings settings = {
        .db = parts->db,
        .settings = &parts->settings,
        .identity = &identity_none,
        .origin = parts->authtoken ? NULL : &parts->origin,
        .public_endpoint = text(parts, "public_endpoint"),
    };

    if (policy_load(&policy, &parts->policy, err) < 0)
        return -1;
    if (parts->authtoken) {
        identity_keystone_new(parts->config, parts->authtoken, &parts->keystone);
        settings.identity = parts->keystone;
    }
    settings.policy = parts->policy;
    if (api_new(&settings, &parts->api, err) < 0)
        return -1;
    db_on_event(parts->db, DB_ENDED, operation_ended_elsewhere, parts->api);
    return 0;
}

static int listen_http(struct parts *parts, struct error *err) {
    struct http_mount mounts[3] = { 0 };
    struct http_server_settings settings = {
        .address = listen_address(parts),
        .port = http_port(parts),
        .threads = (unsigned)config_int(parts->config, "DEFAULT", "osapi_volume_threads"),
        .connections = (unsigned)config_int(parts->config, "DEFAULT", "osapi_volume_connections"),
        .address_connections =
            (unsigned)config_int(parts->config, "DEFAULT", "osapi_volume_connections_per_address"),
        .idle_seconds = (unsigned)config_int(parts->config, "DEFAULT", "client_socket_timeout"),
        .request_seconds = (unsigned)config_int(parts->config, "DEFAULT", "client_request_timeout"),
        .answer_bytes =
            (size_t)config_int(parts->config, "DEFAULT", "osapi_waiting_answers_mb") * 1024 * 1024,
        .mounts = mounts,
        .cert_file = config_text(parts->config, "ssl", "cert_file"),
        .key_file = config_text(parts->config, "ssl", "key_file"),
        .ca_file = config_text(parts->config, "ssl", "ca_file"),
        .priorities = config_text(parts->config, "ssl", "priorities"),
    };
    unsigned count = 0;

    if (parts->roles.api)
        mounts[count++] = (struct http_mount){ "", api_handle, parts->api };
    if (parts->roles.agent)
        mounts[count++] =
            (struct http_mount){ parts->roles.api ? "/compute" : "", agent_entry, parts };
    return http_server_start(&settings, &parts->http, err);
}

static const char *own_url(const struct parts *parts, const char *path) {
    const char *address = listen_address(parts);
    bool ipv6 = strchr(address, ':') != NULL;

    return arena_format(parts->arena, "%s://%s%s%s:%u%s",
                        config_text(parts->config, "ssl", "cert_file") ? "https" : "http",
                        ipv6 ? "[" : "", address, ipv6 ? "]" : "", http_server_port(parts->http),
                        path);
}

#ifdef HAVE_LIBVIRT
/* The built-in agent is known before messages move: an extend that a crash cut off must find it
 * where it is now, not where it was before. */
struct registration {
    const char *host, *endpoint;
};

static int register_body(struct work *work, void *arg, struct error *err) {
    const struct registration *agent = arg;

    return service_report(work, SERVICE_COMPUTE, agent->host,
                          work->settings->storage_availability_zone, agent->endpoint, err);
}

static int register_agent(struct parts *parts, const struct agent_settings *agent,
                          struct error *err) {
    const struct context context = { .request_id = "-", .is_admin = true };
    struct work base = { .arena = parts->arena, .context = &context, .settings = &parts->settings };
    struct registration registration = { agent->host, agent->own_url };

    return parts->db ? work_transaction(parts->db, &base, register_body, &registration, err) : 0;
}

/* What is configured, the API of this process, what the catalog says (NULL), or the usual place. */
static const char *volume_url(const struct parts *parts) {
    if (!config_given(parts->config, AGENT, "volume_endpoint")) {
        if (parts->roles.api)
            return own_url(parts, "/v3");
        if (own_user_is_known(parts->agent_user))
            return NULL;
    }
    return config_text(parts->config, AGENT, "volume_endpoint");
}
#endif

static int start_agent(struct parts *parts, struct error *err) {
#ifdef HAVE_LIBVIRT
    const struct config *config = parts->config;
    const char *host = config_text(config, AGENT, "host");
    const char *endpoint = config_text(config, AGENT, "endpoint");
    struct agent_settings settings = {
        .host = host ? host : parts_node(config),
        .own_url =
            endpoint ? endpoint : own_url(parts, parts->roles.api ? "/compute/v2.1" : "/v2.1"),
        .token = config_text(config, AGENT, "volume_token"),
        .workers = (unsigned)config_int(config, AGENT, "workers"),
        .heartbeat_s = config_int(config, AGENT, "heartbeat_interval"),
        .authtoken = parts->authtoken,
        .origin = parts->authtoken ? NULL : &parts->origin,
    };
    struct agent *agent;

    if (own_user_new(config, "service_user", &parts->agent_user, err) < 0)
        return -1;
    settings.user = parts->agent_user;
    settings.volume_url = volume_url(parts);
    if (hypervisor_libvirt_new(config_text(config, AGENT, "libvirt_uri"), &parts->hypervisor, err) <
        0)
        return -1;
    parts->hypervisor = patience_new(parts->hypervisor, HYPERVISOR_PATIENCE_MS);
    settings.hypervisor = parts->hypervisor;
    if (register_agent(parts, &settings, err) < 0 || agent_start(&settings, &agent, err) < 0)
        return -1;
    __atomic_store_n(&parts->agent, agent, __ATOMIC_RELEASE);
    return 0;
#else
    (void)parts;
    return error_set(err, ERROR_BAD_REQUEST, "this scoria was built without libvirt");
#endif
}

/* ---- the whole ---- */

/* Half of the clients, and no more, may wait for Keystone to say who they are: a quarter with
 * tokens of their own, a quarter with the same as another. */
static int start_gate(struct parts *parts, struct error *err) {
    unsigned clients = (unsigned)config_int(parts->config, "DEFAULT", "osapi_volume_connections");

    return authtoken_new(parts->config, clients / 4, &parts->authtoken, err);
}

static int start(struct parts *parts, struct error *err) {
    bool storing = parts->roles.api || parts->roles.manager;

    find_names(parts);
    if ((parts->roles.api || parts->roles.agent) && check_exposure(parts, err) < 0)
        return -1;
    if (storing && start_store(parts, err) < 0)
        return -1;
    if ((parts->roles.api || parts->roles.agent) && knows_callers(parts) &&
        start_gate(parts, err) < 0)
        return -1;
    if (parts->roles.api && start_api(parts, err) < 0)
        return -1;
    if (storing && messaging_new(parts->config, &parts->messaging, err) < 0)
        return -1;
    if (parts->roles.manager && start_manager(parts, err) < 0)
        return -1;
    if ((parts->roles.api || parts->roles.agent) && listen_http(parts, err) < 0)
        return -1;
    if (parts->roles.agent && start_agent(parts, err) < 0)
        return -1;
    /* Messages last: an extend that a crash cut off sends its event at once, and the agent must be
     * there to take it. */
    if (storing) {
        messaging_start(&parts->messaging);
        parts->relay = relay_new(parts->db, parts->messaging.rpc, true);
    }
    return 0;
}

static void wait_detached(intptr_t limit_s) {
    struct timespec until = { .tv_sec = limit_s };

    pthread_detach(pthread_self());
    while (nanosleep(&until, &until) < 0)
        ;
}

/* A job that does not end in time ends with the process; its lease runs out and another manager, or
 * the next start, takes it up. */
static void *stop_at_last(void *arg) {
    intptr_t limit_s = (intptr_t)arg; /* no pointer: nothing may outlive the rest of the process */

    wait_detached(limit_s);
    log_warning(NULL, "work in progress is left to others", "graceful_shutdown_timeout",
                LOG_INT(limit_s), NULL);
    _exit(EXIT_SUCCESS);
}

/* A backend that does not answer is no reason to stay. */
static void *fail_at_last(void *arg) {
    wait_detached((intptr_t)arg);
    _exit(EXIT_FAILURE);
}

static void limit_end(int64_t limit_s, void *(*end)(void *limit)) {
    pthread_t thread;

    if (limit_s > 0 && pthread_create(&thread, NULL, end, (void *)(intptr_t)limit_s) != 0)
        log_error(NULL, "the end of this process has no limit", NULL);
}

static void drain(struct parts *parts) {
    limit_end(config_int(parts->config, "DEFAULT", "graceful_shutdown_timeout"), stop_at_last);
    notify_stopping(parts->notify);
    /* Requests that are being answered may still wait for a connection: with an API, after it. */
    if (parts->manager && !parts->api)
        manager_drain(parts->manager);
}

static void stop(struct parts *parts) {
    if (parts->authtoken)
        authtoken_hurry(parts->authtoken);
    if (parts->http)
        http_server_stop(parts->http, DRAIN_MS);
    if (parts->manager)
        manager_drain(parts->manager);
    if (parts->authtoken)
        authtoken_close(parts->authtoken); /* its threads answer for API and agent */
    if (parts->agent)
        agent_stop(parts->agent);
    if (parts->hypervisor)
        parts->hypervisor->free(parts->hypervisor);
    if (parts->relay)
        relay_stop(parts->relay);
    messaging_stop(&parts->messaging);
    if (parts->manager)
        manager_stop(parts->manager);
    if (parts->api) {
        db_on_event(parts->db, DB_ENDED, NULL, NULL);
        api_free(parts->api);
    }
    identity_keystone_free(parts->keystone);
    authtoken_free(parts->authtoken);
    own_user_free(parts->agent_user);
    if (parts->policy)
        policy_free(parts->policy);
    if (parts->compute)
        compute_sender_free(parts->compute);
    parts_close_backends(parts->backends);
    if (parts->db)
        db_close(parts->db);
    if (parts->lock >= 0)
        close(parts->lock);
}

static void open_log(const struct config *config) {
    static const char *const levels[] = { "debug", "info", "warning", "error" };
    const char *level = config_text(config, "DEFAULT", "log_level");
    bool json = strcmp(config_text(config, "DEFAULT", "log_format"), "json") == 0;

    for (unsigned i = 0; i < LENGTH(levels); i++)
        if (strcmp(levels[i], level) == 0)
            log_open(STDERR_FILENO, (enum log_level)i, json ? LOG_JSON : LOG_TEXT);
}

static int look(struct db_tx *tx, void *arg, struct error *err) {
    int64_t one;

    (void)arg;
    return db_query_int(tx, &one, err, "SELECT 1");
}

/* A database that refuses is alive; one that never answers holds us here. */
static bool is_alive(void *arg) {
    const struct parts *parts = arg;
    struct error err;

    if (parts->db)
        db_read(parts->db, look, NULL, &err);
    return !parts->manager || manager_alive(parts->manager);
}

static void announce(struct parts *parts) {
    const char *ready = "ready";

    if (parts->roles.api)
        ready = arena_format(parts->arena, "ready %s", own_url(parts, "/v3"));
    else if (parts->roles.agent)
        ready = arena_format(parts->arena, "ready %s", own_url(parts, "/v2.1"));
    puts(ready);
    fflush(stdout);
    notify_ready(parts->notify, ready, is_alive, parts);
}

/* What systemd gives by default is meant for programs that use select(); ours poll. */
static void raise_descriptor_limit(void) {
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int parts_run(const struct config *config, struct roles roles) {
    autoarena struct arena *arena = arena_new();
    struct parts parts = { .config = config, .roles = roles, .arena = arena, .lock = -1 };
    struct error err;
    sigset_t ends;
    int sig, status = EXIT_SUCCESS;

    open_log(config);
    /* A page of 1000 volumes gives its memory back; one of 100, which clients ask for again and
     * again, finds its memory where the one before left it. */
    mallopt(M_MMAP_THRESHOLD, 1024 * 1024);
    mallopt(M_TRIM_THRESHOLD, 1024 * 1024);
    signal(SIGPIPE, SIG_IGN);
    raise_descriptor_limit();
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error like a full disk */
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL); /* before any thread: all of them inherit it */
    settings_load(config, &clock_system, &parts.settings);
    parts.settings.node = parts_node(config);
    parts.settings.only_services_detach = knows_callers(&parts) && has_compute_service(config);
    parts.settings.one_process = roles.api && roles.manager;
    if (notify_open(&parts.notify, &err) < 0 || start(&parts, &err) < 0) {
        fprintf(stderr, "scoria: %s\n", err.message);
        status = EXIT_FAILURE;
        limit_end(FAILED_START_S, fail_at_last);
    } else {
        announce(&parts);
        malloc_trim(0); /* what a new schema's indexes took stays with nobody */
        sigwait(&ends, &sig);
        log_info(NULL, "ending", "signal", sig == SIGTERM ? "TERM" : "INT", NULL);
        pthread_sigmask(SIG_UNBLOCK, &ends, NULL); /* a second one ends at once: nothing is lost */
        drain(&parts);
    }
    stop(&parts);
    notify_close(parts.notify);
    return status;
}
