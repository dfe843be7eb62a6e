#include "http/revocations.private.h"

#include "common/arena.h"
#include "common/heap.h"
#include "common/log.h"
#include "http/pem.private.h"

#include <gnutls/x509.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct revocations {
    char *path;
    pthread_mutex_t lock; /* guards the members below */
    struct stat seen;     /* the file that was read */
    bool failing;         /* it cannot be read, which was logged */
    gnutls_x509_crl_t *lists;
    unsigned count;
};

static bool is_same(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static void drop_lists(struct revocations *revocations) {
    for (unsigned i = 0; i < revocations->count; i++)
        gnutls_x509_crl_deinit(revocations->lists[i]);
    gnutls_free(revocations->lists);
    revocations->lists = NULL;
    revocations->count = 0;
}

/* A file that changes while it is read differs at the next check. */
static int look(struct revocations *revocations, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *text;
    gnutls_x509_crl_t *lists;
    gnutls_datum_t pem;
    struct stat facts;
    unsigned count = 0;
    int code;

    if (stat(revocations->path, &facts) < 0)
        return error_errno(err, ERROR_BAD_REQUEST, "cannot read %s", revocations->path);
    if (is_same(&facts, &revocations->seen))
        return 0;
    text = pem_text(arena, revocations->path, err);
    if (!text)
        return -1;
    pem = (gnutls_datum_t){ (unsigned char *)(uintptr_t)text, (unsigned)strlen(text) };
    code = gnutls_x509_crl_list_import2(&lists, &count, &pem, GNUTLS_X509_FMT_PEM, 0);
    if (code < 0)
        return error_set(err, ERROR_BAD_REQUEST, "%s: %s", revocations->path,
                         gnutls_strerror(code));
    drop_lists(revocations);
    revocations->lists = lists;
    revocations->count = count;
    revocations->seen = facts;
    return 0;
}

int revocations_open(const char *path, struct revocations **ret, struct error *err) {
    struct revocations *revocations = heap_new(sizeof(*revocations));

    revocations->path = heap_text(path);
    pthread_mutex_init(&revocations->lock, NULL);
    if (look(revocations, err) < 0) {
        revocations_free(revocations);
        return -1;
    }
    *ret = revocations;
    return 0;
}

void revocations_free(struct revocations *revocations) {
    if (!revocations)
        return;
    drop_lists(revocations);
    pthread_mutex_destroy(&revocations->lock);
    free(revocations->path);
    free(revocations);
}

static bool has_one(const struct revocations *revocations, const gnutls_datum_t *shown) {
    gnutls_x509_crt_t certificate;
    int code;

    if (gnutls_x509_crt_init(&certificate) < 0)
        return true;
    code = gnutls_x509_crt_import(certificate, shown, GNUTLS_X509_FMT_DER);
    if (code == 0)
        code = gnutls_x509_crt_check_revocation(certificate, revocations->lists,
                                                (unsigned)revocations->count);
    gnutls_x509_crt_deinit(certificate);
    return code != 0;
}

bool revocations_have(struct revocations *revocations, const gnutls_datum_t *certificates,
                      unsigned count) {
    struct error err = { 0 };
    bool found = false, tell;

    pthread_mutex_lock(&revocations->lock);
    tell = look(revocations, &err) < 0 && !revocations->failing;
    revocations->failing = err.kind != ERROR_NONE;
    for (unsigned i = 0; i < count && !found; i++)
        found = has_one(revocations, &certificates[i]);
    pthread_mutex_unlock(&revocations->lock);
    if (tell)
        log_warning(NULL, "revocation list not reloaded, previous one in use", "reason",
                    err.message, NULL);
    return found;
}
