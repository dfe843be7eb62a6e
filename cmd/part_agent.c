#include "config.h"

#include "cmd/part.h"
#include "cmd/parts.h"
#include "common/arena.h"
#include "compute/agent/agent.h"
#include "compute/hypervisor/hypervisor.h"
#include "compute/hypervisor/timed_hypervisor.h"
#include "db/db.h"
#include "identity/own_user.h"
#include "operation/service.h"

#define AGENT                 "compute_agent"
#define HYPERVISOR_TIMEOUT_MS 5000

#ifdef HAVE_LIBVIRT
/* The built-in agent is registered before messages are received: an extend interrupted by a crash
 * must find its new address, not the previous one. */
struct registration {
    const char *host, *endpoint;
};

static int register_body(struct work *work, void *arg, struct error *err) {
    const struct registration *agent = arg;

    return service_report(work, SERVICE_COMPUTE, agent->host,
                          work->settings->storage_availability_zone, agent->endpoint, err);
}

#endif

int part_agent_start(struct parts *parts, struct error *err) {
#ifdef HAVE_LIBVIRT
    const struct config *config = parts->config;
    struct agent_settings settings = {
        .own_url = part_agent_url(parts),
        .authtoken = parts->authtoken,
        .origin = parts->authtoken ? NULL : &parts->origin,
    };
    struct registration registration;
    struct agent *agent;
    struct work base;

    config_fill(config, NULL, agent_options, &settings);
    if (!settings.host)
        settings.host = parts_machine(config);
    if (own_user_new(config, "service_user", &parts->agent_user, err) < 0)
        return -1;
    settings.user = parts->agent_user;
    settings.volume_url = part_volume_url(parts, AGENT, parts->agent_user);
    parts->hypervisor = timed_hypervisor_new(
        hypervisor_libvirt_new(config_text(config, AGENT, "libvirt_uri")), HYPERVISOR_TIMEOUT_MS);
    settings.hypervisor = parts->hypervisor;
    base = work_own(&parts->settings, parts->arena);
    registration = (struct registration){ settings.host, settings.own_url };
    if ((parts->db && work_transaction(parts->db, &base, register_body, &registration, err) < 0) ||
        agent_start(&settings, &agent, err) < 0)
        return -1;
    __atomic_store_n(&parts->agent, agent, __ATOMIC_RELEASE);
    return 0;
#else
    (void)parts;
    return error_set(err, ERROR_BAD_REQUEST, "this scoria was built without libvirt");
#endif
}

void part_agent_stop(struct parts *parts) {
    if (parts->agent)
        agent_stop(parts->agent);
    if (parts->hypervisor)
        parts->hypervisor->free(parts->hypervisor);
    own_user_free(parts->agent_user);
}
