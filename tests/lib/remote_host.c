#include "tests/lib/remote_host.h"

#include "common/cleanup.h"
#include "common/thread.h"
#include "replication/engine/daemon_environment.h"
#include "replication/engine/replica_epoch.h"
#include "replication/engine/write_log.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LISTENER_FD = 3, PRELOAD_FD = 100 };

/* Replicas are opened at once, by a thread for each. */
static pthread_mutex_t finding = PTHREAD_MUTEX_INITIALIZER;

static struct remote_session *find(struct remote_host *host, const char *uid) {
    scoped_lock(&finding);
    for (unsigned i = 0; i < MEMBERS_MOST; i++) {
        struct remote_session *session = &host->sessions[i];

        if (!session->uid[0])
            snprintf(session->uid, UUID_SIZE, "%s", uid);
        if (strcmp(session->uid, uid) == 0)
            return session;
    }
    return NULL;
}

static void end_session(struct remote_session *session) {
    if (session->pid > 0) {
        kill(session->pid, SIGKILL);
        waitpid(session->pid, NULL, 0);
    }
    session->pid = 0;
}

static bool runs(struct remote_session *session) {
    if (session->pid > 0 && waitpid(session->pid, NULL, WNOHANG) == session->pid)
        session->pid = 0;
    return session->pid > 0;
}

static int listen_anywhere(int *ret_port) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, size) < 0 || listen(fd, 8) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        return -1;
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static const char *logs_of(const struct remote_host *host, struct arena *arena) {
    return arena_join(arena, host->directory, "/remote-logs", NULL);
}

static void run_server(const struct remote_host *host, const char *path, const char *name,
                       const char *pid_path, int listener) {
    autoarena struct arena *arena = arena_new();
    const char *server = arena_format(arena, "addr.type=fd,addr.str=%d%s", LISTENER_FD,
                                      host->tls_directory ? ",tls-creds=tls" : "");
    const char *file = arena_format(arena,
                                    "driver=file,node-name=data,filename=%s,discard=unmap,"
                                    "locking=on,aio=threads",
                                    path);
    const char *export =
        arena_format(arena, "type=nbd,id=data,node-name=data,name=%s,writable=on", name);
    const char *tls =
        arena_format(arena, "tls-creds-x509,id=tls,endpoint=server,verify-peer=on,dir=%s",
                     host->tls_directory ? host->tls_directory : "");
    int preload = daemon_preload_open();
    const char *words[20] = { "qemu-storage-daemon", "--blockdev", file, "--pidfile", pid_path };
    unsigned count = 5;

    if (host->tls_directory) {
        words[count++] = "--object";
        words[count++] = tls;
    }
    words[count++] = "--nbd-server";
    words[count++] = server;
    words[count++] = "--export";
    words[count++] = export;
    dup2(preload, PRELOAD_FD);
    dup2(listener, LISTENER_FD);
    execvpe(words[0], (char *const *)(uintptr_t)words,
            daemon_environment(arena, PRELOAD_FD, logs_of(host, arena)));
    _exit(127);
}

static int serve(struct remote_host *host, struct remote_session *session, const char *path,
                 struct replica_data *ret, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *name = arena_format(arena, "%s-%u", session->uid, ++host->opened);
    const char *pid_path = arena_join(arena, host->directory, "/", name, NULL);
    int port = 0;
    autoclose int listener = listen_anywhere(&port);

    session->pid = listener < 0 ? -1 : fork();
    if (session->pid == 0)
        run_server(host, path, name, pid_path, listener);
    while (runs(session) && access(pid_path, F_OK) < 0)
        poll(NULL, 0, 1);
    if (!runs(session))
        return error_set(err, ERROR_UNAVAILABLE, "nothing serves %s", session->uid);
    if (host->mute && strcmp(host->mute, session->uid) == 0)
        kill(session->pid, SIGSTOP);
    *ret = (struct replica_data){ .host = "127.0.0.1" };
    snprintf(ret->port, sizeof(ret->port), "%d", port);
    snprintf(ret->export, sizeof(ret->export), "%s", name);
    return 0;
}

/* ---- replica access ---- */

static int open_session(struct remote_host *host, struct replica_request *request,
                        struct error *err) {
    struct remote_session *session = find(host, request->replica->uid);
    struct replica_request here = *request;
    struct replica_data data;

    if (replica_epoch_take(request->replica, request->epoch, err) < 0)
        return -1;
    end_session(session);
    here.data = &data;
    if (replica_request(&replica_local, &here, err) < 0)
        return -1;
    session->epoch = request->epoch;
    return serve(host, session, data.export, request->data, err);
}

static void close_session(struct remote_host *host, const struct replica_request *request) {
    struct remote_session *session = find(host, request->replica->uid);

    if (session->epoch == request->epoch)
        end_session(session);
}

static void probe(struct remote_host *host, struct replica_request *request) {
    struct remote_session *session = find(host, request->replica->uid);
    struct replica_probe *ret = request->probe;

    if (host->away) {
        *ret = (struct replica_probe){ .health = REPLICA_FAILING };
        error_set(&ret->why, ERROR_UNAVAILABLE, "the host is away");
        return;
    }
    replica_probe(request->replica, request->volume, ret);
    ret->held = runs(session) && session->epoch == request->epoch;
}

static int reset(struct remote_host *host, struct replica_request *request, struct error *err) {
    if (replica_epoch_take(request->replica, request->epoch, err) < 0)
        return -1;
    end_session(find(host, request->replica->uid));
    return replica_request(&replica_local, request, err);
}

static int call_host(void *arg, struct replica_request *request, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *uid = request->replica->uid;
    struct remote_host *host = arg;

    if (host->away && request->kind != ACCESS_PROBE)
        return error_set(err, ERROR_UNAVAILABLE, "the host is away");
    switch (request->kind) {
    case ACCESS_OPEN:
        return open_session(host, request, err);
    case ACCESS_CLOSE:
        close_session(host, request);
        return 0;
    case ACCESS_PROBE:
        probe(host, request);
        return 0;
    case ACCESS_RESET:
        return reset(host, request, err);
    case ACCESS_BEGIN_LOG:
        return write_log_begin(logs_of(host, arena), uid, request->before, request->next, err);
    case ACCESS_READ_LOG:
        write_log_read(request->arena, logs_of(host, arena), uid, request->log);
        return 0;
    default:
        return replica_request(&replica_local, request, err);
    }
}

/* ---- for the test ---- */

void remote_host_begin(struct remote_host *host, const char *directory, const char *tls_directory) {
    *host = (struct remote_host){ .directory = directory,
                                  .tls_directory = tls_directory,
                                  .access = { .call = call_host, .arg = host } };
}

void remote_host_end(struct remote_host *host) {
    for (unsigned i = 0; i < MEMBERS_MOST; i++)
        end_session(&host->sessions[i]);
}

pid_t remote_host_server(const struct remote_host *host, const char *uid) {
    for (unsigned i = 0; i < MEMBERS_MOST; i++) {
        if (strcmp(host->sessions[i].uid, uid) == 0)
            return host->sessions[i].pid;
    }
    return 0;
}

void remote_host_kill(struct remote_host *host, const char *uid) {
    end_session(find(host, uid));
}
