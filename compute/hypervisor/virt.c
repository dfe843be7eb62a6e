#include "compute/hypervisor/virt.h"

#include "common/cleanup.h"

void virt_free_domains(virDomainPtr **domains) {
    for (virDomainPtr *domain = *domains; domain && *domain; domain++)
        virt.virDomainFree(*domain);
    free(*domains);
}

static const struct {
    int code;
    enum error_kind kind;
} kinds[] = {
    { VIR_ERR_NO_DOMAIN, ERROR_NOT_FOUND },
    { VIR_ERR_OPERATION_INVALID, ERROR_CONFLICT }, /* the guest has just stopped */
    { VIR_ERR_OPERATION_TIMEOUT, ERROR_CONFLICT }, /* another job holds the domain */
    { VIR_ERR_NO_CONNECT, ERROR_UNAVAILABLE },
    { VIR_ERR_RPC, ERROR_UNAVAILABLE },
};

int virt_fail(virConnectPtr connection, const char *what, struct error *err) {
    virErrorPtr failure = virt.virSaveLastError();
    enum error_kind kind = ERROR_BACKEND;
    int result;

    for (size_t i = 0; failure && i < LENGTH(kinds); i++)
        if (kinds[i].code == failure->code)
            kind = kinds[i].kind;
    if (!failure || (connection && virt.virConnectIsAlive(connection) != 1) ||
        failure->domain == VIR_FROM_RPC)
        kind = ERROR_UNAVAILABLE;
    result = error_set(err, kind, "%s: %s", what,
                       failure && failure->message ? failure->message : "unknown error");
    virt.virFreeError(failure);
    return result;
}

int virt_fail_query(virConnectPtr connection, const char *what, struct error *err) {
    virt_fail(connection, what, err);
    if (err->kind == ERROR_BACKEND)
        err->kind = ERROR_CONFLICT;
    return -1;
}
